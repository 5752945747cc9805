"""Cold against warm: what a solution's first call cost beside what a repetition costs, and where that collapses."""

from __future__ import annotations

from collections.abc import Set

import pandas as pd

from patchperf.stats.samples import listed_solutions
from patchperf.stats.schema import CALLS, WARMTH, checked, typed

METRIC = "wall_ns"
"""Calls are timed natively only: the first call has no count of its own."""

SHORTEST_NS = 1e6
"""A first call of less than a millisecond is cold in the processor's caches, which says nothing of the solution's."""

_SOLUTION = ["instance_id", "solution"]
_TIMES = ["first_call_ns", "first_call_import_ns", "second_call_ns", "per_repetition_ns"]


def warmth(measurements: pd.DataFrame, members: pd.DataFrame, share: float) -> pd.DataFrame:
    """Medians over every solution's valid replicates, in nanoseconds, and whether its steady state has collapsed.

    ``ratio`` is per_repetition_ns / (first_call_ns - first_call_import_ns): of what the first call did beside
    importing modules, how much a repetition still does. A solution is ``collapsed`` where that is below ``share`` and
    the first call, imports aside, took a millisecond or more: what it computed then is kept from one call to the next,
    so that its repetitions measure the keeping and not the work. Without warm-up, or without valid replicates, times
    are missing and nothing is collapsed.

    ``members`` is of ``members_of``; one row per solution, in order of instance and solution.
    """
    rows = checked(measurements, CALLS, "measurements")
    rows = rows[(rows["metric"] == METRIC) & ~rows["void"] & rows["value"].notna()]
    rows = rows.assign(per_repetition_ns=rows["value"] / rows["repetitions"])
    grouped = rows.groupby(_SOLUTION)
    known = grouped[_TIMES].median().join(grouped["backend"].agg(clock="first", replicates="size"))
    table = listed_solutions(members).join(known, on=_SOLUTION).fillna({"clock": "", "replicates": 0})
    cold = table["first_call_ns"] - table["first_call_import_ns"]
    table["ratio"] = (table["per_repetition_ns"] / cold).where(cold > 0)
    table["collapsed"] = (cold >= SHORTEST_NS) & (table["ratio"] < share)
    return typed(table.sort_values(_SOLUTION), WARMTH)


def collapsed_solutions(table: pd.DataFrame) -> Set[tuple[str, str]]:
    """Instance and solution of what the table of ``warmth`` calls collapsed."""
    rows = table[table["collapsed"]]
    return set(zip(rows["instance_id"], rows["solution"], strict=True))
