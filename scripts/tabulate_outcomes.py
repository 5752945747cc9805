"""Write what became of every candidate, and whether its authors report the same."""

from typing import TYPE_CHECKING

import pandas as pd

from patchperf import script
from patchperf.stats.agreement import agreement_table, outcome_table
from patchperf.tables import write_table

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

OUTCOMES_CAPTION = "Outcome of every candidate, with the fail-to-pass and pass-to-pass tests it passes."
AGREEMENT_CAPTION = "Outcomes beside what the authors of the candidates report."

with script.logged(snakemake):
    outcomes = outcome_table(pd.read_parquet(snakemake.input.outcomes))
    shown = ["instance_id", "source", "outcome", "f2p_passed", "f2p_total", "p2p_passed", "p2p_total", "dialect"]
    write_table(outcomes, snakemake.output.outcomes, snakemake.output.outcomes_tex, OUTCOMES_CAPTION, shown)
    agreement = agreement_table(outcomes)
    write_table(agreement, snakemake.output.agreement, snakemake.output.agreement_tex, AGREEMENT_CAPTION)
