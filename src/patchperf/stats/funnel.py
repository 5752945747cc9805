"""From the datasets' rows to the corpus: the ledger of instances, and what each filter removed."""

from __future__ import annotations

import pandas as pd

from patchperf.errors import InputError
from patchperf.stats.schema import FUNNEL, LEDGER, checked, typed

FILTERS = ("input", "configuration", "single-test", "repeatability", "io", "measurement")
ONLY_IF_USED = ("configuration", "measurement")
CORPUS = "corpus"


def ledger_table(entries: pd.DataFrame) -> pd.DataFrame:
    """The ledger in order of dataset and instance.

    Raises InputError unless every instance of a dataset stands there once and is either kept or excluded with a reason.
    """
    ledger = checked(entries.fillna(""), LEDGER, "ledger")
    wrong = {
        "stands in the ledger twice": ledger.duplicated(["dataset", "instance_id"]),
        "is neither kept nor excluded": ~ledger["status"].isin(["kept", "excluded"]),
        "is excluded without a reason": (ledger["status"] == "excluded") & (ledger["reason"] == ""),
        "is excluded at the stage of kept ones": (ledger["status"] == "excluded") & (ledger["stage"] == CORPUS),
    }
    for what, rows in wrong.items():
        if rows.any():
            raise InputError(f"ledger: {ledger.loc[rows, 'instance_id'].iloc[0]} {what}; delete it and run again")
    return ledger.sort_values(["dataset", "instance_id"], ignore_index=True)


def funnel_table(ledger: pd.DataFrame) -> pd.DataFrame:
    """How many instances each filter removed and left, per dataset, in the order of the filters (the study's Table 1).

    In the first row, *input*, removed + left is the dataset's size; the last, *corpus*, removes none and its left is
    the number kept. The filters *configuration* (excluded by the user) and *measurement* (a case that could not be
    measured) have rows only where they removed anything; stages of unknown names follow the known filters.
    """
    excluded = ledger[ledger["status"] == "excluded"]
    used = set(excluded["stage"])
    known = [name for name in FILTERS if name in used or name not in ONLY_IF_USED]
    filters = [*known, *sorted(used.difference(FILTERS)), CORPUS]
    rows = []
    for dataset, instances in ledger.groupby("dataset"):
        removed = excluded.loc[excluded["dataset"] == dataset, "stage"].value_counts().reindex(filters, fill_value=0)
        left = len(instances) - removed.cumsum()
        rows += [{"dataset": dataset, "filter": name, "removed": removed[name], "left": left[name]} for name in filters]
    return typed(rows, FUNNEL)
