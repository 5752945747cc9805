"""What was counted of all instances' patches, in one table."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from patchperf.quality.schema import COUNTS
from patchperf.stats.schema import typed
from patchperf.study.quality import CountedPatches


def counts_table(files: Iterable[str | Path]) -> pd.DataFrame:
    """What was counted for all instances, a row per instance and source with counts, by instance and source."""
    counted = [CountedPatches.model_validate_json(Path(file).read_bytes()) for file in files]
    rows = [
        {"instance_id": one.instance_id, "source": source, "lines": one.lines, **counts.model_dump()}
        for one in counted
        for source, counts in one.counts.items()
    ]
    return typed(pd.DataFrame(rows, columns=list(COUNTS)).sort_values(["instance_id", "source"]), COUNTS)
