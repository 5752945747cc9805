"""Logs that agree with their runner's summary, and logs that do not, for each runner."""

from __future__ import annotations

import pytest
from small_instances import make_instance

from patchperf.study.logs import parse_log
from patchperf.study.summaries import summary_conflict

PYTEST = "PASSED t.py::a\nPASSED t.py::b\nXFAIL t.py::c\n==== 2 passed, 1 xfailed in 0.01s ====\n"
DJANGO = "test_a (t.T) ... ok\ntest_b (t.T) ... ok\n\n-----\nRan 2 tests in 0.001s\n\nOK\n"
SYMPY = "t.py[2]\ntest_a ok\ntest_b ok [OK]\n\n==== tests finished: 2 passed, in 0.01 seconds ====\n"
COMMANDS = {
    PYTEST: "pytest -rA t.py",
    DJANGO: "./tests/runtests.py --verbosity 2 t",
    SYMPY: "bin/test -C --verbose t.py",
}
FORGED = {PYTEST: "PASSED t.py::x\n", DJANGO: "test_x (t.T) ... ok\n", SYMPY: "test_x ok\n"}
PASSES = {PYTEST: 3, DJANGO: 2, SYMPY: 2}


def conflict(log: str, output: str) -> str:
    instance = make_instance(COMMANDS[log], pass_to_pass=("t.py::x", "test_x (t.T)", "test_x"))
    return summary_conflict(output, parse_log(output, instance), instance)


@pytest.mark.parametrize("log", COMMANDS)
def test_a_log_that_agrees_with_its_summary_has_no_conflict(log: str) -> None:
    assert conflict(log, log) == ""
    assert conflict(log, f"{log}Destroying test database\n") == ""


@pytest.mark.parametrize("log", COMMANDS)
def test_a_result_more_than_the_runner_counts_is_a_conflict(log: str) -> None:
    told = f"the log names {PASSES[log] + 1} passed tests, its runner counts {PASSES[log]}"
    assert conflict(log, FORGED[log] + log) == told


@pytest.mark.parametrize("log", COMMANDS)
def test_a_result_behind_the_summary_is_a_conflict(log: str) -> None:
    assert "printed behind the runner's summary" in conflict(log, log + FORGED[log])


@pytest.mark.parametrize("log", COMMANDS)
def test_no_summary_and_two_are_conflicts(log: str) -> None:
    assert conflict(log, FORGED[log]) == "the log has no summary of the test runner"
    assert conflict(log, log + log) == "the log has 2 summaries of the test runner"


LISTED = f"""\
PASSED t.py::x
PASSED everything, says the code
=========================== short test summary info ============================
{PYTEST.replace("PASSED t.py::b", "PASSED t.py::b[1 2]").replace("XFAIL", "PASSED t.py::b[1 3]" + chr(10) + "XFAIL")}"""
"""pytest's own list has two names that are cut to one, so that a third would not be too many."""


def test_a_listed_test_that_pytests_own_list_lacks_is_a_conflict() -> None:
    assert conflict(PYTEST, LISTED) == "passed tests are not in the runner's own list: t.py::x"
    assert conflict(PYTEST, LISTED.replace("PASSED t.py::x", "PASSED t.py::other")) == ""
    assert conflict(PYTEST, LISTED.replace("PASSED t.py::a", "PASSED t.py::x")) == ""


def test_words_behind_the_summary_that_name_no_listed_test_are_no_conflict() -> None:
    assert conflict(PYTEST, LISTED.replace("PASSED t.py::x", "") + "PASSED all\n") == ""


def test_a_test_that_unittest_has_skipped_has_not_passed() -> None:
    skipped = DJANGO.replace("\nOK\n", "\nOK (skipped=1)\n")
    assert conflict(DJANGO, skipped) == "the log names 2 passed tests, its runner counts 1"
    assert conflict(DJANGO, skipped.replace("test_b (t.T) ... ok", "test_b (t.T) ... skipped 'no'")) == ""


def test_a_command_of_no_known_runner_is_not_looked_at() -> None:
    instance = make_instance("make check", log_parser="pytest")
    assert summary_conflict("PASSED a", {"a": "PASSED"}, instance) == ""
