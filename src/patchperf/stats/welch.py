"""Welch's analysis of variance on natural logarithms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from patchperf.stats.layout import Booleans, Floats, Moments, moments

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


@dataclass(frozen=True)
class WelchTests:
    """One test per case; ``still`` tells which solutions of it, shape (n, k), have no variance."""

    f: Floats
    df1: float
    df2: Floats
    p: Floats
    still: Booleans


def welch_tests(groups: Moments) -> WelchTests:
    """Welch's test (Biometrika 38, 1951) that k groups have equal means, for n cases; ``groups`` has shape (n, k).

    With nᵢ values of group i, mean mᵢ, variance sᵢ², wᵢ = nᵢ/sᵢ², W = Σ wᵢ, m̃ = Σ wᵢmᵢ/W and
    Λ = Σ (1 − wᵢ/W)²/(nᵢ − 1):
    F = [Σ wᵢ(mᵢ − m̃)²/(k − 1)] / [1 + 2(k − 2)Λ/(k² − 1)], df1 = k − 1, df2 = (k² − 1)/(3Λ), p = P(F(df1, df2) > F).

    Groups without variance, which an exact counter gives, have no weight wᵢ. They are decided by the limit of the test
    as their variances go to zero together: where two of them differ, F = ∞ and p = 0; else they hold m̃ at their common
    mean. If no group varies, the values are exact: p is 0 if they differ and 1 if not.

    Written out for many cases at once, as ``pingouin.welch_anova`` takes milliseconds for each.
    """
    size, mean, variance = groups.size.astype(float), groups.mean, groups.variance
    k, still = mean.shape[1], variance == 0
    any_still = still.any(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = np.where(any_still[:, np.newaxis], np.where(still, size, 0.0), size / variance)
        share = weight / weight.sum(axis=1, keepdims=True)
        held = np.where(still, mean, -np.inf).max(axis=1)
        centre = np.where(any_still, held, np.sum(share * mean, axis=1))
        squares = np.where(still, 0.0, size / variance * (mean - centre[:, np.newaxis]) ** 2)
    unevenness = np.sum((1 - share) ** 2 / (size - 1), axis=1)
    df1, df2 = k - 1.0, (k * k - 1) / (3 * unevenness)
    f = squares.sum(axis=1) / df1 / (1 + 2 * (k - 2) * unevenness / (k * k - 1))
    f = np.where(any_still & (held > np.where(still, mean, np.inf).min(axis=1)), np.inf, f)
    return WelchTests(f, df1, df2, special.fdtrc(df1, df2, f), still)


def welch_on_logs(groups: Sequence[Sequence[float] | NDArray[np.float64]]) -> Welch:
    """``welch_tests`` of the logarithms of k groups of positive values.

    Raises ValueError for fewer than two groups, a group of fewer than two values, or a value not positive and finite.
    """
    values = [np.sort(np.asarray(group, dtype=float)) for group in groups]
    if len(values) < 2 or min(map(len, values)) < 2:
        raise ValueError("Welch's test needs two groups or more, of two values or more each")
    if not all(((value > 0) & np.isfinite(value)).all() for value in values):
        raise ValueError("logarithms need positive, finite values")
    table = np.full((1, len(values), max(map(len, values))), np.nan)
    for place, value in enumerate(sorted(values, key=tuple)):
        table[0, place, : len(value)] = value
    test = welch_tests(moments(np.log(table / np.nanmin(table))))
    note = EXACT if test.still.all() else LIMIT if test.still.any() else ""
    return Welch(float(test.f[0]), test.df1, float(test.df2[0]), float(test.p[0]), note)
