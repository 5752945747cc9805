"""Tests by permuting the solutions' labels within each round: all arrangements where they are few, else drawn ones."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from patchperf.stats.layout import Floats

ENUMERATED = 10_000
"""The most arrangements that are enumerated."""

DRAWN = 9_999
"""How many are drawn where there are more."""

TIED = 1e-9
"""Statistics this close, as a share of the largest possible one, are equal."""

ORDERS_AT_ONCE, CASES_AT_ONCE = 500, 64
"""Of one product of matrices, so that it stays in a processor's cache."""


def exact(solutions: int, rounds: int) -> bool:
    """Whether all arrangements are enumerated: (k!)^(b − 1) of them, as the first round's labels can stay."""
    return (rounds - 1) * math.log(math.factorial(solutions)) <= math.log(ENUMERATED)


@lru_cache(maxsize=64)
def arrangements(solutions: int, rounds: int, seed: int) -> NDArray[np.int64]:
    """Orders of the labels in every round, shape (number, rounds, solutions); the first round keeps its labels."""
    own = np.arange(solutions)
    if exact(solutions, rounds):
        orders = list(permutations(range(solutions)))
        return np.array([(tuple(own), *rest) for rest in product(orders, repeat=rounds - 1)])
    drawn = np.broadcast_to(own, (DRAWN, rounds, solutions)).copy()
    drawn[:, 1:] = np.random.default_rng(seed).permuted(drawn[:, 1:], axis=2)
    return drawn


def permutation_tests(values: Floats, seed: int) -> Floats:
    """p-values of n cases that labels of solutions mean nothing within the rounds; ``values`` has shape (n, k, b).

    The statistic is S = Σᵢ(Σ_g dᵢg)², with d a round's values less their mean. Rounds' means and the sum of squares
    within rounds are the same in every arrangement, so that S orders them as the F of ``block_tests`` does. It is
    symmetric in the solutions, so that the first round's labels can stay.

    Enumerated, p is the share of arrangements with S at least the observed one, itself included: exact, at least
    1/(k!)^(b − 1), which is 0.0625 for two solutions in five rounds. Drawn (seeded, without regard to which case it
    is), p = (hits + 1)/(m + 1) with m = 9,999 (Davison and Hinkley, Bootstrap Methods, section 4.2; Phipson and Smyth,
    2010).
    """
    n, k, b = values.shape
    orders = arrangements(k, b, seed)
    within = values - values.mean(axis=1, keepdims=True)
    largest = b * np.sum(within**2, axis=(1, 2))
    limit = np.sum(within.sum(axis=2) ** 2, axis=1) - TIED * largest
    flat = within.transpose(0, 2, 1).reshape(n, b * k)
    hits = np.zeros(n)
    for first in range(0, len(orders), ORDERS_AT_ONCE):
        chosen = _selections(orders[first : first + ORDERS_AT_ONCE])
        for start in range(0, n, CASES_AT_ONCE):
            part = slice(start, start + CASES_AT_ONCE)
            sums = flat[part] @ chosen
            np.multiply(sums, sums, out=sums)
            found = sums.reshape(len(sums), k, -1).sum(axis=1)
            hits[part] += np.count_nonzero(found >= limit[part, np.newaxis], axis=1)
    return hits / len(orders) if exact(k, b) else (hits + 1) / (len(orders) + 1)


def friedman_tests(logs: Floats, seed: int) -> Floats:
    """Friedman's test: ``permutation_tests`` of the ranks within each round (midranks where values are equal).

    S of ranks orders arrangements as Friedman's χ² does, also with ties (Hollander, Wolfe and Chicken, Nonparametric
    Statistical Methods, section 7.1), whose χ² approximation is poor for five rounds. Values are compared as they are.
    """
    return permutation_tests(stats.rankdata(logs, axis=1), seed)


def _selections(orders: NDArray[np.int64]) -> Floats:
    """Zeros and ones, (rounds · solutions, solutions · orders), that sum up a case's values label by label."""
    number, rounds, solutions = orders.shape
    chosen = np.zeros((rounds, solutions, solutions * number))
    for g in range(rounds):
        chosen[g, orders[:, g].T.ravel(), np.arange(solutions * number)] = 1.0
    return chosen.reshape(rounds * solutions, -1)
