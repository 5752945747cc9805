"""From events to each stage's numbers."""

import pytest

from snakemake_logger_plugin_patchperf.events import Failed, Finished, Interrupted, Planned, Started
from snakemake_logger_plugin_patchperf.progress import Progress, StageView, Step


def measure(job: int, instance: str = "a") -> Started:
    return Started(job, "measure", {"instance": instance}, (f"logs/{instance}.log",))


def run(*events: tuple[float, object]) -> Progress:
    progress = Progress(start=100.0)
    for seconds, event in events:
        progress.apply(event, 100.0 + seconds)  # type: ignore[arg-type]
    return progress


def only(progress: Progress, seconds: float, **steps: Step) -> StageView:
    (view,) = progress.stages(100.0 + seconds, {int(job[1:]): step for job, step in steps.items()})
    return view


def test_a_stage_appears_when_its_first_job_starts() -> None:
    progress = run((0, Planned({"measure": 3, "probe": 2})))
    assert progress.stages(100.0) == []
    progress.apply(measure(7), 101.0)
    assert [view.stage.name for view in progress.stages(101.0)] == ["measurements"]


def test_a_stage_counts_done_running_and_planned_jobs() -> None:
    view = only(run((0, Planned({"measure": 4})), (0, measure(1)), (0, measure(2)), (10, Finished(1))), 12)
    assert (view.done, view.running, view.total, view.failed) == (1, 1, 4, 0)
    assert not view.complete


def test_the_estimate_comes_from_the_stage_s_own_finished_jobs() -> None:
    other = Started(9, "probe", {"instance": "a"})
    progress = run(
        (0, Planned({"measure": 3, "probe": 1})), (0, other), (1000, Finished(9)),
        (1000, measure(1)), (1010, Finished(1)), (1010, measure(2)),
    )  # fmt: skip
    measuring = progress.stages(1110.0 + 4)[1]
    assert measuring.left == pytest.approx(6 + 10)


def test_totals_grow_when_a_checkpoint_has_made_more_jobs_known() -> None:
    progress = run((0, Planned({"probe": 2}, ("cases",))), (0, Started(1, "probe")), (1, Planned({"probe": 5})))
    assert only(progress, 1).total == 5


def test_a_stage_whose_number_of_jobs_is_not_known_has_no_total() -> None:
    assert only(run((0, Planned({"probe": 2})), (0, measure(1)), (3, Finished(1)), (3, measure(2))), 4).total is None


def test_more_jobs_than_planned_raise_the_total() -> None:
    progress = run((0, Planned({"measure": 1})), (0, measure(1)), (0, measure(2)))
    assert only(progress, 0).total == 2


def test_rules_of_one_family_are_one_stage() -> None:
    progress = run(
        (0, Planned({"noise_figure": 1, "ratios_figure": 1})), (0, Started(1, "noise_figure")), (1, Finished(1))
    )
    view = only(progress, 1)
    assert (view.stage.name, view.done, view.total) == ("figures", 1, 2)


def test_a_failed_job_is_counted_apart_and_a_retry_takes_it_back() -> None:
    progress = run((0, Planned({"measure": 1})), (0, measure(1)), (5, Failed(1, "measure")))
    view = only(progress, 9)
    assert (view.done, view.failed, view.running, view.complete, view.seconds) == (0, 1, 0, True, 5)
    progress.apply(measure(1), 110.0)
    view = only(progress, 12)
    assert (view.failed, view.running, view.complete) == (0, 1, False)


def test_jobs_that_end_with_an_interrupted_run_have_not_failed() -> None:
    progress = run((0, Planned({"measure": 2})), (0, measure(1)), (5, Interrupted()), (5, Failed(1, "measure")))
    view = only(progress, 6)
    assert (view.failed, view.running, view.complete) == (0, 0, False)
    assert progress.failed == {}


def test_a_rule_that_only_collects_is_no_stage_and_no_work() -> None:
    progress = run((0, Planned({"all": 1, "measure": 1})), (0, measure(1)), (1, Finished(1)))
    progress.apply(Started(0, "all", has_products=False), 102.0)
    progress.apply(Finished(0), 102.0)
    assert [view.stage.name for view in progress.stages(103.0)] == ["measurements"]
    overall = progress.overall(103.0)
    assert (overall.done, overall.total, overall.seconds) == (1, 1, 3)


def test_a_running_job_tells_how_far_it_is() -> None:
    progress = run((0, Planned({"measure": 1})), (0, measure(4, "sympy-1")))
    view = only(progress, 30, j4=Step(5, 20))
    assert view.steps == (("sympy-1", Step(5, 20)),)
    assert view.left == pytest.approx(90.0)


def test_a_step_of_nothing_is_ignored() -> None:
    view = only(run((0, Planned({"measure": 1})), (0, measure(4))), 30, j4=Step(0, 0))
    assert (view.steps, view.left) == ((), None)


def test_the_whole_run_names_the_checkpoints_that_will_add_jobs() -> None:
    overall = run((0, Planned({"instances": 1, "corpus": 1}, ("corpus", "instances")))).overall(104.0)
    assert (overall.done, overall.total, overall.open_checkpoints) == (0, 2, ("corpus", "instances"))


def test_wildcards_of_a_started_job_can_be_asked_for_later() -> None:
    progress = run((0, measure(4, "sympy-1")), (1, Finished(4)))
    assert progress.wildcards(4) == {"instance": "sympy-1"}
    assert progress.wildcards(5) == {}
