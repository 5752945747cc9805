"""Which stages get a line, and when."""

from typing import Any

from snakemake_logger_plugin_patchperf.pace import Pace
from snakemake_logger_plugin_patchperf.progress import StageView
from snakemake_logger_plugin_patchperf.stages import Stage


def view(**changes: Any) -> StageView:
    numbers = {"done": 0, "failed": 0, "running": 1, "total": 9, "left": None, "seconds": 0.0}
    return StageView(Stage("probes"), **{**numbers, **changes})


def told(pace: Pace, one: StageView, now: float) -> bool:
    return pace.due([one], now) == [one]


def test_a_stage_that_begins_is_told_at_once() -> None:
    assert told(Pace(5), view(), 0)


def test_the_same_numbers_are_told_again_only_after_half_a_minute() -> None:
    pace = Pace(5)
    pace.due([view()], 0)
    assert [told(pace, view(left=float(now)), now) for now in (1, 6, 29, 30, 31)] == [False, False, False, True, False]


def test_new_numbers_wait_for_the_interval() -> None:
    pace = Pace(5)
    pace.due([view()], 0)
    assert [told(pace, view(done=now), now) for now in (1, 4, 5, 6, 10)] == [False, False, True, False, True]


def test_a_complete_stage_is_told_at_once_and_once() -> None:
    pace = Pace(5)
    pace.due([view()], 0)
    complete = view(done=9, running=0)
    assert [told(pace, complete, now) for now in (1, 2, 60)] == [True, False, False]


def test_a_single_job_is_told_when_done_or_when_it_takes_long() -> None:
    pace = Pace(5)
    assert not told(pace, view(total=1, seconds=1.0), 1)
    assert told(pace, view(total=1, seconds=5.0), 5)
    assert told(Pace(5), view(total=1, done=1, running=0, seconds=1.0), 1)


def test_a_stage_that_grows_after_it_was_complete_is_told_again() -> None:
    pace = Pace(5)
    pace.due([view(done=9, running=0)], 0)
    assert told(pace, view(done=9, running=1, total=12), 5)
    assert told(pace, view(done=12, running=0, total=12), 6)
