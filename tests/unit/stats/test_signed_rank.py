import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from patchperf.stats.signed_rank import EXACT, signed_rank


def enumerated(differences: list[float]) -> float:
    """Over all signs of the differences that are not zero, with Pratt's ranks."""
    values = np.array(differences)
    ranks = stats.rankdata(np.abs(values))[values != 0]
    observed = ranks @ np.sign(values[values != 0])
    found = [abs(ranks @ np.array(signs)) for signs in product((-1, 1), repeat=len(ranks))]
    return float(np.mean(np.array(found) >= abs(observed) - 1e-9))


@pytest.mark.parametrize(
    "differences",
    [
        [0.3],
        [0.1, 0.2, 0.3],
        [0.1, -0.1, 0.3, 0.3],
        [0, 0, 0.1, 0.2, -0.3],
        [0, 0.5, 0.5, 0.5, -0.5, -0.2, 0, 0.7, 0.1, 0.1],
        [-0.1, -0.2, -0.3, -0.4, -0.5, -0.6],
    ],
)
def test_ties_and_zeros_equal_the_enumeration_of_all_signs(differences: list[float]) -> None:
    assert signed_rank(differences) == pytest.approx(enumerated(differences))
    assert signed_rank([-one for one in differences]) == signed_rank(differences)
    assert signed_rank(differences[::-1]) == signed_rank(differences)


@pytest.mark.parametrize("size", [5, 20, 49])
def test_without_ties_it_is_scipys_exact_test(size: int) -> None:
    values = np.random.default_rng(size).normal(0.2, 1, size)
    assert signed_rank(values) == pytest.approx(stats.wilcoxon(values, method="exact").pvalue, rel=1e-9)


@pytest.mark.parametrize("zeros", [95, 96, 494])
def test_any_number_of_zeros_leaves_it_exact(zeros: int) -> None:
    few = [0.1, 0.2, 0.3, -0.4, 0.5, 0.6]
    assert signed_rank([0.0] * zeros + few) == pytest.approx(enumerated([0.0] * zeros + few))


def test_the_approximation_joins_the_exact_distribution() -> None:
    rng = np.random.default_rng(3)
    for shift in (0.0, 0.15, 0.3):
        values = np.append(np.round(rng.normal(shift, 1, EXACT), 1), 0.0)
        approximate, exact = signed_rank(values), signed_rank(values[values != 0][:EXACT])
        assert len(values) > EXACT
        assert approximate == pytest.approx(exact, rel=0.1, abs=0.005)


def test_only_zeros_give_one_and_nothing_gives_nan() -> None:
    assert signed_rank([0.0, 0.0]) == signed_rank([math.log(1 + 2e-16)]) == 1
    assert math.isnan(signed_rank([]))


def test_ratios_that_are_each_others_inverse_are_ties_whatever_rounding_does() -> None:
    ratios = np.array([1 / 3, 3, 1 / 7, 7, 1 / 11])
    assert signed_rank(np.log(ratios)) == signed_rank(np.log(1 / ratios)) == pytest.approx(enumerated_of(ratios))


def enumerated_of(ratios: np.ndarray) -> float:
    return enumerated(np.round(np.log(ratios), 9).tolist())
