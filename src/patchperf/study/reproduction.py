"""Does the ground truth pass its own tests here, every time, under the benchmark's native command?"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from patchperf.sandbox.protocol import Completed
from patchperf.study import logs, runs
from patchperf.study.commands import suite_command
from patchperf.study.derivation import Underivable
from patchperf.study.grading import OTHER, Grade, grade
from patchperf.study.identifiers import runner_of
from patchperf.study.instance import Instance
from patchperf.study.reused_tree import ReusedTree
from patchperf.study.runs import Run
from patchperf.study.summaries import summary_conflict
from patchperf.study.workbench import BrokenInstance, Workbench

TESTS_IN_EVIDENCE = 3


class Reproduction(BaseModel):
    """The ground truth's runs under the native command.

    ``reason`` is empty when every fail-to-pass test passed in every run. ``f2p`` has the status of each of these tests
    in each run, in the order of ``runs``. ``unreproduced`` are pass-to-pass tests that the ground truth itself does not
    pass in every run on this machine: no candidate is charged with them. ``unreproduced_in_other`` are those in the
    benchmarks' other dialect. ``one_summary`` is whether each run has printed its runner's summary once, and agrees
    with it: then candidates are held to that.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    instance_id: str
    spec: str
    reason: str
    evidence: str
    f2p: dict[str, tuple[str, ...]] = {}
    unreproduced: tuple[str, ...]
    runs: tuple[Run, ...]
    confinement: str
    unreproduced_in_other: tuple[str, ...] = ()
    one_summary: bool = False

    @property
    def stable(self) -> bool:
        """Whether the ground truth can be relied on."""
        return not self.reason


class Trial(NamedTuple):
    """One run of the native command and its grade; ``broken`` says in one line why it proves nothing of the tests.

    ``other`` is its grade in the other dialect, ``conflict`` what its summary has against its results.
    """

    run: Run
    grade: Grade
    broken: str | None
    other: Grade
    conflict: str


def reproduce(bench: Workbench, spec: str) -> Reproduction:
    """Run the native command on base + ground truth + tests, each time with another hash seed and a clean tree.

    The first run that is stopped, or that our own machinery breaks, is the last.
    """
    verdict = functools.partial(
        Reproduction, instance_id=bench.instance.instance_id, spec=spec, confinement=bench.sandbox.confinement
    )
    without_runs = functools.partial(verdict, unreproduced=(), runs=())
    if not bench.instance.fail_to_pass:
        return without_runs(reason="no-f2p-test", evidence="the row names no fail-to-pass test")
    unread = logs.unknown_parser(bench.instance)
    if unread is not None:
        return without_runs(reason="unknown-log-parser", evidence=unread)
    try:
        fixed = ReusedTree(bench, "ground-truth", bench.instance.patch)
        shell = suite_command(bench.instance, fixed.path, bench.executables)
    except BrokenInstance as error:
        return without_runs(reason=error.reason, evidence=error.detail)
    except Underivable as error:
        return without_runs(reason="cannot-derive", evidence=str(error))
    missing = bench.missing_program(shell, fixed.path)
    if missing is not None:
        return without_runs(reason="infrastructure", evidence=missing)
    trials: list[Trial] = []
    for seed in range(1, bench.config.reproductions + 1):
        done = bench.run(shell, fixed.fresh(), timeout=bench.config.timeouts.suite, hash_seed=seed)
        tests_run = _tests_run(done, bench.instance)
        run = runs.record(f"ground truth, native command, hash seed {seed}", shell, done, tests_run)
        trials.append(assess(bench.instance, run, done))
        if trials[-1].broken is not None or done.ended != "exit":
            break
    reason, evidence = judge(trials)
    return verdict(
        reason=reason,
        evidence=evidence,
        f2p=f2p_statuses(trials),
        unreproduced=unreproduced(trial.grade for trial in trials),
        runs=tuple(trial.run for trial in trials),
        unreproduced_in_other=unreproduced(trial.other for trial in trials),
        one_summary=not any(trial.conflict for trial in trials),
    )


def assess(instance: Instance, run: Run, done: Completed) -> Trial:
    """The trial that a run was: its grade, and whether it says anything of the tests."""
    statuses = logs.parse_log(done.output, instance)
    graded = grade(instance, statuses, done.exit_code, done.ended)
    other = grade(instance, statuses, done.exit_code, done.ended, dialect=OTHER[instance.dialect])
    broken = runs.infrastructure_failure(done, reported=bool(statuses) or run.tests_run is not None)
    if broken is None and graded.f2p_passed < graded.f2p_total and done.ended == "exit":
        broken = runs.exhausted(done.output)
    return Trial(run, graded, broken, other, summary_conflict(done.output, statuses, instance))


def judge(trials: Sequence[Trial]) -> tuple[str, str]:
    """Reason code ("" for reproduced) and one line of evidence, from the runs in their order."""
    for trial in trials:
        if trial.broken is not None:
            return "infrastructure", f"{trial.run.summary}: {trial.broken}"
        if trial.run.ended == "timeout":
            return "ground-truth-timeout", trial.run.summary
        if trial.grade.invalid:
            return "no-test-report", f"{trial.run.what}: {trial.grade.invalid}"
    passes = {test: [trial.grade.f2p_held[test] for trial in trials] for test in trials[0].grade.f2p}
    evidence = f"{_told(trials, passes)}; runs ended: {', '.join(trial.run.end for trial in trials)}"
    if all(map(all, passes.values())):
        return "", evidence
    return ("ground-truth-flaky" if all(map(any, passes.values())) else "ground-truth-fails"), evidence


def f2p_statuses(trials: Sequence[Trial]) -> dict[str, tuple[str, ...]]:
    """The status of each F2P test in each run."""
    return {test: tuple(trial.grade.f2p[test] for trial in trials) for test in trials[0].grade.f2p}


def unreproduced(grades: Iterable[Grade]) -> tuple[str, ...]:
    """P2P tests that did not hold in at least one of the ground truth's runs."""
    return tuple(sorted({test for result in grades for test, held in result.p2p_held.items() if not held}))


def _told(trials: Sequence[Trial], passes: Mapping[str, Sequence[bool]]) -> str:
    """Which F2P test had which status in which run, the ones that did not always pass first."""
    statuses = f2p_statuses(trials)
    tests = sorted(statuses, key=lambda test: all(passes[test]))
    told = [f"{test}: {_in_runs(statuses[test])}" for test in tests[:TESTS_IN_EVIDENCE]]
    more = len(tests) - len(told)
    return "; ".join([*told, f"{more} more F2P tests"] if more else told)


def _in_runs(statuses: Sequence[str]) -> str:
    """For example "PASSED in runs 1, 3, FAILED in run 2"."""
    parts = []
    for status in dict.fromkeys(statuses):
        numbers = [str(number) for number, one in enumerate(statuses, 1) if one == status]
        parts.append(f"{status} in run{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}")
    return ", ".join(parts)


def _tests_run(done: Completed, instance: Instance) -> int | None:
    try:
        return logs.tests_run(done.output, runner_of(instance))
    except Underivable:
        return None
