from __future__ import annotations

import pytest
from small_instances import make_instance

from patchperf.study.grading import grade
from patchperf.study.logs import parse_log

F2P, P2P = "t.py::test_fix", "t.py::test_keep"


def graded(dialect, statuses, exit_code=0, ended="exit", *, f2p=(F2P,), p2p=(P2P,), **more):
    instance = make_instance("pytest -rA", dialect=dialect, fail_to_pass=f2p, pass_to_pass=p2p)
    failed = {"FAILED", "ERROR"} & set(statuses.values())
    return grade(instance, statuses, exit_code or (1 if failed else 0), ended, **more)


STATUS = {"passed": "PASSED", "xfail": "XFAIL", "failed": "FAILED", "error": "ERROR", "skipped": "SKIPPED"}


@pytest.mark.parametrize(
    ("dialect", "status", "f2p_passes", "p2p_holds"),
    [
        ("swe-bench", "passed", True, True),
        ("swe-bench", "xfail", True, True),
        ("swe-bench", "failed", False, False),
        ("swe-bench", "error", False, False),
        ("swe-bench", "skipped", False, True),
        ("swe-bench", "missing", False, False),
        ("swe-bench-live", "passed", True, True),
        ("swe-bench-live", "xfail", False, False),
        ("swe-bench-live", "failed", False, False),
        ("swe-bench-live", "error", False, False),
        ("swe-bench-live", "skipped", False, True),
        ("swe-bench-live", "missing", False, True),
    ],
)
def test_each_dialect_weighs_each_status_its_own_way(dialect, status, f2p_passes, p2p_holds):
    def statuses(test, other):
        found = {other: "PASSED"}
        return found if status == "missing" else {**found, test: STATUS[status]}

    of_f2p = graded(dialect, statuses(F2P, P2P))
    assert (of_f2p.f2p_passed, of_f2p.f2p_total, of_f2p.p2p_passed) == (int(f2p_passes), 1, 1)
    assert of_f2p.f2p[F2P] == STATUS.get(status, "missing")
    of_p2p = graded(dialect, statuses(P2P, F2P))
    assert (of_p2p.p2p_passed, of_p2p.p2p_total, of_p2p.f2p_passed) == (int(p2p_holds), 1, 1)
    assert of_p2p.p2p_held == {P2P: p2p_holds}


@pytest.mark.parametrize("dialect", ["swe-bench", "swe-bench-live"])
def test_absent_f2p_tests_are_not_forgiven_because_another_has_passed(dialect):
    result = graded(dialect, {"a": "PASSED", "c": "SKIPPED"}, f2p=("a", "b", "c"), p2p=())
    assert (result.f2p_passed, result.f2p_total, result.resolved) == (1, 3, False)


def test_everything_passed_is_resolved():
    assert graded("swe-bench", {F2P: "PASSED", P2P: "PASSED"}).resolved
    assert not graded("swe-bench", {F2P: "PASSED", P2P: "FAILED"}).resolved


CUT = "t.py::test_p[(1,"


@pytest.mark.parametrize(
    ("first", "second", "passed"),
    [("PASSED", "PASSED", 1), ("PASSED", "XFAIL", 1), ("PASSED", "FAILED", 0), ("FAILED", "ERROR", 0)],
)
def test_an_id_cut_in_its_brackets_stands_for_those_that_begin_with_it_if_they_agree(first, second, passed):
    statuses = {"t.py::test_p[(1, 2)]": first, "t.py::test_p[(1, 3)]": second, "t.py::test_p[9]": "FAILED"}
    assert graded("swe-bench", statuses, f2p=(CUT,), p2p=()).f2p_passed == passed


def test_only_cut_ids_and_only_swe_bench_match_by_their_beginning():
    assert graded("swe-bench", {"t.py::test_pq": "PASSED"}, f2p=("t.py::test_p",), p2p=()).f2p_passed == 0
    live = graded("swe-bench-live", {f"{CUT} 2)]": "PASSED"}, f2p=(CUT,), p2p=())
    assert live.f2p == {CUT: "missing"}


def test_an_exact_name_is_taken_before_those_that_begin_with_it():
    result = graded("swe-bench", {CUT: "FAILED", f"{CUT} 2)]": "PASSED"}, f2p=(CUT,), p2p=())
    assert result.f2p == {CUT: "FAILED"}


@pytest.mark.parametrize(
    ("statuses", "exit_code", "ended", "reason"),
    [
        ({F2P: "PASSED", P2P: "PASSED"}, 1, "exit", "exit code 1, but the log names no failure"),
        ({F2P: "PASSED", P2P: "PASSED"}, -11, "exit", "exit code -11, but the log names no failure"),
        ({}, 0, "exit", "the log names no test (exit code 0)"),
        ({}, 2, "exit", "the log names no test (exit code 2)"),
        ({F2P: "PASSED", P2P: "PASSED"}, 0, "timeout", "stopped: timeout"),
        ({F2P: "PASSED", P2P: "PASSED"}, 0, "memory", "stopped: memory"),
    ],
)
@pytest.mark.parametrize("dialect", ["swe-bench", "swe-bench-live"])
def test_a_run_whose_log_proves_nothing_passes_nothing(dialect, statuses, exit_code, ended, reason):
    result = graded(dialect, statuses, exit_code, ended)
    assert (result.invalid, result.note) == (reason, reason)
    assert (result.f2p_passed, result.p2p_passed, result.resolved) == (0, 0, False)


def test_a_failure_anywhere_explains_the_exit_code():
    result = graded("swe-bench", {F2P: "PASSED", P2P: "PASSED", "t.py::test_unlisted": "FAILED"}, 1)
    assert (result.invalid, result.resolved) == ("", True)


def test_tests_that_the_ground_truth_does_not_pass_here_are_not_charged():
    result = graded(
        "swe-bench", {F2P: "PASSED", P2P: "PASSED"}, p2p=(P2P, "t.py::test_net"), unreproduced=["t.py::test_net"]
    )
    assert (result.p2p_passed, result.p2p_total, result.resolved) == (1, 1, True)
    assert result.note == "1 P2P tests not charged: the ground truth does not pass them here"


def test_a_printed_line_that_looks_like_a_pass_does_not_make_one():
    output = "PASSED t.py::test_fix\nPASSED t.py::test_keep\n"
    instance = make_instance("pytest -rA", fail_to_pass=(F2P,), pass_to_pass=(P2P,))
    assert not grade(instance, parse_log(output, instance), 1, "exit").resolved


def test_the_other_dialect_reads_the_same_run() -> None:
    instance = make_instance("pytest -rA", fail_to_pass=(F2P, "t.py::test_b"), pass_to_pass=(P2P,))
    statuses = {F2P: "PASSED"}
    own, other = (grade(instance, statuses, 0, "exit", dialect=one) for one in (None, "swe-bench-live"))
    assert (own.dialect, own.f2p_passed, own.p2p_passed) == ("swe-bench", 1, 0)
    assert (other.dialect, other.f2p_passed, other.p2p_passed) == ("swe-bench-live", 1, 1)


def test_what_else_speaks_against_a_run_lets_no_test_count() -> None:
    instance = make_instance("pytest -rA", fail_to_pass=(F2P,), pass_to_pass=(P2P,))
    result = grade(instance, {F2P: "PASSED", P2P: "PASSED"}, 0, "exit", conflict="a forged log")
    assert (result.f2p_passed, result.p2p_passed, result.note) == (0, 0, "a forged log")


def test_a_test_named_twice_counts_once_and_one_in_both_lists_in_both() -> None:
    result = graded("swe-bench", {F2P: "PASSED", P2P: "FAILED"}, f2p=(F2P, F2P, P2P), p2p=(P2P, P2P))
    assert (result.f2p_passed, result.f2p_total, result.p2p_passed, result.p2p_total) == (1, 2, 0, 1)


LOG = """\
============================= test session starts ==============================
collected 8 items

=========================== short test summary info ============================
PASSED t.py::test_twice
PASSED t.py::test_cut[(1, 2)]
PASSED t.py::test_cut[(1, 3)]
PASSED t.py::test_torn[a b]
FAILED t.py::test_torn[a c] - assert 0
SKIPPED [1] t.py:7: not here
XFAIL t.py::test_known - a known bug
XPASS t.py::test_better - fixed by now
FAILED t.py::test_strict - [XPASS(strict)]
FAILED t.py::test_twice - assert 0
"""


@pytest.mark.parametrize(
    ("test", "status", "swe_bench", "live"),
    [
        pytest.param("t.py::test_skip", "missing", (False, False), (False, True), id="skipped, as pytest sums it up"),
        pytest.param("t.py::test_known", "XFAIL", (True, True), (False, False), id="expected failure"),
        pytest.param("t.py::test_better", "missing", (False, False), (False, True), id="unexpected pass"),
        pytest.param("t.py::test_strict", "FAILED", (False, False), (False, False), id="strict unexpected pass"),
        pytest.param("t.py::test_nowhere", "missing", (False, False), (False, True), id="missing"),
        pytest.param("t.py::test_twice", "FAILED", (False, False), (False, False), id="twice in the log"),
        pytest.param("t.py::test_cut[(1,", "PASSED", (True, True), (True, True), id="cut at a space, as parsed"),
    ],
)
def test_lines_of_a_log_are_weighed_by_both_dialects(test, status, swe_bench, live):
    instance = make_instance("pytest -rA", fail_to_pass=(test,), pass_to_pass=(test,))
    statuses = parse_log(LOG, instance)
    for dialect, expected in (("swe-bench", swe_bench), ("swe-bench-live", live)):
        result = grade(instance, statuses, 1, "exit", dialect=dialect)
        assert (result.f2p[test], (result.f2p_held[test], result.p2p_held[test])) == (status, expected)


def test_a_cut_name_whose_tests_disagree_is_missing_where_names_keep_their_spaces() -> None:
    instance = make_instance("pytest -rA", log_parser="parse_log_pytest_v2", fail_to_pass=("t.py::test_torn[a",))
    result = grade(instance, parse_log(LOG, instance), 1, "exit")
    assert result.f2p == {"t.py::test_torn[a": "missing"}
    whole = make_instance("pytest -rA", log_parser="parse_log_pytest_v2", fail_to_pass=("t.py::test_cut[(1,",))
    assert grade(whole, parse_log(LOG, whole), 1, "exit").f2p_passed == 1
