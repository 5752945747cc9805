"""The ledger of all instances, the funnel that it counts up to, and what its two probing filters excluded."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from patchperf.analysis.files import Files
from patchperf.stats.funnel import funnel_by_dataset, funnel_table, io_table, ledger_table, repeatability_table
from patchperf.study.repeatability import CLASSES
from patchperf.tables import latex_table, write_table

LEDGER_CAPTION = "Every instance, kept or excluded at one stage for one reason."
LEDGER_SHOWN = ["instance_id", "dataset", "stage", "status", "reason"]
FUNNEL_CAPTION = "Instances of each dataset, those that each filter removed, and the corpus that is left."
REPEATABILITY_CAPTION = "Instances that the repeatability filter excluded, by class and reason."
IO_CAPTION = "Repositories whose instances were excluded for I/O, and the kinds of the system calls that decided."


def write_ledger(given: Files, made: Files) -> None:
    """Tables ledger, funnel, repeatability and io, from the record ``ledger``."""
    ledger = ledger_table(pd.read_parquet(given["ledger"]))
    write_table(ledger, made["ledger"], made["ledger_tex"], LEDGER_CAPTION, LEDGER_SHOWN)
    funnel = funnel_table(ledger)
    funnel.to_csv(made["funnel"], index=False, lineterminator="\n")
    table1 = latex_table(funnel_by_dataset(funnel), FUNNEL_CAPTION, "tab:funnel")
    Path(made["funnel_tex"]).write_text(table1, "utf-8")
    classes = repeatability_table(ledger, CLASSES.values())
    write_table(classes, made["repeatability"], made["repeatability_tex"], REPEATABILITY_CAPTION)
    write_table(io_table(ledger), made["io"], made["io_tex"], IO_CAPTION)
