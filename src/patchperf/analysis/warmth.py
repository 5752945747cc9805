"""Every solution's first call beside its repetitions."""

from __future__ import annotations

import pandas as pd

from patchperf.analysis.files import Files
from patchperf.stats.samples import members_of, of_corpus
from patchperf.stats.warmth import warmth
from patchperf.tables import write_table

CAPTION = "First call and repetitions of every distinct solution, medians in nanoseconds."
SHOWN = ["instance_id", "solution", "first_call_ns", "second_call_ns", "per_repetition_ns", "ratio", "collapsed"]


def write_warmth(given: Files, made: Files, collapse: float) -> None:
    """Table warmth, from the records ``ledger``, ``cases`` and ``measurements``."""
    ledger = pd.read_parquet(given["ledger"])
    members = members_of(of_corpus(pd.read_parquet(given["cases"]), ledger))
    measurements = of_corpus(pd.read_parquet(given["measurements"]), ledger)
    write_table(warmth(measurements, members, collapse), made["warmth"], made["warmth_tex"], CAPTION, SHOWN)
