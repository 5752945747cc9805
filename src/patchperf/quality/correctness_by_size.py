"""Whether large fixes are harder: correctness by the number of lines that the ground truth changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import stats

from patchperf.quality.schema import SIZES
from patchperf.stats.layout import Floats
from patchperf.stats.schema import typed

STARTS = (0, 1, 2, 3, 4, 8, 16, 32, 64, 128)
"""Where classes of sizes start: single lines up to three, as small fixes are studied, then doublings."""

CONFIDENCE = 0.95


def size_class(lines: int, starts: Sequence[int] = STARTS) -> str:
    """The class of a size: ``"3"``, ``"8–15"`` or ``"≥128"``."""
    place = int(np.searchsorted(starts, lines, side="right")) - 1
    if place < 0:
        return f"<{starts[0]}"
    if place + 1 == len(starts):
        return f"≥{starts[place]}"
    last = starts[place + 1] - 1
    return str(last) if starts[place] == last else f"{starts[place]}–{last}"


def correctness_by_size(
    correct: Floats, sources: tuple[str, ...], lines: Floats, starts: Sequence[int] = STARTS
) -> pd.DataFrame:
    """Share of correct patches per source and class of size, in order of size.

    ``correct`` has shape (instances, sources), ``lines`` (instances,): the size of the ground truth's diff, NaN where
    unknown; such instances have no class and no row. ``low`` and ``high`` bound the exact 95 % interval of Clopper and
    Pearson (1934).
    """
    known = ~np.isnan(lines)
    sizes, solved = lines[known].astype(int), (correct[known] == 1)
    places = np.searchsorted(starts, sizes, side="right")
    rows = []
    for number, source in enumerate(sources):
        for place in np.unique(places):
            of_class = places == place
            right, total = int(solved[of_class, number].sum()), int(of_class.sum())
            interval = stats.binomtest(right, total).proportion_ci(CONFIDENCE, method="exact")
            rows.append(
                {
                    "source": source,
                    "lines": size_class(int(sizes[of_class][0]), starts),
                    "instances": total,
                    "correct": right,
                    "share": right / total,
                    "low": interval.low,
                    "high": interval.high,
                }
            )
    return typed(rows, SIZES)
