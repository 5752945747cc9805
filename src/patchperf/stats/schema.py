"""Columns and types of the tables that statistics read and make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from patchperf.errors import InputError
from patchperf.study.instance import GROUND_TRUTH

Schema = Mapping[str, str]
"""Column name to pandas type, in the order of the table's columns."""

MEASUREMENTS: Schema = {
    "instance_id": "str",
    "solution": "str",
    "replicate": "int64",
    "repetitions": "int64",
    "metric": "str",
    "value": "float64",
    "backend": "str",
    "void": "bool",
    "not_covered": "str",
}

CALLS: Schema = {
    "instance_id": "str",
    "solution": "str",
    "metric": "str",
    "value": "float64",
    "repetitions": "int64",
    "backend": "str",
    "void": "bool",
    "first_call_ns": "float64",
    "first_call_import_ns": "float64",
    "second_call_ns": "float64",
}

MEMBERS: Schema = {"instance_id": "str", "solution": "str", "sources": "object"}

LEDGER: Schema = {
    "instance_id": "str",
    "dataset": "str",
    "repo": "str",
    "stage": "str",
    "status": "str",
    "reason": "str",
    "repeatability": "str",
    "kind": "str",
    "evidence": "str",
    "detail": "str",
}

FUNNEL: Schema = {"dataset": "str", "filter": "str", "removed": "int64", "left": "int64"}

REPEATABILITY: Schema = {"dataset": "str", "class": "str", "reason": "str", "excluded": "int64"}

IO: Schema = {
    "repo": "str",
    "instances": "int64",
    "reached": "int64",
    "excluded": "int64",
    "share": "float64",
    "kinds": "str",
}

SOURCES: Schema = {
    "source": "str",
    "predictions": "int64",
    "outside": "int64",
    "left_out": "int64",
    "candidates": "int64",
}

OUTCOMES: Schema = {
    "instance_id": "str",
    "repo": "str",
    "source": "str",
    "outcome": "str",
    "f2p_passed": "Int64",
    "f2p_total": "Int64",
    "p2p_passed": "Int64",
    "p2p_total": "Int64",
    "dialect": "str",
    "reported_resolved": "boolean",
    "solution": "str",
    "link": "str",
    "note": "str",
    "f2p": "str",
    "p2p": "str",
    "other_dialect": "str",
    "other_outcome": "str",
}

AGREEMENT: Schema = {
    "instance_id": "str",
    "source": "str",
    "outcome": "str",
    "reported_resolved": "bool",
    "agrees": "bool",
}

OUTCOME_RATES: Schema = {
    "source": "str",
    "repo": "str",
    "instances": "int64",
    "candidates": "int64",
    "untested": "int64",
    "failed": "int64",
    "resolved": "int64",
    "resolved_rate": "float64",
    "resolved_low": "float64",
    "resolved_high": "float64",
    "regression": "int64",
    "regression_rate": "float64",
    "regression_low": "float64",
    "regression_high": "float64",
    "unresolved": "int64",
    "no_op": "int64",
    "no_op_share": "float64",
    "no_op_share_low": "float64",
    "no_op_share_high": "float64",
    "regression_share": "float64",
    "regression_share_low": "float64",
    "regression_share_high": "float64",
}

OUTCOME_FLOWS: Schema = {
    "source": "str",
    "previous": "str",
    "before": "str",
    "after": "str",
    "count": "int64",
    "instances": "object",
}

OUTCOME_CHANGES: Schema = {
    "source": "str",
    "previous": "str",
    "outcome": "str",
    "n": "int64",
    "before": "int64",
    "after": "int64",
    "both": "int64",
    "gained": "int64",
    "lost": "int64",
    "p": "float64",
}

SOLUTIONS: Schema = {
    "instance_id": "str",
    "metric": "str",
    "backend": "str",
    "solution": "str",
    "sources": "object",
    "replicates": "int64",
    "voids": "int64",
    "repetitions": "Int64",
    "mean": "float64",
    "sd": "float64",
    "cv": "float64",
    "note": "str",
}

WARMTH: Schema = {
    "instance_id": "str",
    "solution": "str",
    "sources": "object",
    "clock": "str",
    "replicates": "int64",
    "first_call_ns": "float64",
    "first_call_import_ns": "float64",
    "second_call_ns": "float64",
    "per_repetition_ns": "float64",
    "ratio": "float64",
    "collapsed": "bool",
}

CASES: Schema = {
    "instance_id": "str",
    "metric": "str",
    "backend": "str",
    "k": "int64",
    "rsd": "float64",
    "f": "float64",
    "df1": "float64",
    "df2": "float64",
    "p": "float64",
    "alpha": "float64",
    "distinguishable": "bool",
    "replicates": "int64",
    "voids": "int64",
    "repetitions": "Int64",
    "collapsed": "bool",
    "not_covered": "str",
    "note": "str",
    "q": "float64",
    "rounds": "int64",
    "p_blocks": "float64",
    "p_friedman": "float64",
    "p_permutation": "float64",
    "slowest_fastest": "float64",
    "low": "float64",
    "high": "float64",
    "practical": "bool",
    "practical_threshold": "float64",
}

CONTRASTS: Schema = {
    "instance_id": "str",
    "metric": "str",
    "backend": "str",
    "solution_i": "str",
    "solution_j": "str",
    "ratio": "float64",
    "low": "float64",
    "high": "float64",
    "t": "float64",
    "df": "float64",
    "p": "float64",
    "rounds": "int64",
    "p_blocks": "float64",
    "note": "str",
}

PAIRS: Schema = {
    "instance_id": "str",
    "metric": "str",
    "backend": "str",
    "source_i": "str",
    "source_j": "str",
    "solution_i": "str",
    "solution_j": "str",
    "mean_i": "float64",
    "mean_j": "float64",
    "ratio": "float64",
    "same_solution": "bool",
    "distinguishable": "bool",
}

SPEEDUPS: Schema = {
    "metric": "str",
    "backend": "str",
    "setting": "str",
    "source_i": "str",
    "source_j": "str",
    "n": "int64",
    "geometric_mean": "float64",
    "low": "float64",
    "high": "float64",
    "p": "float64",
    "p_holm": "float64",
}

CHAMPIONS: Schema = {
    "metric": "str",
    "backend": "str",
    "setting": "str",
    "source": "str",
    "votes": "float64",
    "cases": "int64",
}

DISTINGUISHABLE: Schema = {
    "metric": "str",
    "backend": "str",
    "cases": "int64",
    "compared": "int64",
    "tested": "int64",
    "distinguishable": "int64",
    "share": "float64",
    "chance": "float64",
    "by_q": "int64",
    "by_blocks": "int64",
    "by_friedman": "int64",
    "by_permutation": "int64",
    "practical": "int64",
    "median_rsd": "float64",
    "median_rsd_distinguishable": "float64",
}

SETTINGS = ("full", "distinguishable")


def typed(rows: pd.DataFrame | Iterable[Mapping[str, Any]], schema: Schema) -> pd.DataFrame:
    """The rows with exactly the schema's columns and types, a fresh index, also when there are none."""
    frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(list(rows), columns=list(schema))
    return frame.reindex(columns=list(schema)).astype(dict(schema)).reset_index(drop=True)


def checked(frame: pd.DataFrame, schema: Schema, what: str) -> pd.DataFrame:
    """A table that another stage wrote, with the schema's columns and types; one without rows need not have columns.

    Raises InputError that names every column it lacks, or the first value of another type.
    """
    missing = [column for column in schema if column not in frame.columns]
    if missing and len(frame):
        raise InputError(f"{what}: no column {', '.join(missing)}; delete the file and run again")
    try:
        return typed(frame, schema)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what}: {str(error).splitlines()[0]}; delete the file and run again") from None


def source_order(sources: Iterable[str]) -> list[str]:
    """Distinct sources by name, the ground truth last."""
    return sorted(set(sources), key=lambda source: (source == GROUND_TRUTH, source))


def backends(values: Iterable[str]) -> str:
    """The distinct backends behind pooled values in one word, e.g. ``"cirron+qemu"``; empty if there are none."""
    return "+".join(sorted({value for value in values if value}))
