"""The sources compared: ratios case by case, speedups over the corpus, votes for the fastest solution."""

from __future__ import annotations

import pandas as pd

from patchperf.analysis.files import Files
from patchperf.stats import schema
from patchperf.stats.champions import champion_votes
from patchperf.stats.samples import members_of, of_corpus
from patchperf.stats.speedup import pair_ratios, speedups
from patchperf.tables import read_table, write_table

PAIRS_CAPTION = "Ratio of two sources' means, case by case."
PAIRS_SHOWN = ["instance_id", "metric", "backend", "source_i", "source_j", "ratio", "distinguishable"]
SPEEDUPS_CAPTION = "Geometric mean of the ratios, with 95\\,\\% interval."
CHAMPIONS_CAPTION = "Votes for the source of the fastest solution."


def write_comparisons(given: Files, made: Files, seed: int) -> None:
    """Tables pairs, speedups and champions, from records ``ledger``, ``members``, tables ``solutions`` and ``cases``.

    ``members`` is the record of cases.
    """
    ledger = pd.read_parquet(given["ledger"])
    members = members_of(of_corpus(pd.read_parquet(given["members"]), ledger))
    solutions = read_table(given["solutions"], schema.SOLUTIONS)
    cases = read_table(given["cases"], schema.CASES)
    pairs = pair_ratios(members, solutions, cases)
    write_table(pairs, made["pairs"], made["pairs_tex"], PAIRS_CAPTION, PAIRS_SHOWN)
    write_table(speedups(pairs, seed), made["speedups"], made["speedups_tex"], SPEEDUPS_CAPTION)
    votes = champion_votes(members, solutions, cases)
    write_table(votes, made["champions"], made["champions_tex"], CHAMPIONS_CAPTION)
