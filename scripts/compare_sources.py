"""Compare the sources: ratios case by case, speedups over the corpus, votes for the fastest solution."""

from typing import TYPE_CHECKING

import pandas as pd

from patchperf import script
from patchperf.stats import schema
from patchperf.stats.champions import champion_votes
from patchperf.stats.samples import members_of, of_corpus
from patchperf.stats.speedup import pair_ratios, speedups
from patchperf.tables import read_table, write_table

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

PAIRS_SHOWN = ["instance_id", "metric", "backend", "source_i", "source_j", "ratio", "distinguishable"]

with script.logged(snakemake):
    ledger = pd.read_parquet(snakemake.input.ledger)
    members = members_of(of_corpus(pd.read_parquet(snakemake.input.members), ledger))
    solutions = read_table(snakemake.input.solutions, schema.SOLUTIONS)
    cases = read_table(snakemake.input.cases, schema.CASES)
    pairs = pair_ratios(members, solutions, cases)
    means = speedups(pairs, snakemake.params.seed)
    votes = champion_votes(members, solutions, cases)
    out = snakemake.output
    write_table(pairs, out.pairs, out.pairs_tex, "Ratio of two sources' means, case by case.", PAIRS_SHOWN)
    write_table(means, out.speedups, out.speedups_tex, "Geometric mean of the ratios, with 95\\,\\% interval.")
    write_table(votes, out.champions, out.champions_tex, "Votes for the source of the fastest solution.")
