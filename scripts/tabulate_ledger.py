"""Write the ledger of all instances, the funnel that it counts up to, and what its two probing filters excluded."""

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from patchperf import script
from patchperf.stats.funnel import funnel_by_dataset, funnel_table, io_table, ledger_table, repeatability_table
from patchperf.study.repeatability import CLASSES
from patchperf.tables import latex_table, write_table

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

LEDGER_CAPTION = "Every instance, kept or excluded at one stage for one reason."
FUNNEL_CAPTION = "Instances of each dataset, those that each filter removed, and the corpus that is left."
REPEATABILITY_CAPTION = "Instances that the repeatability filter excluded, by class and reason."
IO_CAPTION = "Repositories whose instances were excluded for I/O, and the kinds of the system calls that decided."

with script.logged(snakemake):
    ledger = ledger_table(pd.read_parquet(snakemake.input.ledger))
    shown = ["instance_id", "dataset", "stage", "status", "reason"]
    out = snakemake.output
    write_table(ledger, out.ledger, out.ledger_tex, LEDGER_CAPTION, shown)
    funnel = funnel_table(ledger)
    funnel.to_csv(out.funnel, index=False, lineterminator="\n")
    Path(out.funnel_tex).write_text(latex_table(funnel_by_dataset(funnel), FUNNEL_CAPTION, "tab:funnel"), "utf-8")
    classes = repeatability_table(ledger, CLASSES.values())
    write_table(classes, out.repeatability, out.repeatability_tex, REPEATABILITY_CAPTION)
    write_table(io_table(ledger), out.io, out.io_tex, IO_CAPTION)
