"""Games and Howell's comparison of two solutions of a case, on logarithms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from patchperf.stats.layout import Floats, Moments
from patchperf.stats.studentized import critical, survival


@dataclass(frozen=True)
class Comparisons:
    """Differences of mean logarithms with t, degrees of freedom, p, and the bounds of their simultaneous interval."""

    difference: Floats
    t: Floats
    df: Floats
    p: Floats
    low: Floats
    high: Floats


def games_howell(first: Moments, second: Moments, solutions: int, alpha: float) -> Comparisons:
    """All pairs of a case's k solutions at once, without equal variances (Games and Howell, 1976), element by element.

    With means m, variances s², sizes n and eᵢ = sᵢ²/nᵢ: t = (mᵢ − mⱼ)/√(eᵢ + eⱼ),
    df = (eᵢ + eⱼ)²/(eᵢ²/(nᵢ − 1) + eⱼ²/(nⱼ − 1)), p = P(Q(k, df) > √2 |t|) and the interval
    mᵢ − mⱼ ± q(1 − alpha; k, df) √((eᵢ + eⱼ)/2), with Q the studentized range. For k = 2 that is Welch's t-test.

    Two solutions without variance are exact: t is infinite and p 0 if they differ, else 0 and 1; their interval is a
    point, df the limit of equal vanishing variances. NaN for fewer than two values.
    """
    tested = (first.size > 1) & (second.size > 1)
    still = (first.variance == 0) & (second.variance == 0)
    difference = first.mean - second.mean
    own, other = first.variance / first.size, second.variance / second.size
    error = np.sqrt(own + other)
    own, other = np.where(still, 1 / first.size, own), np.where(still, 1 / second.size, other)
    with np.errstate(divide="ignore", invalid="ignore"):
        df = (own + other) ** 2 / (own**2 / (first.size - 1) + other**2 / (second.size - 1))
        t = np.where(still & (difference == 0), 0.0, difference / error)
    df, t = np.where(tested, df, np.nan), np.where(tested, t, np.nan)
    half = critical(alpha, solutions, df) * error / np.sqrt(2)
    p = survival(np.sqrt(2) * np.abs(t), solutions, df)
    return Comparisons(difference, t, df, p, difference - half, difference + half)
