from __future__ import annotations

import pytest
from pydantic import ValidationError

from patchperf.measure.calibration import Window, beyond, counted, fastest


def test_the_fastest_solution_has_the_shortest_repetition_and_the_first_name_among_equals():
    assert fastest({"c": 0.2, "a": 0.3, "b": 0.2}) == "b"


@pytest.mark.parametrize(
    ("seconds", "position"), [(3.999, "below"), (4.0, "inside"), (8.0, "inside"), (8.001, "above"), (90.0, "above")]
)
def test_a_loop_lies_below_inside_or_above_its_window(seconds, position):
    assert Window(min_seconds=4, max_seconds=8).position(seconds) == position


def test_a_trial_takes_a_tenth_of_the_window_but_not_less_than_a_few_time_slices():
    assert Window(min_seconds=4, max_seconds=8).trial_seconds == pytest.approx(0.2)
    assert Window(min_seconds=0.05, max_seconds=0.1).trial_seconds == pytest.approx(0.02)


def test_a_window_that_doubling_can_step_over_is_refused():
    with pytest.raises(ValidationError, match="at least twice"):
        Window(min_seconds=4, max_seconds=7.9)


def test_loops_that_would_outlast_the_timeout_are_predicted_from_the_trials():
    assert beyond({"fast": 0.001, "slow": 0.2}, 4000, 600.0) == {"slow": pytest.approx(800.0)}


@pytest.mark.parametrize(
    ("seconds", "repetitions", "counted_repetitions"), [(0.01, 5000, 200), (0.01, 100, 100), (30.0, 20, 1)]
)
def test_counted_repetitions_take_two_seconds_but_are_never_more_than_n(seconds, repetitions, counted_repetitions):
    assert counted(seconds, repetitions, 2.0) == counted_repetitions
