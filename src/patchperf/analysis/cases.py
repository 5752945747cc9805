"""A summary of every solution's replicates, and a test of every case's solutions for a difference."""

from __future__ import annotations

import pandas as pd

from patchperf.analysis.files import Files
from patchperf.stats.cases import case_statistics
from patchperf.stats.contrasts import contrasts
from patchperf.stats.distinguishable import distinguishable_counts
from patchperf.stats.samples import members_of, of_corpus, solution_statistics
from patchperf.stats.schema import WARMTH
from patchperf.stats.warmth import collapsed_solutions
from patchperf.tables import read_table, write_table

SOLUTIONS_CAPTION = "Replicates of every distinct solution."
SOLUTIONS_SHOWN = ["instance_id", "metric", "backend", "solution", "replicates", "voids", "mean", "sd", "cv"]
CASES_CAPTION = "RSD and Welch's ANOVA on logarithms, case by case."
CASES_SHOWN = ["instance_id", "metric", "backend", "k", "rsd", "f", "df1", "df2", "p", "q", "distinguishable"]
CASES_SHOWN += ["p_blocks", "slowest_fastest", "low", "high", "practical", "not_covered", "note"]

CONTRASTS_CAPTION = "Every two solutions of a case: ratio, interval and tests."
CONTRASTS_SHOWN = ["instance_id", "metric", "backend", "solution_i", "solution_j", "ratio", "low", "high", "p"]
CONTRASTS_SHOWN += ["p_blocks", "note"]
DISTINGUISHABLE_CAPTION = "Cases whose solutions each test tells apart."


def write_cases(given: Files, made: Files, *, alpha: float, practical_threshold: float, seed: int) -> None:
    """Tables solutions, cases, contrasts and distinguishable.

    Made from the records ``ledger``, ``cases``, ``measurements`` and the table ``warmth``.
    """
    ledger = pd.read_parquet(given["ledger"])
    members = members_of(of_corpus(pd.read_parquet(given["cases"]), ledger))
    measurements = of_corpus(pd.read_parquet(given["measurements"]), ledger)
    solutions = solution_statistics(measurements, members)
    collapsed = collapsed_solutions(read_table(given["warmth"], WARMTH))
    cases = case_statistics(measurements, members, alpha, collapsed, practical_threshold=practical_threshold, seed=seed)
    write_table(solutions, made["solutions"], made["solutions_tex"], SOLUTIONS_CAPTION, SOLUTIONS_SHOWN)
    write_table(cases, made["cases"], made["cases_tex"], CASES_CAPTION, CASES_SHOWN)
    pairs = contrasts(measurements, members, alpha)
    write_table(pairs, made["contrasts"], made["contrasts_tex"], CONTRASTS_CAPTION, CONTRASTS_SHOWN)
    counts = distinguishable_counts(cases)
    write_table(counts, made["distinguishable"], made["distinguishable_tex"], DISTINGUISHABLE_CAPTION)
