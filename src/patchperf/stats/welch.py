"""Welch's analysis of variance on natural logarithms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pingouin
from numpy.typing import NDArray
from scipy import stats

EXACT = "zero variance: exact"
LIMIT = "zero variance in some solutions: limit"


@dataclass(frozen=True)
class Welch:
    """F, its degrees of freedom and the p-value; ``note`` is empty unless a zero variance had to be decided."""

    f: float
    df1: float
    df2: float
    p: float
    note: str = ""


def welch_on_logs(groups: Sequence[Sequence[float] | NDArray[np.float64]]) -> Welch:
    """Welch's test (Biometrika 38, 1951) that k groups of positive values have equal means of their logarithms.

    With yᵢ = ln xᵢ, nᵢ values, mean mᵢ, variance sᵢ², wᵢ = nᵢ/sᵢ², W = Σ wᵢ, m̃ = Σ wᵢmᵢ/W and
    Λ = Σ (1 − wᵢ/W)²/(nᵢ − 1):
    F = [Σ wᵢ(mᵢ − m̃)²/(k − 1)] / [1 + 2(k − 2)Λ/(k² − 1)], df1 = k − 1, df2 = (k² − 1)/(3Λ), p = P(F(df1, df2) > F).

    Groups without variance, which an exact counter gives, have no weight wᵢ. They are decided by the limit of the test
    as their variances go to zero together: where two of them differ, F = ∞ and p = 0; else they hold m̃ at their common
    mean. If no group varies, the values are exact: p is 0 if they differ and 1 if not.

    Raises ValueError for fewer than two groups, a group of fewer than two values, or a value not positive and finite.
    """
    logs = [np.sort(_logarithms(group)) for group in groups]
    if len(logs) < 2 or min(map(len, logs)) < 2:
        raise ValueError("Welch's test needs two groups or more, of two values or more each")
    if any(log[0] == log[-1] for log in logs):
        return _limit(logs)
    samples = pd.DataFrame(
        {"log": np.concatenate(logs), "solution": np.repeat(np.arange(len(logs)), list(map(len, logs)))}
    )
    row = pingouin.welch_anova(data=samples, dv="log", between="solution").iloc[0]
    return Welch(float(row["F"]), float(row["ddof1"]), float(row["ddof2"]), float(row["p_unc"]))


def _logarithms(values: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=float)
    if not ((array > 0) & np.isfinite(array)).all():
        raise ValueError("logarithms need positive, finite values")
    logs: NDArray[np.float64] = np.log(array)
    return logs


def _limit(logs: list[NDArray[np.float64]]) -> Welch:
    k = len(logs)
    size = np.array([len(log) for log in logs], dtype=float)
    still = np.array([log[0] == log[-1] for log in logs])
    mean = np.array([log[0] if log[0] == log[-1] else np.mean(log) for log in logs])
    share = np.where(still, size, 0.0) / size[still].sum()
    unevenness = float(np.sum((1 - share) ** 2 / (size - 1)))
    df1, df2 = k - 1.0, (k * k - 1) / (3 * unevenness)
    note = EXACT if still.all() else LIMIT
    if np.ptp(mean[still]) > 0:
        return Welch(float("inf"), df1, df2, 0.0, note)
    variance = np.array([np.inf if log[0] == log[-1] else np.var(log, ddof=1) for log in logs])
    spread = float(np.sum(size / variance * (mean - mean[still][0]) ** 2)) / df1
    f = spread / (1 + 2 * (k - 2) * unevenness / (k * k - 1))
    return Welch(f, df1, df2, float(stats.f.sf(f, df1, df2)), note)
