"""How long a stage will still take."""

import pytest

from snakemake_logger_plugin_patchperf.estimate import Underway, seconds_left


def test_without_a_finished_job_or_a_word_from_a_running_one_there_is_no_estimate() -> None:
    assert seconds_left(0, 0.0, [Underway(50.0)], waiting=3) is None


def test_without_a_running_job_there_is_no_estimate() -> None:
    assert seconds_left(4, 40.0, [], waiting=3) is None


def test_jobs_one_after_another_take_what_finished_ones_took_on_average() -> None:
    # 10 s each; the running one has 6 s to go, then three more
    assert seconds_left(2, 20.0, [Underway(4.0)], waiting=3) == pytest.approx(36.0)


def test_waiting_jobs_are_shared_among_the_places_taken_now() -> None:
    # two places, 6 s and 10 s to go, two more jobs of 10 s: (6 + 10 + 20) / 2
    assert seconds_left(2, 20.0, [Underway(4.0), Underway(0.0)], waiting=2) == pytest.approx(18.0)


def test_the_stage_does_not_end_before_its_slowest_running_job() -> None:
    # 0 s and 10 s to go, nothing waits
    assert seconds_left(1, 10.0, [Underway(10.0), Underway(0.0)], waiting=0) == pytest.approx(10.0)


def test_a_job_that_outlasts_the_average_counts_as_about_to_end() -> None:
    assert seconds_left(1, 10.0, [Underway(25.0)], waiting=1) == pytest.approx(10.0)


def test_before_a_job_has_finished_a_running_one_that_tells_its_part_is_gone_by() -> None:
    # a quarter in 30 s: 120 s in all, so 90 s to go and 120 s for the one that waits
    assert seconds_left(0, 0.0, [Underway(30.0, 0.25)], waiting=1) == pytest.approx(210.0)


def test_what_a_running_job_says_of_itself_outweighs_the_average() -> None:
    assert seconds_left(3, 30.0, [Underway(30.0, 0.5)], waiting=0) == pytest.approx(30.0)


def test_a_job_that_has_done_nothing_yet_says_nothing() -> None:
    assert seconds_left(0, 0.0, [Underway(5.0, 0.0)], waiting=0) is None
