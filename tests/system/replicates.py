"""Replicates that ran somewhere else: what they are told, and what this side makes of what they printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from patchperf.counters.preflight import COUNTERS
from patchperf.counters.protocol import Backend, Region
from patchperf.measure.self_report import SelfReport
from patchperf.measure.verdict import Promise, judge
from patchperf.sandbox.protocol import Completed

WARMUP = 2


def replicate_spec(token: str, repetitions: int, counter: Backend) -> dict[str, Any]:
    """The spec of one replicate but for where its record goes."""
    return {"mode": "replicate", "warmup": WARMUP, "repetitions": repetitions, "counter": counter, "token": token}


def judged(
    spec: Mapping[str, Any],
    completed: Completed,
    results: Sequence[Mapping[str, Any]],
    regions: Sequence[Region] | None = None,
) -> tuple[SelfReport, str | None]:
    """The report of a replicate and why it is void, as measuring judges it: None if it counts."""
    counter = COUNTERS[spec["counter"]]
    promise = Promise("replicate", spec["token"], spec["warmup"], 0, repetitions=spec["repetitions"], counter=counter)
    report, problem = judge(promise, completed, results, pid=None, not_passed=None, regions=regions)
    assert report is not None, (problem, completed.output)
    return report, problem


def instructions(report: SelfReport, problem: str | None) -> int:
    """The count of a good replicate."""
    assert problem is None, problem
    assert report.counter is not None
    assert report.counter.value is not None
    return report.counter.value
