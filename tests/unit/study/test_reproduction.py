from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from small_benches import make_bench
from small_instances import make_instance, new_file

from patchperf.sandbox.protocol import Completed
from patchperf.study.commands import ShellCommand
from patchperf.study.grading import Grade
from patchperf.study.repeatability import CLASSES
from patchperf.study.reproduction import Trial, assess, f2p_statuses, judge, reproduce, unreproduced
from patchperf.study.runs import Run, record


def grade(f2p: bool | dict[str, bool], p2p: dict[str, bool] | None = None, invalid: str = "") -> Grade:
    tests = f2p if isinstance(f2p, dict) else {"test_fix": f2p}
    held = p2p or {}
    return Grade(
        dialect="swe-bench",
        f2p={test: "PASSED" if ok else "FAILED" for test, ok in tests.items()},
        p2p={test: "PASSED" if ok else "FAILED" for test, ok in held.items()},
        f2p_held=tests,
        p2p_held=held,
        invalid=invalid,
    )


def trials(*grades: Grade, ended: str = "exit", broken: str | None = None) -> list[Trial]:
    codes = [0 if all(one.f2p_held.values()) else 1 for one in grades]
    runs = [
        Run(what=f"run {number}", command="pytest", ended=ended, exit_code=code, seconds=1.0)
        for number, code in enumerate(codes, 1)
    ]
    return [Trial(run, one, broken, one, "") for run, one in zip(runs, grades, strict=True)]


@pytest.mark.parametrize(
    ("passes", "reason", "said"),
    [
        ((True, True, True), "", "PASSED in runs 1, 2, 3; runs ended: exit code 0, exit code 0, exit code 0"),
        (
            (True, False, True),
            "ground-truth-flaky",
            "PASSED in runs 1, 3, FAILED in run 2; runs ended: exit code 0, exit code 1, exit code 0",
        ),
        ((False, False), "ground-truth-fails", "FAILED in runs 1, 2; runs ended: exit code 1, exit code 1"),
    ],
)
def test_the_ground_truth_has_to_pass_every_time(passes: tuple[bool, ...], reason: str, said: str) -> None:
    assert judge(trials(*map(grade, passes))) == (reason, f"test_fix: {said}")


@pytest.mark.parametrize(
    ("runs", "reason"),
    [
        ([{"a": True, "b": False}, {"a": False, "b": True}], "ground-truth-flaky"),
        ([{"a": True, "b": False}, {"a": False, "b": False}], "ground-truth-fails"),
    ],
)
def test_of_several_tests_it_is_one_that_never_passes_that_makes_the_ground_truth_fail(
    runs: list[dict[str, bool]], reason: str
) -> None:
    assert judge(trials(*map(grade, runs)))[0] == reason


def test_the_evidence_names_first_what_did_not_pass_and_says_how_much_it_leaves_out() -> None:
    tests = {f"test_{letter}": letter != "e" for letter in "abcde"}
    found = trials(grade(tests), grade(tests))
    assert judge(found)[1].startswith("test_e: FAILED in runs 1, 2; test_a: PASSED in runs 1, 2; test_b: ")
    assert "; 2 more F2P tests; runs ended: " in judge(found)[1]
    assert f2p_statuses(found)["test_e"] == ("FAILED", "FAILED")


def test_a_time_out_is_told_from_a_failing_test() -> None:
    reason, evidence = judge(trials(grade(False), ended="timeout"))
    assert reason == "ground-truth-timeout"
    assert "run 1" in evidence


def test_a_log_that_proves_nothing_is_no_failing_test() -> None:
    assert judge(trials(grade(False, invalid="no test in the log")))[0] == "no-test-report"


def test_what_our_own_machinery_broke_is_no_failing_test() -> None:
    reason, evidence = judge(trials(grade(False), broken="killed by SIGKILL"))
    assert reason == "infrastructure"
    assert evidence == "run 1: exit code 1 after 1.0 s: killed by SIGKILL"


@pytest.mark.parametrize(
    ("output", "exit_code", "ended", "broken"),
    [
        ("PASSED tests/test_a.py::test_x\n1 passed in 0.1s", 0, "exit", None),
        ("FAILED tests/test_a.py::test_x\n1 failed in 0.1s", 1, "exit", None),
        ("PASSED tests/test_a.py::test_x\n", -9, "memory", "the limit on memory was passed"),
        ("", -9, "processes", "the limit on processes was passed"),
        ("x" * 300, -9, "output", "the limit on output was passed"),
        ("", -9, "timeout", None),
        ("collecting ...", -9, "exit", "killed by SIGKILL"),
        ("env: 'python3.4': No such file or directory\n", 127, "exit", "could not be started (exit code 127): env: "),
        ("/bin/python: No module named pytest\n", 1, "exit", "before its report (exit code 1): /bin/python: No module"),
        ("ImportError while loading conftest\nE   No module named 'six'\n\n", 4, "exit", "E   No module named 'six'"),
        ("\x1b[31mno module\x1b[0m\r\n \n", 3, "exit", "(exit code 3): no module"),
        ("", -11, "exit", "ended before its report (exit code -11): no output"),
        ("no tests ran in 0.01s", 5, "exit", None),
        ("nothing that is known", 0, "exit", None),
        ("E   MemoryError\nFAILED tests/test_a.py::test_x\n1 failed in 0.1s", 1, "exit", "MemoryError"),
        ("OSError: [Errno 28] No space left\nFAILED tests/test_a.py::test_x\n1 failed in 1s", 1, "exit", "[Errno 28]"),
        ("E   MemoryError\nPASSED tests/test_a.py::test_x\n1 passed in 0.1s", 0, "exit", None),
        ("assert 'MemoryError' in x\nFAILED tests/test_a.py::test_x\n1 failed in 0.1s", 1, "exit", None),
    ],
)
def test_infrastructure_failures_are_told_from_failing_tests(
    output: str, exit_code: int, ended: str, broken: str | None
) -> None:
    done = Completed(exit_code=exit_code, ended=ended, output=output, seconds=1.0)
    tests_run = 0 if "no tests ran" in output else None
    run = record("native command", ShellCommand(argv=("pytest",)), done, tests_run)
    found = assess(make_instance("pytest -rA tests/test_a.py"), run, done).broken
    assert (found is None) == (broken is None)
    assert (broken or "") in (found or "")


def test_a_p2p_test_that_failed_once_is_charged_to_nobody() -> None:
    grades = [grade(True, {"a": True, "b": True}), grade(True, {"a": False, "b": True})]
    assert unreproduced(grades) == ("a",)


def test_every_reason_is_of_the_class_not_reproducible() -> None:
    reasons = ("infrastructure", "ground-truth-timeout", "ground-truth-flaky", "ground-truth-fails", "no-test-report")
    assert {CLASSES[reason] for reason in reasons} == {"not reproducible"}


def test_a_log_that_nobody_here_can_read_is_no_run_at_all(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, "def test_x():\n    assert fixed.x\n", patch=new_file("fixed.py", "x = 1"))
    unread = replace(bench, instance=bench.instance.model_copy(update={"log_parser": "parse_log_jest"}))
    found = reproduce(unread, "spec")
    assert (found.reason, found.runs) == ("unknown-log-parser", ())
    assert found.evidence.startswith("log parser 'parse_log_jest' is not known; known are astroid, ")


@pytest.mark.parametrize(
    ("change", "reason", "evidence"),
    [
        ({"test_commands": (), "repo": "nobody/knows"}, "cannot-derive", "no test command in the row and none known"),
        ({"fail_to_pass": ()}, "no-f2p-test", "the row names no fail-to-pass test"),
    ],
)
def test_a_row_that_lacks_what_a_run_needs_is_no_run_at_all(
    tmp_path: Path, change: dict[str, object], reason: str, evidence: str
) -> None:
    bench = make_bench(tmp_path, "def test_x():\n    assert fixed.x\n", patch=new_file("fixed.py", "x = 1"))
    found = reproduce(replace(bench, instance=bench.instance.model_copy(update=change)), "spec")
    assert (found.reason, found.runs) == (reason, ())
    assert evidence in found.evidence
