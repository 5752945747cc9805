"""Variance components and power, against arithmetic by hand and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from patchperf.stats.variance import power, variance_components


def test_equal_runs_by_hand():
    """Cell means 1 3 and 5 11 (rows 2 and 8, columns 3 and 7, together 5), each with runs one below and one above."""
    found = variance_components(np.array([[[0.0, 2.0], [2.0, 4.0]], [[4.0, 6.0], [10.0, 12.0]]]))
    # MS of rows 4·(9 + 9)/1 = 72, of columns 4·(4 + 4)/1 = 32, of the interaction 2·4·1/1 = 8, of runs 8·1/4 = 2.
    assert (found.first, found.second, found.interaction, found.run) == (16.0, 6.0, 3.0, 2.0)


def test_one_run_of_each_combination_by_hand():
    """Rows 1 3 and 5 11: means 2 and 8, 3 and 7, together 5; apart from additive by 1 each."""
    found = variance_components(np.array([[[1.0], [3.0]], [[5.0], [11.0]]]))
    # MS of rows 2·(9 + 9)/1 = 36, of columns 2·(4 + 4)/1 = 16, of the interaction 4·1/1 = 4.
    assert (found.first, found.second, found.interaction) == (16.0, 6.0, 4.0)
    assert np.isnan(found.run)


def test_a_factor_without_effect_has_no_variance():
    seeds = np.array([1.0, 2.0, 4.0])
    found = variance_components(np.broadcast_to(seeds[:, np.newaxis, np.newaxis], (3, 4, 2)).copy())
    assert found.first == pytest.approx(np.var(seeds, ddof=1))
    assert (found.second, found.interaction, found.run) == (0.0, 0.0, 0.0)


def test_simulated_components_are_found_on_average():
    generator = np.random.default_rng(3)
    found = []
    for _ in range(2000):
        seeds = generator.normal(0, 3, (5, 1, 1))
        layouts = generator.normal(0, 2, (1, 4, 1))
        found.append(variance_components(seeds + layouts + generator.normal(0, 1, (5, 4, 2))))
    assert np.mean([one.first for one in found]) == pytest.approx(9, rel=0.05)
    assert np.mean([one.second for one in found]) == pytest.approx(4, rel=0.05)
    assert np.mean([one.run for one in found]) == pytest.approx(1, rel=0.02)


@pytest.mark.parametrize("shape", [(1, 3, 1), (3, 1, 1), (3, 3, 0), (3, 3)])
def test_too_few_values_are_refused(shape):
    with pytest.raises(ValueError, match="variance components need finite values"):
        variance_components(np.ones(shape))


@pytest.mark.parametrize("paired", [False, True])
def test_power_is_the_share_of_simulated_experiments_that_find_the_difference(paired):
    values = np.random.default_rng(4).normal(0, 1.0, (20_000, 2, 6))
    values[:, 1] += 1.3
    test = stats.ttest_rel if paired else stats.ttest_ind
    share = np.mean(test(values[:, 0], values[:, 1], axis=1).pvalue < 0.05)
    deviation = np.sqrt(2) if paired else 1.0
    assert power(1.3, deviation, 6, 0.05, paired=paired) == pytest.approx(share, abs=0.01)


def test_without_a_difference_power_is_the_level():
    assert power(0.0, 1.0, 5, 0.05, paired=False) == pytest.approx(0.05, abs=1e-3)


def test_power_is_that_of_the_noncentral_t_distribution():
    limit = stats.t.ppf(0.975, 8)
    expected = stats.nct.sf(limit, 8, 1.2 * np.sqrt(2.5)) + stats.nct.cdf(-limit, 8, 1.2 * np.sqrt(2.5))
    assert power(1.2, 1.0, 5, 0.05, paired=False) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("replicates", [2, 5, 40])
@pytest.mark.parametrize("paired", [False, True])
def test_power_of_an_ever_larger_difference_rises_to_one(replicates, paired):
    found = [power(10.0**step, 1.0, replicates, 0.05, paired=paired) for step in range(-2, 6)]
    assert found == pytest.approx(sorted(found), abs=1e-4)
    assert found[-1] == pytest.approx(1.0)


@pytest.mark.parametrize(("deviation", "replicates"), [(0.0, 5), (1.0, 1), (float("nan"), 5)])
def test_power_of_nothing_is_refused(deviation, replicates):
    with pytest.raises(ValueError, match="power needs"):
        power(0.1, deviation, replicates, 0.05, paired=True)
