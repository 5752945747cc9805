from itertools import permutations, product

import numpy as np
import pytest
from scipy import stats

from patchperf.stats.blocks import block_tests
from patchperf.stats.permutation import arrangements, exact, friedman_tests, permutation_tests

RNG = np.random.default_rng(6)


def enumerated(logs: np.ndarray, statistic) -> float:  # type: ignore[no-untyped-def]
    """The share of all (k!)^b arrangements with at least the observed statistic."""
    k, b = logs.shape
    shuffled = np.array(
        [
            np.column_stack([logs[list(order), g] for g, order in enumerate(orders)])
            for orders in product(permutations(range(k)), repeat=b)
        ]
    )
    found = np.array([statistic(one) for one in shuffled])
    return float(np.mean(found >= statistic(logs) * (1 - 1e-9)))


@pytest.mark.parametrize(("k", "b"), [(2, 5), (3, 3), (2, 2), (3, 2)])
def test_small_tables_equal_all_arrangements_by_the_f_of_blocks(k: int, b: int) -> None:
    cases = RNG.normal(0, 0.01, (4, k, b)) + 0.005 * np.arange(k)[:, np.newaxis]
    assert exact(k, b)
    for logs, ours in zip(cases, permutation_tests(cases, seed=1), strict=True):
        assert ours == pytest.approx(enumerated(logs, lambda one: block_tests(one[np.newaxis]).f[0]))


def test_small_tables_equal_all_arrangements_by_friedmans_chi_squared() -> None:
    cases = RNG.normal(0, 0.01, (4, 3, 3))
    for logs, ours in zip(cases, friedman_tests(cases, seed=1), strict=True):
        assert ours == pytest.approx(enumerated(logs, lambda one: stats.friedmanchisquare(*one).statistic))


def test_five_rounds_of_three_in_the_same_order_have_the_textbooks_p() -> None:
    """All ranks agree in 6 of 6^5 arrangements."""
    logs = np.arange(3)[:, np.newaxis] + np.linspace(0, 0.1, 5)
    assert friedman_tests(logs[np.newaxis], seed=1)[0] == pytest.approx(6 / 6**5)


def test_two_solutions_in_five_rounds_cannot_be_told_apart_below_a_sixteenth() -> None:
    logs = np.array([np.zeros(5), np.full(5, 0.5)]) + np.linspace(0, 0.1, 5)
    assert permutation_tests(logs[np.newaxis], seed=1)[0] == 2 / 2**5


def test_drawn_arrangements_come_close_to_scipys_and_never_to_zero() -> None:
    logs = RNG.normal(0, 0.01, (4, 4)) + 0.004 * np.arange(4)[:, np.newaxis]
    assert not exact(4, 4)
    expected = enumerated_by_halves(logs)
    assert permutation_tests(logs[np.newaxis], seed=1)[0] == pytest.approx(expected, abs=4 * np.sqrt(expected / 9_999))
    clear = np.arange(6)[:, np.newaxis] + np.linspace(0, 0.1, 5)
    assert permutation_tests(clear[np.newaxis], seed=1)[0] == 1 / 10_000


def enumerated_by_halves(logs: np.ndarray) -> float:
    """All 24³ arrangements of rounds two to four, by the sums of squares of the solutions' totals."""
    orders = np.array(list(permutations(range(4))))
    rounds = [logs[orders, g] for g in range(4)]
    totals = logs[:, 0] + rounds[1][:, None, None] + rounds[2][None, :, None] + rounds[3][None, None, :]
    found = np.sum(totals**2, axis=-1)
    return float(np.mean(found >= np.sum(logs.sum(axis=1) ** 2) * (1 - 1e-12)))


def test_draws_follow_from_the_seed_and_keep_every_round_whole() -> None:
    drawn = arrangements(4, 5, 1)
    assert np.array_equal(np.sort(drawn, axis=2), np.broadcast_to(np.arange(4), drawn.shape))
    assert not np.array_equal(drawn, arrangements(4, 5, 2))
    counts = np.bincount(drawn[:, 1:, 0].ravel(), minlength=4)
    assert stats.chisquare(counts).pvalue > 1e-4


def test_equal_values_have_p_one() -> None:
    assert permutation_tests(np.zeros((1, 3, 4)), seed=1).tolist() == [1]
    assert friedman_tests(np.zeros((1, 5, 5)), seed=1).tolist() == [1]


def test_many_cases_at_once_are_tested_one_by_one() -> None:
    cases = RNG.normal(0, 0.01, (130, 4, 5))
    together = permutation_tests(cases, seed=1)
    assert together.tolist() == [permutation_tests(case[np.newaxis], seed=1)[0] for case in cases]
