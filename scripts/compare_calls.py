"""Compare every solution's first call with its repetitions."""

from typing import TYPE_CHECKING

import pandas as pd

from patchperf import script
from patchperf.stats.samples import members_of, of_corpus
from patchperf.stats.warmth import warmth
from patchperf.tables import write_table

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

CAPTION = "First call and repetitions of every distinct solution, medians in nanoseconds."
SHOWN = ["instance_id", "solution", "first_call_ns", "second_call_ns", "per_repetition_ns", "ratio", "collapsed"]

with script.logged(snakemake):
    ledger = pd.read_parquet(snakemake.input.ledger)
    members = members_of(of_corpus(pd.read_parquet(snakemake.input.cases), ledger))
    measurements = of_corpus(pd.read_parquet(snakemake.input.measurements), ledger)
    table = warmth(measurements, members, snakemake.params.collapse)
    write_table(table, snakemake.output.warmth, snakemake.output.warmth_tex, CAPTION, SHOWN)
