"""Write how many predictions each source has, what became of every candidate, and whether its authors report that."""

from typing import TYPE_CHECKING

import pandas as pd

from patchperf import script
from patchperf.stats import schema
from patchperf.stats.agreement import agreement_table, outcome_table
from patchperf.stats.schema import checked
from patchperf.tables import write_table

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

SOURCES_CAPTION = "Predictions of each source: for no dataset, left out by the configuration, and candidates."
OUTCOMES_CAPTION = "Outcome of every candidate, with the fail-to-pass and pass-to-pass tests it passes."
AGREEMENT_CAPTION = "Outcomes beside what the authors of the candidates report."

with script.logged(snakemake):
    sources = checked(pd.read_parquet(snakemake.input.sources), schema.SOURCES, "results/sources.parquet")
    write_table(sources, snakemake.output.sources, snakemake.output.sources_tex, SOURCES_CAPTION)
    outcomes = outcome_table(pd.read_parquet(snakemake.input.outcomes))
    shown = ["instance_id", "source", "outcome", "f2p_passed", "f2p_total", "p2p_passed", "p2p_total", "dialect"]
    write_table(outcomes, snakemake.output.outcomes, snakemake.output.outcomes_tex, OUTCOMES_CAPTION, shown)
    agreement = agreement_table(outcomes)
    write_table(agreement, snakemake.output.agreement, snakemake.output.agreement_tex, AGREEMENT_CAPTION)
