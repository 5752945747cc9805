"""p-values of many tests at once."""

from __future__ import annotations

import numpy as np
from scipy import stats

from patchperf.stats.layout import Floats


def false_discovery(p: Floats) -> Floats:
    """q-values of Benjamini and Hochberg (1995) over all p that are numbers.

    The j-th smallest of m becomes min over i ≥ j of p₍ᵢ₎ m/i. Of independent tests called by q < α, a share of α is
    expected to be false at most.
    """
    q = np.full(len(p), np.nan)
    known = ~np.isnan(p)
    if known.any():
        q[known] = stats.false_discovery_control(p[known], method="bh")
    return q


def holm(p: Floats) -> Floats:
    """Holm's step-down adjustment (1979) over the numbers on the last axis: the chance of any false one stays below α.

    The j-th smallest of m becomes max over i ≤ j of (m − i + 1) p₍ᵢ₎, at most 1.
    """
    order = np.argsort(p, axis=-1)
    ascending = np.take_along_axis(p, order, axis=-1)
    left = np.sum(~np.isnan(p), axis=-1, keepdims=True) - np.arange(p.shape[-1])
    stepped = np.minimum(1.0, np.maximum.accumulate(left * ascending, axis=-1))
    adjusted = np.empty_like(stepped)
    np.put_along_axis(adjusted, order, stepped, axis=-1)
    return adjusted
