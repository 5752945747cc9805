"""Summarise every solution's replicates and test every case's solutions for a difference."""

from typing import TYPE_CHECKING

import pandas as pd

from patchperf import script
from patchperf.stats.cases import case_statistics
from patchperf.stats.samples import members_of, of_corpus, solution_statistics
from patchperf.stats.schema import WARMTH
from patchperf.stats.warmth import collapsed_solutions
from patchperf.tables import read_table, write_table

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

SOLUTIONS_SHOWN = ["instance_id", "metric", "backend", "solution", "replicates", "voids", "mean", "sd", "cv"]
CASES_SHOWN = ["instance_id", "metric", "backend", "k", "rsd", "f", "df1", "df2", "p", "distinguishable", "collapsed"]
CASES_SHOWN += ["not_covered", "note"]

with script.logged(snakemake):
    ledger = pd.read_parquet(snakemake.input.ledger)
    members = members_of(of_corpus(pd.read_parquet(snakemake.input.cases), ledger))
    measurements = of_corpus(pd.read_parquet(snakemake.input.measurements), ledger)
    solutions = solution_statistics(measurements, members)
    collapsed = collapsed_solutions(read_table(snakemake.input.warmth, WARMTH))
    cases = case_statistics(measurements, members, snakemake.params.alpha, collapsed)
    out = snakemake.output
    write_table(solutions, out.solutions, out.solutions_tex, "Replicates of every distinct solution.", SOLUTIONS_SHOWN)
    write_table(cases, out.cases, out.cases_tex, "RSD and Welch's ANOVA on logarithms, case by case.", CASES_SHOWN)
