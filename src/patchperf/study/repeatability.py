"""Does the test repeat within one process? The classes of instances that fail the filter, and the rule on the calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from patchperf.measure.self_report import Failure
from patchperf.study.runs import plain
from patchperf.study.single_point import Report
from patchperf.study.witness import Account

RepeatabilityClass = Literal["not reproducible", "not a single point", "not repeatable in process"]

CLASSES: dict[str, RepeatabilityClass] = {
    **dict.fromkeys(
        (
            "ground-truth-not-applied",
            "tests-not-applied",
            "install-failed",
            "ground-truth-fails",
            "ground-truth-flaky",
            "ground-truth-timeout",
            "no-test-report",
            "unknown-log-parser",
            "infrastructure",
        ),
        "not reproducible",
    ),
    **dict.fromkeys(
        (
            "cannot-derive",
            "not-single-point",
            "single-point-stopped",
            "depends-on-other-tests",
            "base-passes",
            "not-wrapped",
            "watched",
        ),
        "not a single point",
    ),
    **dict.fromkeys(
        ("not-repeatable", "called-several-times", "probe-stopped", "no-window"), "not repeatable in process"
    ),
}
"""Class of each reason code of the stage "repeatability"."""


class Calls(NamedTuple):
    """The verdict on the calls of the decorated test: ``reason`` empty if all passed, else one of ``CLASSES``."""

    reason: str
    evidence: str


def judge_calls(accounts: Sequence[Account | str], report: Report, calls: int, begun: int) -> Calls:
    """The rule, from what the process told of each invocation of the test, and from its runner's report.

    ``calls`` are those to be made, ``begun`` those that were begun.

    A failure of the first call is the decorator's doing, since the test passes without it; that of a later call is
    the test's. A test that the runner calls again after a failure is judged by that failure.
    """
    first = accounts[0] if accounts else "none, the decorated function was not called"
    if isinstance(first, Account) and first.report.failed is not None:
        return _judge_failure(first.report.failed, len(accounts), report, calls)
    reached = f"in or after call {min(begun, calls)} of {calls}"
    if report.kind == "stopped":
        return Calls("probe-stopped", f"{report.text} {reached}")
    if not accounts and begun > 1:
        ended = report.text or "the runner reports that one test passed"
        return Calls("not-repeatable", f"the process left no record: it ended {reached}; {ended}")
    if isinstance(first, str):
        return Calls("not-wrapped", f"result: {first}; {report.text or 'the runner reports that one test passed'}")
    if len(accounts) > 1:
        return Calls("called-several-times", _several(len(accounts)))
    return _judge_rest(report, calls)


def _judge_failure(failed: Failure, invocations: int, report: Report, calls: int) -> Calls:
    which = f"call {failed.call} of {calls}: {plain(failed.error)}"
    if failed.stage == "watched" and failed.call > 0:
        return Calls("not-repeatable", f"after call {failed.call} of {calls}, {failed.text}")
    if failed.stage in _REFUSED:
        return Calls(_REFUSED[failed.stage], failed.text)
    if failed.call > 1:
        return Calls("not-repeatable", which)
    if invocations > 1:
        return Calls("called-several-times", f"{_several(invocations)}; {which}")
    if report.kind == "passed":
        return Calls("not-repeatable", f"the test is expected to fail, which ends the loop: {which}")
    return Calls("not-wrapped", f"passes undecorated only: {which}")


def _judge_rest(report: Report, calls: int) -> Calls:
    if report.kind == "not one":
        return Calls("not-wrapped", f"decorated, {report.text}")
    if report.kind == "failed":
        return Calls("not-repeatable", f"all {calls} calls passed, and yet {report.text}")
    return Calls("", f"{calls} calls passed")


def _several(invocations: int) -> str:
    return f"the function was called {invocations} times for one test"


_REFUSED = {"refused": "not-wrapped", "several": "called-several-times", "watched": "watched"}
