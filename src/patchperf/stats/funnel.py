"""From the datasets' rows to the corpus: the ledger of instances, what each filter removed, and why."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from patchperf.errors import InputError
from patchperf.stats.schema import FUNNEL, IO, LEDGER, REPEATABILITY, checked, typed

FILTERS = ("input", "configuration", "single-test", "repeatability", "io", "measurement")
ONLY_IF_USED = ("configuration", "measurement")
CORPUS = "corpus"
TOTAL = "total"


def ledger_table(entries: pd.DataFrame) -> pd.DataFrame:
    """The ledger in order of dataset and instance.

    Raises InputError unless every instance of a dataset stands there once and is either kept or excluded with a
    reason; a class of repeatability and the kind of a system call stand where that filter excluded, and only there.
    """
    ledger = checked(entries.fillna(""), LEDGER, "ledger")
    excluded = ledger["status"] == "excluded"
    wrong = {
        "stands in the ledger twice": ledger.duplicated(["dataset", "instance_id"]),
        "is neither kept nor excluded": ~ledger["status"].isin(["kept", "excluded"]),
        "is excluded without a reason": excluded & (ledger["reason"] == ""),
        "is excluded at the stage of kept ones": excluded & (ledger["stage"] == CORPUS),
        "has a class of repeatability at another stage, or none at that one": (
            (excluded & (ledger["stage"] == "repeatability")) != (ledger["repeatability"] != "")
        ),
        "has a deciding system call at another stage than io, or none at that one": (
            (excluded & (ledger["stage"] == "io")) != (ledger["kind"] != "")
        ),
    }
    for what, rows in wrong.items():
        if rows.any():
            raise InputError(f"ledger: {ledger.loc[rows, 'instance_id'].iloc[0]} {what}; delete it and run again")
    return ledger.sort_values(["dataset", "instance_id"], ignore_index=True)


def funnel_table(ledger: pd.DataFrame) -> pd.DataFrame:
    """How many instances each filter removed and left, per dataset, in the order of the filters.

    In the first row, *input*, removed + left is the dataset's size; the last, *corpus*, removes none and its left is
    the number kept. The filters *configuration* (excluded by the user) and *measurement* (a case that could not be
    measured) have rows only where they removed anything; stages of unknown names follow the known filters.
    """
    excluded = _excluded(ledger)
    used = set(excluded["stage"])
    known = [name for name in FILTERS if name in used or name not in ONLY_IF_USED]
    filters = [*known, *sorted(used.difference(FILTERS)), CORPUS]
    rows = []
    for dataset, instances in ledger.groupby("dataset"):
        removed = excluded.loc[excluded["dataset"] == dataset, "stage"].value_counts().reindex(filters, fill_value=0)
        left = len(instances) - removed.cumsum()
        rows += [{"dataset": dataset, "filter": name, "removed": removed[name], "left": left[name]} for name in filters]
    return typed(rows, FUNNEL)


def funnel_by_dataset(funnel: pd.DataFrame) -> pd.DataFrame:
    """The funnel as the study's Table 1: one row per dataset, and their total where there are several.

    Columns: ``input``, the dataset's usable instances; each filter, those it removed; ``corpus``, those left.
    """
    filters = funnel["filter"].unique()
    rows = []
    for dataset, steps in funnel.groupby("dataset"):
        removed, left = (steps.set_index("filter")[column] for column in ("removed", "left"))
        rows.append({"dataset": dataset, **removed, "input": left["input"], CORPUS: left[CORPUS]})
    table = pd.DataFrame(rows, columns=["dataset", *filters])
    if len(table) > 1:
        table.loc[len(table)] = [TOTAL, *table[filters].sum()]
    return table


def repeatability_table(ledger: pd.DataFrame, classes: Iterable[str]) -> pd.DataFrame:
    """How many instances of each dataset the filter *repeatability* excluded, by class and reason.

    Classes come in the order given, which is that of the questions, and unknown ones after them. A class that excluded
    nothing has one row without a reason.
    """
    excluded = _excluded(ledger, "repeatability")
    order = list(dict.fromkeys([*classes, *sorted(set(excluded["repeatability"]))]))
    rows = []
    for dataset in sorted(set(ledger["dataset"])):
        for one in order:
            found = excluded[(excluded["dataset"] == dataset) & (excluded["repeatability"] == one)]
            counts = _ranked(found["reason"]) or [("", 0)]
            rows += [{"dataset": dataset, "class": one, "reason": reason, "excluded": n} for reason, n in counts]
    return typed(rows, REPEATABILITY)


def io_table(ledger: pd.DataFrame) -> pd.DataFrame:
    """The repositories whose instances the filter *io* excluded, the largest contributor first.

    ``instances`` are all of the repository, ``reached`` those that came as far as this filter, ``share`` is
    excluded / instances. ``kinds`` counts the kinds of the system calls that decided, e.g. "file data 3, network 1".
    """
    excluded = _excluded(ledger, "io")
    before = FILTERS[: FILTERS.index("io")]
    rows = []
    for repo, found in excluded.groupby("repo"):
        everything = ledger[ledger["repo"] == repo]
        kinds = _ranked(found["kind"])
        rows.append(
            {
                "repo": repo,
                "instances": len(everything),
                "reached": int((~everything["stage"].isin(before)).sum()),
                "excluded": len(found),
                "share": len(found) / len(everything),
                "kinds": ", ".join(f"{kind} {count}" for kind, count in kinds),
            }
        )
    return typed(sorted(rows, key=lambda row: (-row["excluded"], row["repo"])), IO)


def _excluded(ledger: pd.DataFrame, stage: str | None = None) -> pd.DataFrame:
    excluded = ledger[ledger["status"] == "excluded"]
    return excluded if stage is None else excluded[excluded["stage"] == stage]


def _ranked(values: pd.Series[str]) -> list[tuple[str, int]]:
    """Distinct values with their counts, the most frequent first, equally frequent ones by name."""
    return sorted(
        ((str(value), int(count)) for value, count in values.value_counts().items()), key=lambda one: (-one[1], one[0])
    )
