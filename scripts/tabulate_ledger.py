"""Write the ledger of all instances and the funnel that it counts up to."""

from typing import TYPE_CHECKING

import pandas as pd

from patchperf import script
from patchperf.stats.funnel import funnel_table, ledger_table
from patchperf.tables import write_table

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

LEDGER_CAPTION = "Every instance, kept or excluded at one stage for one reason."
FUNNEL_CAPTION = "Instances removed and left by each filter, per dataset."

with script.logged(snakemake):
    ledger = ledger_table(pd.read_parquet(snakemake.input.ledger))
    shown = ["instance_id", "dataset", "stage", "status", "reason"]
    write_table(ledger, snakemake.output.ledger, snakemake.output.ledger_tex, LEDGER_CAPTION, shown)
    write_table(funnel_table(ledger), snakemake.output.funnel, snakemake.output.funnel_tex, FUNNEL_CAPTION)
