from __future__ import annotations

import pytest

from patchperf.study.grading import Grade
from patchperf.study.reproduction import judge, unreproduced
from patchperf.study.runs import Run


def grade(f2p: bool, p2p: dict[str, bool] | None = None, invalid: str = "") -> Grade:
    held = p2p or {}
    return Grade(
        dialect="swe-bench",
        f2p={"test_fix": "PASSED" if f2p else "FAILED"},
        p2p={test: "PASSED" if ok else "FAILED" for test, ok in held.items()},
        f2p_held={"test_fix": f2p},
        p2p_held=held,
        invalid=invalid,
    )


def run(number: int, ended: str = "exit") -> Run:
    return Run(what=f"run {number}", command="pytest", ended=ended, exit_code=0, seconds=1.0)


@pytest.mark.parametrize(
    ("passes", "reason"),
    [
        ((True, True, True), ""),
        ((True, False, True), "ground-truth-flaky"),
        ((False, False, False), "ground-truth-fails"),
    ],
)
def test_the_ground_truth_has_to_pass_every_time(passes: tuple[bool, ...], reason: str) -> None:
    found, evidence = judge([grade(ok) for ok in passes], [run(number) for number in range(len(passes))])
    assert found == reason
    assert evidence.endswith(", ".join(str(int(ok)) for ok in passes))


def test_a_time_out_is_told_from_a_failing_test() -> None:
    reason, evidence = judge([grade(False)], [run(1, ended="timeout")])
    assert reason == "ground-truth-timeout"
    assert "run 1" in evidence


def test_a_log_that_proves_nothing_is_no_failing_test() -> None:
    reason, _ = judge([grade(False, invalid="no test in the log")], [run(1)])
    assert reason == "no-test-report"


def test_a_p2p_test_that_failed_once_is_charged_to_nobody() -> None:
    grades = [grade(True, {"a": True, "b": True}), grade(True, {"a": False, "b": True})]
    assert unreproduced(grades) == ("a",)
