"""One row per case and metric: how far its solutions lie apart, and whether that is more than chance."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from patchperf.stats.dispersion import relative_standard_deviation
from patchperf.stats.flags import most
from patchperf.stats.samples import NOT_MEASURED, NOT_POSITIVE, solution_statistics, usable_values
from patchperf.stats.schema import CASES, typed
from patchperf.stats.welch import Welch, welch_on_logs

SINGLE = "single solution"
UNEQUAL = "unequal replicates"
UNTESTED = Welch(float("nan"), float("nan"), float("nan"), float("nan"))

Samples = Mapping[Any, NDArray[np.float64]]


def case_statistics(
    measurements: pd.DataFrame, members: pd.DataFrame, alpha: float, collapsed: Set[tuple[str, str]] = frozenset()
) -> pd.DataFrame:
    """RSD and Welch's test on logs of every case, on every metric that was measured anywhere in the corpus.

    ``k`` counts the case's distinct solutions; ``replicates`` is the smallest number of usable values of a measured
    solution. ``distinguishable`` is p < alpha. ``collapsed`` tells whether any solution is among those (by instance and
    solution) whose steady state has collapsed, ``not_covered`` what the counts of the case leave out, at most. What
    ``note`` says, several joined by "; ":

    - *single solution*: nothing to compare, no RSD, no test;
    - *not measured*: no solution has a usable value;
    - *non-positive or infinite values*: the counter was broken, so neither RSD nor test;
    - *m of k solutions measured*: RSD over those m;
    - *m of k solutions tested*: the others have fewer than two usable replicates (with G = 1: all, so no test);
    - *unequal replicates*: Welch's test allows for it;
    - *m of k solutions collapsed*: what some of them keep from call to call is compared with what others compute;
    - *zero variance …*: decided as ``welch_on_logs`` says.
    """
    values = usable_values(measurements, members)
    samples: Samples = {
        key: sample.to_numpy(dtype=float)
        for key, sample in values.groupby(["instance_id", "metric", "solution"])["value"]
    }
    left_out = values.groupby(["metric", "instance_id"])["not_covered"].agg(most)
    rows = [
        _case_row(solutions, samples, alpha, collapsed) | {"not_covered": left_out.get(case, "")}
        for case, solutions in solution_statistics(measurements, members).groupby(["metric", "instance_id"])
    ]
    return typed(rows, CASES)


def _case_row(
    solutions: pd.DataFrame, samples: Samples, alpha: float, collapsed: Set[tuple[str, str]]
) -> dict[str, Any]:
    first = solutions.iloc[0]
    measured = solutions[solutions["replicates"] > 0]
    testable = solutions[solutions["replicates"] > 1]
    k, broken = len(solutions), (solutions["note"] == NOT_POSITIVE).any()
    keys = zip(testable["instance_id"], testable["metric"], testable["solution"], strict=True)
    kept = sum(one in collapsed for one in zip(solutions["instance_id"], solutions["solution"], strict=True))
    test = UNTESTED if broken or len(testable) < 2 else welch_on_logs([samples[key] for key in keys])
    notes = {
        SINGLE: k == 1,
        NOT_MEASURED: measured.empty,
        NOT_POSITIVE: broken,
        f"{len(measured)} of {k} solutions measured": 0 < len(measured) < k,
        f"{len(testable)} of {k} solutions tested": k > 1 and not broken and len(testable) < len(measured),
        UNEQUAL: measured["replicates"].nunique() > 1,
        f"{kept} of {k} solutions collapsed": 0 < kept < k,
        test.note: bool(test.note),
    }
    return {
        **first[["instance_id", "metric", "backend", "repetitions"]],
        "k": k,
        "rsd": relative_standard_deviation(measured["mean"].tolist()),
        "f": test.f,
        "df1": test.df1,
        "df2": test.df2,
        "p": test.p,
        "alpha": alpha,
        "distinguishable": test.p < alpha,
        "replicates": measured["replicates"].min() if len(measured) else 0,
        "voids": solutions["voids"].sum(),
        "collapsed": kept > 0,
        "note": "; ".join(note for note, applies in notes.items() if applies),
    }
