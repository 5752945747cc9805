"""From raw measurement rows to the values that statistics may use, and each solution's summary."""

from __future__ import annotations

import numpy as np
import pandas as pd

from patchperf.errors import InputError
from patchperf.stats.schema import MEASUREMENTS, MEMBERS, SOLUTIONS, checked, source_order, typed

NOT_MEASURED = "not measured"
NO_BACKEND = "none"
"""The backend of rows of a metric that nothing counts."""

NOT_POSITIVE = "non-positive or infinite values"

_CASE = ["instance_id", "metric"]
_SAMPLE = [*_CASE, "solution"]


def of_corpus(table: pd.DataFrame, ledger: pd.DataFrame) -> pd.DataFrame:
    """The rows of instances that the ledger keeps; a case that could not be measured to its end leaves altogether."""
    if table.empty:
        return table
    return table[table["instance_id"].isin(ledger.loc[ledger["status"] == "kept", "instance_id"])]


def members_of(cases: pd.DataFrame) -> pd.DataFrame:
    """Which source produced which solution: columns instance_id, solution, source, one row per source of a case.

    ``cases`` has one row per distinct solution with the list of its ``sources``. Raises InputError where a solution
    is listed twice, has no source, or a source stands at two solutions of one case.
    """
    cases = checked(cases, MEMBERS, "cases")
    if (twice := cases.duplicated(["instance_id", "solution"])).any():
        row = cases[twice].iloc[0]
        raise InputError(
            f"cases: {row['instance_id']} lists solution {row['solution']} twice; delete cases and run again"
        )
    rows = [
        (instance, solution, source)
        for instance, solution, sources in zip(cases["instance_id"], cases["solution"], cases["sources"], strict=True)
        for source in sources
    ]
    members = pd.DataFrame(rows, columns=["instance_id", "solution", "source"]).astype("str")
    if len(members.drop_duplicates(["instance_id", "solution"])) != len(cases):
        raise InputError("cases: a solution has no source; delete cases and run again")
    if (twice := members.duplicated(["instance_id", "source"])).any():
        row = members[twice].iloc[0]
        raise InputError(f"cases: {row['instance_id']} lists source {row['source']} twice; delete cases and run again")
    return members.sort_values(["instance_id", "source"], ignore_index=True)


def listed_solutions(members: pd.DataFrame) -> pd.DataFrame:
    """Every solution of every case once, with the list of its sources; ``members`` is of ``members_of``."""
    return members.groupby(["instance_id", "solution"])["source"].agg(source_order).rename("sources").reset_index()


def usable_values(measurements: pd.DataFrame, members: pd.DataFrame) -> pd.DataFrame:
    """The rows that count: neither void nor without a value, in an order that does not depend on the input's.

    Raises InputError where a case mixes backends or numbers of repetitions on one metric, a replicate has two valid
    values, or a measured solution belongs to no case: ratios of such values would mean nothing.
    """
    rows = checked(measurements, MEASUREMENTS, "measurements")
    rows = rows[~rows["void"] & rows["value"].notna()].sort_values([*_SAMPLE, "replicate"], ignore_index=True)
    for column in ("backend", "repetitions"):
        if not rows.empty and (mixed := rows.groupby(_CASE)[column].nunique().loc[lambda count: count > 1]).size:
            instance, metric = mixed.index[0]
            raise InputError(
                f"measurements: {instance} has several {column} for {metric}; delete its record and measure again"
            )
    if (twice := rows.duplicated([*_SAMPLE, "replicate"])).any():
        row = rows[twice].iloc[0]
        raise InputError(
            f"measurements: {row['instance_id']} solution {row['solution']} has two valid {row['metric']} values for "
            f"replicate {row['replicate']}; delete its record and measure again"
        )
    known = pd.MultiIndex.from_frame(members[["instance_id", "solution"]])
    unknown = ~pd.MultiIndex.from_frame(rows[["instance_id", "solution"]]).isin(known)
    if unknown.any():
        row = rows[unknown].iloc[0]
        raise InputError(
            f"measurements: {row['instance_id']} has values of solution {row['solution']}, which is not among its "
            "cases; run the workflow again so that both fit"
        )
    return rows


def solution_statistics(measurements: pd.DataFrame, members: pd.DataFrame) -> pd.DataFrame:
    """Mean, standard deviation (n − 1) and their quotient CV of every solution's replicates, per metric.

    One row per solution and metric that was measured anywhere in the corpus; values are totals over the case's
    repetitions (instructions, or nanoseconds). ``members`` is of ``members_of``. Void rows and rows without a value are
    left out; the void ones are counted. A solution without values is NOT_MEASURED, one with a value that no counter can
    give (zero, negative, infinite) NOT_POSITIVE; both have mean NaN, so that they enter no ratio. One replicate has no
    SD.
    """
    return summaries(usable_values(measurements, members), measurements, members)


def summaries(values: pd.DataFrame, measurements: pd.DataFrame, members: pd.DataFrame) -> pd.DataFrame:
    """``solution_statistics`` where the ``usable_values`` of the measurements are known already."""
    rows = checked(measurements, MEASUREMENTS, "measurements")
    voids = rows[rows["void"]].groupby(_SAMPLE).size().rename("voids")
    summary = values.groupby(_SAMPLE)["value"].agg(replicates="size", mean="mean", sd="std", low="min", high="max")
    case = values.groupby(_CASE)[["backend", "repetitions"]].first()
    metrics = pd.DataFrame({"metric": sorted(rows.loc[rows["backend"] != NO_BACKEND, "metric"].unique())}, dtype="str")
    table = listed_solutions(members).merge(metrics, how="cross")
    table = table.join(case, on=_CASE).join(summary, on=_SAMPLE).join(voids, on=_SAMPLE)
    broken = (table["low"] <= 0) | np.isinf(table["high"])
    table.loc[broken, ["mean", "sd"]] = np.nan
    table["cv"] = table["sd"] / table["mean"]
    table["note"] = np.select([broken, table["replicates"].isna()], [NOT_POSITIVE, NOT_MEASURED], "")
    table = table.fillna({"backend": "", "replicates": 0, "voids": 0})
    return typed(table.sort_values(_SAMPLE), SOLUTIONS)
