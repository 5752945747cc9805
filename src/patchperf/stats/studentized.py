"""The studentized range distribution for many values at once.

``scipy.stats.studentized_range`` takes milliseconds for each value, which a corpus has hundreds of thousands of.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy import special
from scipy.interpolate import CubicSpline

from patchperf.stats.layout import Floats

NODES = 64
"""Of each of the two passes of integration."""

FEW, MORE_NODES = 4.0, 320
"""Below so many degrees of freedom the integrand has a long tail, and so many nodes."""

CELLS = 1_000_000
"""Nodes integrated over at a time, 8 MB."""

WIDEST = 40.0
"""A range of standard normal values beyond which nothing is left (1e-170)."""

NEGLIGIBLE = 40.0
MOST_FREEDOM = 1e5
TINIEST = 1e-300


def survival(q: Floats, groups: int, freedom: Floats) -> Floats:
    """P(Q > q) of the range of k normal means over an independent standard error with ν degrees of freedom.

    P(Q > q) = ∫ f(s) [1 − W(qs)] ds, with f the density of √(χ²(ν)/ν) and W the distribution of the range of k
    standard normal values. Integrated over t = ln s by the trapezoidal rule, first coarsely to find where the integrand
    is, then there. NaN stays NaN; q = 0 gives 1, infinity 0. The error is below 1e-8 (above 10,000 degrees of freedom,
    1e-5).
    """
    q, freedom = np.broadcast_arrays(np.abs(q).astype(float), np.asarray(freedom, dtype=float))
    result = np.where(np.isnan(q) | np.isnan(freedom), np.nan, np.where(q == 0, 1.0, 0.0))
    inside = np.isfinite(q) & (q > 0) & ~np.isnan(freedom)
    for chosen, nodes in ((inside & (freedom >= FEW), NODES), (inside & (freedom < FEW), MORE_NODES)):
        some, of_some = q[chosen], np.minimum(freedom[chosen], MOST_FREEDOM)
        found = np.empty(len(some))
        step = CELLS // nodes
        for start in range(0, len(some), step):
            part = slice(start, start + step)
            found[part] = _integrated(some[part], groups, of_some[part], nodes)
        result[chosen] = found
    return np.clip(result, 0.0, 1.0)


def critical(alpha: float, groups: int, freedom: Floats) -> Floats:
    """The q that is exceeded with probability ``alpha``; ν at least 1."""
    found: Floats = np.exp(_critical_logs(alpha, groups)(1 / np.maximum(np.asarray(freedom, dtype=float), 1.0)))
    return found


@lru_cache(maxsize=128)
def _critical_logs(alpha: float, groups: int) -> CubicSpline:
    """ln q against 1/ν, by bisection."""
    inverse = np.linspace(1 / MOST_FREEDOM, 1, 201)
    freedom = 1 / inverse
    low, high = np.full(len(inverse), np.log(1e-6)), np.full(len(inverse), np.log(1e6 * groups / alpha))
    for _ in range(60):
        middle = (low + high) / 2
        above = survival(np.exp(middle), groups, freedom) > alpha
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return CubicSpline(inverse, (low + high) / 2)


def _integrated(q: Floats, groups: int, freedom: Floats, count: int) -> Floats:
    spline = _range_logs(groups)
    nu = freedom[:, np.newaxis]
    constant = np.log(2) + nu / 2 * np.log(nu / 2) - special.gammaln(nu / 2)

    def logarithm(t: Floats) -> Floats:
        s = np.exp(t)
        width = q[:, np.newaxis] * s
        inner = np.where(width < WIDEST, spline(np.minimum(width, WIDEST)), -np.inf)
        found: Floats = constant + nu * t - nu / 2 * s**2 + inner
        return found

    left = np.minimum(0.0, -np.log(q)) - NEGLIGIBLE / freedom - 1.0
    right = np.minimum(np.log(WIDEST / q), np.log1p(NEGLIGIBLE / freedom) + 1.0)
    share = np.linspace(0, 1, count)
    nodes = left[:, np.newaxis] + (right - left)[:, np.newaxis] * share
    rough = logarithm(nodes)
    near = rough > rough.max(axis=1, keepdims=True) - NEGLIGIBLE
    first = np.maximum(near.argmax(axis=1) - 1, 0)
    last = np.minimum(count - near[:, ::-1].argmax(axis=1), count - 1)
    row = np.arange(len(q))
    left, right = nodes[row, first], nodes[row, last]
    fine = np.exp(logarithm(left[:, np.newaxis] + (right - left)[:, np.newaxis] * share))
    total: Floats = np.trapezoid(fine, axis=1) * (right - left) / (count - 1)
    return total


@lru_cache(maxsize=64)
def _range_logs(groups: int) -> CubicSpline:
    """ln [1 − W(w)] against w.

    1 − W(w) = k ∫ φ(z) Φ(z)^(k−1) [1 − (1 − Φ(z − w)/Φ(z))^(k−1)] dz, z the largest of k standard normal values: no
    difference of nearly equal numbers.
    """
    widths = np.linspace(0, WIDEST, 2001)
    z = np.linspace(-12, 36, 1201)
    below = special.log_ndtr(z)
    with np.errstate(divide="ignore"):
        share = np.exp(special.log_ndtr(z - widths[:, np.newaxis]) - below)
        missing = -np.expm1((groups - 1) * np.log1p(-np.minimum(share, 1.0)))
    density = groups * np.exp(-(z**2) / 2 + (groups - 1) * below) / np.sqrt(2 * np.pi)
    beyond = np.trapezoid(density * missing, z, axis=1)
    return CubicSpline(widths, np.log(np.clip(beyond, TINIEST, 1.0)))
