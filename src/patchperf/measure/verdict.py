"""Whether a finished process gave a value that may be used: a pure decision over what came back."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from patchperf.counters.protocol import Counter, Region
from patchperf.counters.readings import loop_count
from patchperf.measure.self_report import Mode, Process, SelfReport, parse_report, process_of
from patchperf.sandbox.protocol import Completed


@dataclass(frozen=True)
class Promise:
    """What a process was told to do and under which conditions.

    ``repetitions`` is None where the process finds them itself, ``counter`` None where nothing is counted.
    ``like`` is the report of the round's first solution, None for that one: all others find what it found.
    ``processes`` are those already seen in the case.
    """

    mode: Mode
    token: str
    warmup: int
    hash_seed: int
    repetitions: int | None = None
    counter: Counter | None = None
    like: SelfReport | None = None
    processes: Collection[Process] = frozenset()


def judge(
    promise: Promise,
    completed: Completed,
    results: Sequence[Mapping[str, Any]],
    *,
    pid: int | None,
    not_passed: str | None,
    regions: Sequence[Region] | None = None,
) -> tuple[SelfReport | None, str | None]:
    """The report, if there is exactly one, and why the run is void, ``code: detail``; None if it counts.

    ``pid`` is this host's number of the process that reported, ``not_passed`` what the test's runner reported instead
    of exactly one passed test. ``regions`` are those that a simulator counted: the report then has their reading.
    """
    report = parse_report(results[0]) if len(results) == 1 else None
    if regions is not None and isinstance(report, SelfReport) and report.counter is not None:
        repetitions = [count for count, _ in report.steps]
        report = report.model_copy(update={"counter": loop_count(report.counter, regions, repetitions)})
    kept = report if isinstance(report, SelfReport) else None
    if completed.ended != "exit":
        return kept, f"{completed.ended}: stopped after {completed.seconds:.1f} s"
    if not results:
        return kept, f"no-result: exit code {completed.exit_code}, the test was not called or its process died"
    if len(results) > 1:
        return kept, f"several-results: the test was called {len(results)} times"
    if not isinstance(report, SelfReport):
        failed = results[0].get("failed")
        told = failed.get("error") if isinstance(failed, dict) and "format" not in results[0] else report
        return kept, f"unreadable-result: {told}"
    return report, next(_broken(promise, report, completed, pid, not_passed), None)


def _broken(
    promise: Promise, report: SelfReport, completed: Completed, pid: int | None, not_passed: str | None
) -> Iterator[str]:
    if report.failed is not None:
        kind = "skipped" if report.failed.skipped else "test-failed"
        yield f"{kind}: call {report.failed.call} ({report.failed.stage}): {report.failed.error}"
    if not_passed is not None:
        yield f"not-passed: {not_passed}"
    if completed.exit_code != 0:
        yield f"exit-code: {completed.exit_code}"
    yield from _different(
        ("mode", promise.mode, report.mode),
        ("token", promise.token, report.token),
        ("warm-up", promise.warmup, report.warmup),
        ("repetitions", promise.repetitions, report.repetitions),
        ("hash-seed", str(promise.hash_seed), report.hash_seed),
    )
    if report.wall_ns is None or (promise.mode == "trial" and report.seconds_per_repetition is None):
        yield "incomplete-report: the loop's time is missing"
    if process_of(report, pid) in promise.processes:
        yield f"process-seen-before: pid {pid or report.pid} gave another value of this case"
    if promise.counter is not None:
        problem = promise.counter.distrust(report.counter) if report.counter else "counter-unreadable: no reading"
        if problem is not None:
            yield problem
    if promise.like is not None:
        like = promise.like
        yield from _different(
            ("environment", like.environment, report.environment),
            ("arguments", like.arguments, report.arguments),
            ("address-randomization", like.address_randomization, report.address_randomization),
            ("python", like.python, report.python),
        )


def _different(*conditions: tuple[str, object, object]) -> Iterator[str]:
    """Of conditions, each with what was promised and what was seen, those that were promised and not kept."""
    for what, promised, seen in conditions:
        if promised is not None and promised != seen:
            yield f"wrong-{what}: {seen} instead of {promised}"
