"""Tests that know the rounds: each is a block, with the same seed and layout for all solutions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from patchperf.stats.layout import ROUNDING, Booleans, Floats, moments


@dataclass(frozen=True)
class BlockTests:
    """One test per case; ``exact`` where nothing varies within the rounds but by solution, so that p is 0 or 1."""

    f: Floats
    df1: float
    df2: float
    p: Floats
    exact: Booleans


def block_tests(logs: Floats) -> BlockTests:
    """Randomised complete blocks: do the solutions differ, in n cases of k solutions over b rounds each?

    ``logs`` has shape (n, k, b), none missing, k and b at least 2. With yᵢg of solution i in round g, means yᵢ. over
    rounds, y.g over solutions and y.. over all:
    F = [b Σᵢ(yᵢ. − y..)²/(k − 1)] / [Σᵢ,g(yᵢg − yᵢ. − y.g + y..)²/((k − 1)(b − 1))], df1 = k − 1,
    df2 = (k − 1)(b − 1) (Montgomery, Design and Analysis of Experiments, chapter 4). For k = 2 that is the square of
    the paired t.

    Without a residual, which exact counts can give, p is 0 if solutions differ and 1 if not.
    """
    _, k, b = logs.shape
    within = logs - logs.mean(axis=1, keepdims=True)
    effect = within.mean(axis=2)
    residual = within - effect[:, :, np.newaxis]
    df1, df2 = k - 1.0, (k - 1.0) * (b - 1.0)
    exact = np.abs(residual).max(axis=(1, 2)) <= ROUNDING
    between = b * np.sum(effect**2, axis=1) / df1
    with np.errstate(divide="ignore", invalid="ignore"):
        f = between / (np.sum(residual**2, axis=(1, 2)) / df2)
    f = np.where(exact, np.where(np.ptp(effect, axis=1) <= ROUNDING, 0.0, np.inf), f)
    return BlockTests(f, df1, df2, special.fdtrc(df1, df2, f), exact)


@dataclass(frozen=True)
class PairedTests:
    """One test per pair; t and p are NaN for fewer than two rounds; ``exact`` as in ``BlockTests``."""

    rounds: Floats
    t: Floats
    p: Floats
    exact: Booleans


def paired_tests(differences: Floats) -> PairedTests:
    """Student's paired t, two-sided: is the mean of a pair's differences of logarithms zero?

    ``differences`` has the rounds on its last axis, NaN where either has no value. t = d̄ √b / s, df = b − 1. If all
    differences are equal, p is 0 where they are not zero and 1 where they are.
    """
    found = moments(differences)
    enough = found.size > 1
    spread = np.fmax.reduce(differences, axis=-1) - np.fmin.reduce(differences, axis=-1)
    exact = enough & (spread <= ROUNDING)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = found.mean * np.sqrt(found.size / found.variance)
        certain = np.where(np.abs(found.mean) <= ROUNDING, 0.0, np.copysign(np.inf, found.mean))
    t = np.where(exact, certain, np.where(enough, t, np.nan))
    p = 2 * special.stdtr(np.where(enough, found.size - 1, np.nan), -np.abs(t))
    return PairedTests(found.size.astype(float), t, p, exact)
