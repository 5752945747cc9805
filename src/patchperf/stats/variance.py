"""Variance components of values measured at every combination of two random factors, and the power they leave."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

QUANTILES = 2000


@dataclass(frozen=True)
class Components:
    """Variances, each in the square of the values' unit: what the factors and the equal runs add to one value.

    An estimate can be negative where the true variance is small. ``interaction`` has the variance of equal runs in it
    where there was only one run of each combination; ``run`` is NaN then.
    """

    first: float
    second: float
    interaction: float
    run: float


def variance_components(values: NDArray[np.float64]) -> Components:
    """Components of a two-way crossed random model by the method of moments.

    ``values`` has shape (a, b, n): levels of the first and of the second factor, equal runs. With the mean squares of
    the analysis of variance MS_A, MS_B, MS_AB, MS_E, whose expectations are
    E MS_A = σ² + nσ_AB² + bnσ_A², E MS_B = σ² + nσ_AB² + anσ_B², E MS_AB = σ² + nσ_AB², E MS_E = σ²:
    σ_A² = (MS_A − MS_AB)/(bn), σ_B² = (MS_B − MS_AB)/(an), σ_AB² = (MS_AB − MS_E)/n, σ² = MS_E
    (Montgomery, Design and Analysis of Experiments, chapter on random factors).

    Raises ValueError where a factor has fewer than two levels, there is no run, or a value is not finite.
    """
    if values.ndim != 3 or min(values.shape[:2]) < 2 or values.shape[2] < 1 or not np.isfinite(values).all():
        raise ValueError("variance components need finite values of shape (a, b, n), a and b at least 2, n at least 1")
    a, b, n = values.shape
    cells, grand = values.mean(axis=2), values.mean()
    rows, columns = cells.mean(axis=1), cells.mean(axis=0)
    of_rows = b * n * np.sum((rows - grand) ** 2) / (a - 1)
    of_columns = a * n * np.sum((columns - grand) ** 2) / (b - 1)
    apart = cells - rows[:, np.newaxis] - columns + grand
    of_interaction = n * np.sum(apart**2) / ((a - 1) * (b - 1))
    of_runs = float(np.sum((values - cells[:, :, np.newaxis]) ** 2)) / (a * b * (n - 1)) if n > 1 else float("nan")
    return Components(
        first=float(of_rows - of_interaction) / (b * n),
        second=float(of_columns - of_interaction) / (a * n),
        interaction=float(of_interaction - (of_runs if n > 1 else 0.0)) / n,
        run=of_runs,
    )


def power(difference: float, deviation: float, replicates: int, alpha: float, *, paired: bool) -> float:
    """Probability that a true ``difference`` of two solutions' means is found at level ``alpha``, two-sided.

    ``deviation`` is, in the same unit, the standard deviation of a solution's values, or with ``paired`` that of the
    differences within a round. Of normal values: Student's statistic is (z + δ)/s with z standard normal and
    νs² ~ χ²(ν); ν = 2(G − 1) and δ = difference/(deviation·√(2/G)), paired ν = G − 1 and δ = difference·√G/deviation
    (Cohen, Statistical Power Analysis, 1988). The power is P(|z + δ| > t·s), averaged over quantiles of s. With equal
    variances Welch's test has nearly the first, and somewhat less for small G.

    Raises ValueError for fewer than two replicates, or a deviation that is not positive.
    """
    if replicates < 2 or not deviation > 0:
        raise ValueError("power needs two replicates or more and a positive deviation")
    freedom = (replicates - 1) * (1 if paired else 2)
    shift = abs(difference) / deviation * np.sqrt(replicates / (1 if paired else 2))
    spread = np.sqrt(stats.chi2.ppf((np.arange(QUANTILES) + 0.5) / QUANTILES, freedom) / freedom)
    limit = stats.t.ppf(1 - alpha / 2, freedom) * spread
    return float(np.mean(stats.norm.sf(limit - shift) + stats.norm.cdf(-limit - shift)))
