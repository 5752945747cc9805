"""Wilcoxon's signed-rank test with ties and zeros."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import stats

EXACT = 100
"""The most differences other than zero for which the distribution is exact: however many zeros are among them."""

DIGITS = 12
"""Decimals to which differences of logarithms are compared; what is below is rounding."""


def signed_rank(differences: Sequence[float] | NDArray[np.float64]) -> float:
    """Two-sided p-value that differences are symmetric about zero (Wilcoxon, 1945).

    Zeros are decided as Pratt (1959): they are ranked with the others and then dropped. (Dropped first, as Wilcoxon
    did, larger differences can make a p larger.) Equal differences have their mean rank. Up to EXACT of them the
    distribution over all signs, given these ranks, is computed (Streitberg and Röhmel's shift algorithm, 1986), else
    the normal approximation with correction for ties. Zeros only give 1, no difference gives NaN.
    """
    values = np.round(np.asarray(differences, dtype=float), DIGITS)
    if not len(values):
        return math.nan
    if not values.any():
        return 1.0
    if np.count_nonzero(values) > EXACT:
        return float(stats.wilcoxon(values, zero_method="pratt", correction=False, method="approx").pvalue)
    ranks = stats.rankdata(np.abs(values))
    doubled = np.rint(2 * ranks).astype(np.int64)
    chance = np.zeros(int(doubled[values != 0].sum()) + 1)
    chance[0] = 1.0
    for rank in doubled[values != 0]:
        chance[rank:] = (chance[rank:] + chance[:-rank]) / 2
        chance[:rank] /= 2
    smaller = min(int(doubled[values > 0].sum()), int(doubled[values < 0].sum()))
    return min(1.0, 2 * math.fsum(chance[: smaller + 1]))
