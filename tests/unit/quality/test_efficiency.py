from __future__ import annotations

import numpy as np
import pytest

from patchperf.quality.efficiency import mean_speeds, normalised, runtime_speeds

ONCE = np.ones((1, 3))


def test_speeds_are_means_over_the_patches_that_have_one():
    tokens = np.array([[10.0, np.nan], [20.0, 8.0], [30.0, np.nan]])
    assert mean_speeds(tokens, ONCE).tolist() == [[20.0, 8.0]]


def test_an_instance_drawn_twice_counts_twice():
    tokens = np.array([[10.0], [40.0], [70.0]])
    assert mean_speeds(tokens, np.array([[2.0, 1.0, 0.0]])).tolist() == [[20.0]]


def test_a_resample_without_a_speed_of_a_source_gives_it_none():
    tokens = np.array([[np.nan], [40.0], [np.nan]])
    assert np.isnan(mean_speeds(tokens, np.array([[2.0, 0.0, 1.0]]))).all()


def test_twice_as_fast_and_half_as_fast_as_the_ground_truth_are_level_with_it():
    ratios = np.array([[0.5], [2.0], [np.nan]])
    assert runtime_speeds(ratios, np.ones((3, 1)), ONCE) == pytest.approx(np.array([[1.0]]))


def test_only_correct_patches_have_a_runtime():
    ratios = np.array([[0.5], [0.01], [0.5]])
    assert runtime_speeds(ratios, np.array([[1.0], [0.0], [1.0]]), ONCE) == pytest.approx(np.array([[2.0]]))


def test_nothing_correct_is_delivered_at_speed_0_but_nothing_measured_has_no_speed():
    speeds = runtime_speeds(np.full((3, 2), np.nan), np.array([[0.0, 1.0]] * 3), ONCE)
    assert speeds[0, 0] == 0
    assert np.isnan(speeds[0, 1])


def test_ratio_to_the_fastest_keeps_relative_speed():
    assert normalised(np.array([24.0, 81.0, 100.0]), "ratio").tolist() == [0.24, 0.81, 1.0]


def test_min_max_gives_0_and_1_to_speeds_however_near():
    assert normalised(np.array([99.0, 99.5, 100.0]), "min-max").tolist() == [0.0, 0.5, 1.0]
    assert normalised(np.array([7.0, 7.0]), "min-max").tolist() == [1.0, 1.0]
    assert normalised(np.array([0.0, 0.0]), "min-max").tolist() == [0.0, 0.0]


def test_slower_than_the_ground_truth_is_not_full_speed_even_where_all_are():
    assert normalised(np.array([0.5, 0.25]), "ratio", least=1.0).tolist() == [0.5, 0.25]
    assert normalised(np.array([2.0, 1.0]), "ratio", least=1.0).tolist() == [1.0, 0.5]


@pytest.mark.parametrize("normalisation", ["ratio", "min-max"])
def test_a_source_without_a_speed_has_no_score_and_does_not_disturb_the_others(normalisation):
    scores = normalised(np.array([50.0, np.nan, 100.0]), normalisation)
    assert np.isnan(scores[1])
    assert scores[[0, 2]].tolist() == normalised(np.array([50.0, 100.0]), normalisation).tolist()


def test_all_at_speed_0_score_0():
    assert normalised(np.array([0.0, 0.0]), "ratio").tolist() == [0.0, 0.0]
