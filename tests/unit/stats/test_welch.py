import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from patchperf.stats.welch import EXACT, LIMIT, welch_on_logs

PAPER_ALPHA = 0.05


def random_groups(seed: int, sizes: list[int]) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [np.exp(rng.normal(20 + 0.01 * number, 0.01 * (1 + number), size)) for number, size in enumerate(sizes)]


@pytest.mark.parametrize("sizes", [[5, 5], [5, 5, 5], [5, 4, 3, 2], [5] * 6, [2, 2]])
def test_f_and_p_equal_scipys_welch_anova_on_logs(sizes: list[int]) -> None:
    for seed in range(5):
        groups = random_groups(seed, sizes)
        expected = stats.f_oneway(*map(np.log, groups), equal_var=False)
        ours = welch_on_logs(groups)
        assert ours.f == pytest.approx(expected.statistic, rel=1e-9)
        assert ours.p == pytest.approx(expected.pvalue, rel=1e-9)
        assert ours.df1 == len(sizes) - 1
        assert ours.note == ""


def test_two_groups_give_the_square_of_welchs_t() -> None:
    first, second = random_groups(7, [5, 4])
    t = stats.ttest_ind(np.log(first), np.log(second), equal_var=False)
    ours = welch_on_logs([first, second])
    assert ours.f == pytest.approx(t.statistic**2, rel=1e-9)
    assert ours.df2 == pytest.approx(t.df, rel=1e-9)
    assert ours.p == pytest.approx(t.pvalue, rel=1e-9)


def test_three_groups_worked_out_by_hand() -> None:
    """Logs (0, 2), (3, 5), (0, 4): means 1, 4, 2; variances 2, 2, 8; weights 1, 1, 1/4; weighted mean 22/9.

    Spread 41/9; the sum of (1 - w/W)² over n - 1 is 38/27; so F = (41/18)/(73/54) = 123/73 and df2 = 8/(3 · 38/27).
    For df1 = 2 the tail of F is (1 + 2F/df2)^(-df2/2).
    """
    ours = welch_on_logs([np.exp([0, 2]), np.exp([3, 5]), np.exp([0, 4])])
    f, df2 = 123 / 73, 36 / 19
    assert (ours.f, ours.df1, ours.df2) == pytest.approx((f, 2, df2), rel=1e-12)
    assert ours.p == pytest.approx((1 + 2 * f / df2) ** (-df2 / 2), rel=1e-12)


def almost(value: float, size: int) -> np.ndarray:
    """Values around one, so close that their variance is as good as none."""
    spread = np.linspace(-1, 1, size)
    return value * np.exp(1e-7 * spread / np.std(spread, ddof=1))


@pytest.mark.parametrize(
    ("still", "moving"),
    [
        ([(10.0, 5)], [[9.0, 10.0, 12.0, 11.0, 10.5]]),
        ([(10.0, 5)], [[9.0, 10.0, 12.0], [11.0, 15.0, 13.0, 12.0]]),
        ([(10.0, 5), (10.0, 3)], [[9.0, 10.0, 12.0, 13.0, 8.0]]),
    ],
)
def test_a_group_without_variance_is_the_limit_of_groups_with_a_vanishing_one(
    still: list[tuple[float, int]], moving: list[list[float]]
) -> None:
    ours = welch_on_logs([*([value] * size for value, size in still), *moving])
    near = stats.f_oneway(*(np.log(almost(*one)) for one in still), *map(np.log, moving), equal_var=False)
    assert ours.note == LIMIT
    assert ours.f == pytest.approx(near.statistic, rel=1e-5)
    assert ours.p == pytest.approx(near.pvalue, rel=1e-5)


def test_exact_values_that_differ_have_p_zero_and_equal_ones_p_one() -> None:
    different = welch_on_logs([[100.0] * 5, [100.0] * 5, [101.0] * 5])
    assert (different.f, different.p, different.note) == (math.inf, 0.0, EXACT)
    equal = welch_on_logs([[100.0] * 5, [100.0] * 5])
    assert (equal.f, equal.p, equal.note) == (0.0, 1.0, EXACT)


def test_two_exact_groups_that_differ_decide_whatever_a_third_one_does() -> None:
    ours = welch_on_logs([[100.0] * 5, [101.0] * 5, [90.0, 100.0, 110.0, 95.0, 105.0]])
    assert (ours.p, ours.note) == (0.0, LIMIT)


@pytest.mark.parametrize("groups", [[[1.0, 2.0]], [[1.0, 2.0], [1.0]], []])
def test_too_little_to_test_is_refused(groups: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="two groups"):
        welch_on_logs(groups)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.inf, math.nan])
def test_values_without_a_logarithm_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="positive"):
        welch_on_logs([[1.0, 2.0], [1.0, bad]])


def test_equal_solutions_are_called_different_about_as_often_as_alpha_says() -> None:
    rng = np.random.default_rng(1)
    logs = rng.normal(20, 0.01, size=(200, 4, 5))
    rejected = np.mean([welch_on_logs(np.exp(case)).p < PAPER_ALPHA for case in logs])
    assert 0.01 < rejected < 0.11


positive = st.floats(0.5, 2.0)
groups_of_values = st.lists(st.lists(positive, min_size=2, max_size=5), min_size=2, max_size=4)


@settings(max_examples=40, deadline=None)
@given(groups_of_values, st.sampled_from([1e-9, 60.0, 1e12]), st.randoms(use_true_random=False))
def test_neither_the_unit_nor_any_order_changes_the_test(groups: list[list[float]], unit: float, random) -> None:  # type: ignore[no-untyped-def]
    spread = [np.ptp(np.log(group)) for group in groups]
    if any(0 < value < 1e-6 for value in spread):
        return
    before = welch_on_logs(groups)
    shuffled = [random.sample([unit * value for value in group], len(group)) for group in groups]
    after = welch_on_logs(random.sample(shuffled, len(shuffled)))
    assert after.p == pytest.approx(before.p, rel=1e-5, abs=1e-12)
    assert after.df2 == pytest.approx(before.df2, rel=1e-6)
