from __future__ import annotations

import pytest

from patchperf.counters.perf import Perf
from patchperf.counters.protocol import Count
from patchperf.measure.self_report import Failure
from patchperf.measure.verdict import Promise, judge
from patchperf.sandbox.protocol import Completed

FAILURE = Failure(
    stage="warmup", call=2, call_of_stage=2, type="ValueError", text="no", error="ValueError: no", skipped=False
)


def completed(exit_code=0, ended="exit"):
    return Completed(exit_code=exit_code, ended=ended, output="", seconds=1.0)


@pytest.fixture
def verdict(make_report):
    def give(done=None, *, results=None, not_passed=None, pid=11, processes=frozenset(), **reported):
        promise = Promise(
            mode="replicate",
            token="token",
            warmup=2,
            hash_seed=0,
            repetitions=10,
            counter=Perf(),
            like=make_report(),
            processes=processes,
        )
        lines = [make_report(**reported).model_dump()] if results is None else results
        return judge(promise, done or completed(), lines, pid=pid, not_passed=not_passed)

    return give


def test_a_run_that_keeps_every_promise_counts(verdict, make_report):
    assert verdict() == (make_report(), None)


@pytest.mark.parametrize(
    ("reported", "reason"),
    [
        ({"failed": FAILURE}, "test-failed: call 2 (warmup): ValueError: no"),
        ({"failed": FAILURE.model_copy(update={"skipped": True})}, "skipped: call 2 (warmup): ValueError: no"),
        ({"repetitions": 9}, "wrong-repetitions: 9 instead of 10"),
        ({"warmup": 1}, "wrong-warm-up: 1 instead of 2"),
        ({"mode": "trial"}, "wrong-mode: trial instead of replicate"),
        ({"token": None}, "wrong-token: None instead of token"),
        ({"hash_seed": None}, "wrong-hash-seed: None instead of 0"),
        ({"environment_bytes": 901}, "wrong-environment: 901 bytes (CRC-32 77) instead of 900 bytes (CRC-32 77)"),
        ({"environment_crc32": 5}, "wrong-environment: 900 bytes (CRC-32 5) instead of 900 bytes (CRC-32 77)"),
        ({"arguments_bytes": 41}, "wrong-arguments: 41 bytes (CRC-32 88) instead of 40 bytes (CRC-32 88)"),
        ({"arguments_crc32": 6}, "wrong-arguments: 40 bytes (CRC-32 6) instead of 40 bytes (CRC-32 88)"),
        ({"address_randomization": "0"}, "wrong-address-randomization: 0 instead of 2"),
        ({"python": "3.9.19"}, "wrong-python: 3.9.19 instead of 3.9.18"),
        ({"wall_ns": None}, "incomplete-report: the loop's time is missing"),
        ({"counter": None}, "counter-unreadable: no reading"),
        (
            {"counter": Count(backend="perf", value=5, time_enabled_ns=9, time_running_ns=4, events=1, problem=None)},
            "counter-multiplexed: running 4 of 9 ns enabled",
        ),
    ],
)
def test_a_broken_promise_voids_the_run_and_is_named(verdict, reported, reason):
    report, why = verdict(**reported)
    assert why == reason
    assert report is not None


@pytest.mark.parametrize(
    ("done", "reason"),
    [
        (completed(-9, "timeout"), "timeout: stopped after 1.0 s"),
        (completed(-9, "memory"), "memory: stopped after 1.0 s"),
        (completed(3), "exit-code: 3"),
    ],
)
def test_a_process_that_did_not_end_well_is_void(verdict, done, reason):
    assert verdict(done)[1] == reason


def test_a_runner_that_did_not_report_one_passed_test_voids_the_run(verdict):
    assert verdict(not_passed="the runner reports 2 tests")[1] == "not-passed: the runner reports 2 tests"


def test_no_result_and_several_results_are_void(verdict, make_report):
    line = make_report().model_dump()
    assert verdict(completed(5), results=[])[1] == (
        "no-result: exit code 5, the test was not called or its process died"
    )
    assert verdict(results=[line, line])[1] == "several-results: the test was called 2 times"


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (
            {"failed": {"error": "unreadable result file: no JSON"}},
            "unreadable-result: unreadable result file: no JSON",
        ),
        ({"format": 2}, "unreadable-result: format: Input should be 1"),
    ],
)
def test_a_line_that_is_no_report_is_void(verdict, result, reason):
    report, why = verdict(results=[result])
    assert (report, why) == (None, reason)


def test_a_process_seen_before_is_void_by_the_hosts_number_or_else_by_its_own_and_its_start(verdict):
    assert verdict(processes={11})[1] == "process-seen-before: pid 11 gave another value of this case"
    assert verdict(pid=None, processes={(3, 100)})[1] == "process-seen-before: pid 3 gave another value of this case"
    assert verdict(pid=None, processes={(3, 99), 11})[1] is None
