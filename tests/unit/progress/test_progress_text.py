"""The lines that people read."""

from collections.abc import Mapping
from typing import Any

import pytest

from snakemake_logger_plugin_patchperf.events import Failed
from snakemake_logger_plugin_patchperf.progress import Overall, StageView, Step
from snakemake_logger_plugin_patchperf.stages import stage_of
from snakemake_logger_plugin_patchperf.text import (
    clock,
    duration,
    failure,
    left,
    overall_line,
    printable,
    stage_line,
    summary,
)


def view(rule: str = "measure", **changes: Any) -> StageView:
    numbers: Mapping[str, Any] = {"done": 3, "failed": 0, "running": 2, "total": 11, "left": 230.0, "seconds": 90.0}
    return StageView(stage_of(rule), **{**numbers, **changes})


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min"),
        (200, "3 min 20 s"),
        (725, "12 min"),
        (7200, "2 h"),
        (7500, "2 h 5 min"),
    ],
)
def test_a_duration_is_coarser_the_longer_it_is(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (3, "less than 10 s left"),
        (31, "about 40 s left"),
        (50, "about 1 min left"),
        (230, "about 4 min left"),
        (3650, "about 1 h left"),
        (7500, "about 2 h 5 min left"),
    ],
)
def test_an_estimate_is_rounded_up_to_what_it_can_promise(seconds: float, words: str) -> None:
    assert left(seconds) == words


def test_the_clock_counts_hours() -> None:
    assert [clock(seconds) for seconds in (9.9, 250, 36_061)] == ["0:00:09", "0:04:10", "10:01:01"]


def test_a_stage_at_work_says_how_many_of_how_many_and_how_long_still() -> None:
    assert stage_line(view(), 250) == "0:04:10  measurements   3/11 cases · 2 running · about 4 min left"


def test_a_stage_without_an_estimate_gives_none() -> None:
    assert stage_line(view(left=None, done=0), 5) == "0:00:05  measurements   0/11 cases · 2 running"


def test_a_stage_of_unknown_size_gives_what_is_done() -> None:
    assert stage_line(view(total=None, left=None), 5) == "0:00:05  measurements   3 done · 2 running"


def test_a_complete_stage_says_how_long_it_took() -> None:
    assert stage_line(view("probe", done=11, running=0, left=None), 5).endswith("11/11 instances · in 1 min 30 s")


def test_a_stage_between_jobs_waits() -> None:
    assert stage_line(view(running=0, left=None), 5).endswith("3/11 cases · waiting")


def test_failures_are_counted_first() -> None:
    assert "3/11 cases · 1 failed · 2 running" in stage_line(view(failed=1), 5)


def test_running_cases_say_how_far_they_are_a_few_of_them() -> None:
    steps = tuple((f"case-{n}", Step(n, 16)) for n in range(5))
    assert stage_line(view(steps=steps), 5).endswith("left · case-0 0 of 16 · case-1 1 of 16 · case-2 2 of 16")


def test_the_whole_run_says_which_stages_will_add_jobs() -> None:
    line = overall_line(Overall(2, 0, 14, ("cases", "corpus"), 7.0))
    assert line == "0:00:07  2/14 jobs known so far; more follow from cases, corpus"


def test_the_whole_run_is_plain_once_all_jobs_are_known() -> None:
    assert overall_line(Overall(20, 1, 40, (), 7.0)) == "0:00:07  20/40 jobs · 1 failed"


def test_the_whole_run_says_when_it_cannot_know() -> None:
    assert overall_line(Overall(0, 0, 1, None, 7.0)) == "0:00:07  0/1 job known so far"


def test_a_run_ends_with_what_it_did() -> None:
    assert summary(Overall(42, 0, 42, (), 200.0), []) == "all 42 jobs done in 3 min 20 s"


def test_a_run_with_failures_names_them_and_says_how_to_go_on() -> None:
    words = summary(Overall(30, 2, 42, ("cases",), 200.0), ["measure sympy-1", "grade sympy-2"])
    assert words == (
        "2 failed: measure sympy-1, grade sympy-2; 30 jobs of 42 done in 3 min 20 s; the same command continues"
    )


def test_of_many_failures_the_first_ten_are_named() -> None:
    words = summary(Overall(0, 12, 12, (), 1.0), [f"grade {n}" for n in range(12)])
    assert "grade 9, …" in words
    assert "grade 10" not in words


def test_an_interrupted_run_says_so() -> None:
    words = summary(Overall(1, 0, 42, (), 5.0), [], interrupted=True)
    assert words == "interrupted; 1 job of 42 done in 5 s; the same command continues"


def test_a_failure_gives_rule_wildcards_command_log_and_its_last_lines() -> None:
    failed = Failed(7, "measure", ("results/a.log",), "cat missing", {"external_jobid": "12"})
    assert failure(failed, {"instance": "a"}, {"/study/results/a.log": ["one", "KeyError: two"]}).splitlines() == [
        "error: measure failed for instance=a",
        "  external_jobid: 12",
        "  command: cat missing",
        "  log: /study/results/a.log",
        "    | one",
        "    | KeyError: two",
    ]


def test_a_failure_whose_log_ends_with_the_reason_is_that_one_line_and_where_the_log_is() -> None:
    failed = Failed(7, "measure", ("results/a.log",))
    assert failure(failed, {"instance": "a"}, {"/study/results/a.log": ["one", "error: disk \x1b[2J full"]}) == (
        "error: measure a: disk \ufffd[2J full\n  log: /study/results/a.log"
    )


def test_a_log_cannot_steer_the_terminal() -> None:
    assert printable("a\tb\x1b[2J\x07ü") == "a       b\ufffd[2J\ufffdü"
