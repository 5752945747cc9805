from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest

from patchperf.measure.tools import write_tools
from patchperf.study.repeatability import CLASSES, RepeatabilityClass, judge_calls
from patchperf.study.residue import Residue, judge_children, judge_fresh
from patchperf.study.single_point import Report
from patchperf.study.witness import Account, Witness, read_account

PASSED = Report("passed", 1, "")
CALLS = 4


def real_record(folder: Path) -> dict[str, Any]:
    """What the in-process module writes of a test that passes."""
    write_tools(folder, {"mode": "probe", "warmup": CALLS - 1, "marker": "m", "out": str(folder / "out")})
    script = "import patchperf_inprocess as p; p.measured(lambda: None)()"
    subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(folder)},
        check=True,
        capture_output=True,
    )
    record: dict[str, Any] = json.loads((folder / "out").read_text())
    return record


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return real_record(tmp_path_factory.mktemp("record"))


def account(record: dict[str, Any], call: int | None = None, stage: str = "warmup") -> Account:
    error = {"type": "KeyError", "text": "x", "error": "KeyError: x", "skipped": False}
    failed = {"failed": {"stage": stage, "call": call, "call_of_stage": call, **error}}
    found = read_account({**record, **(failed if call is not None else {})})
    assert isinstance(found, Account)
    return found


@pytest.mark.parametrize(
    ("failures", "report", "reason", "evidence"),
    [
        ([None], PASSED, "", "4 calls passed"),
        ([], PASSED, "not-repeatable", "no record: it ended in or after call 2 of 4; the runner reports that one test"),
        ([], Report("not one", None, "no number of tests"), "not-repeatable", "call 2 of 4; no number of tests"),
        ([], Report("stopped", None, "stopped: timeout"), "probe-stopped", "stopped: timeout in or after call 2 of 4"),
        ([None], Report("stopped", None, "stopped: memory"), "probe-stopped", "stopped: memory"),
        (["no json"], PASSED, "not-wrapped", "no json"),
        ([1], Report("failed", 1, "exit code 1"), "not-wrapped", "call 1 of 4: KeyError: x"),
        ([1], PASSED, "not-repeatable", "expected to fail, which ends the loop: call 1 of 4"),
        ([2], Report("failed", 1, "exit code 1"), "not-repeatable", "call 2 of 4: KeyError: x"),
        ([2], Report("stopped", None, "stopped: timeout"), "not-repeatable", "call 2 of 4: KeyError: x"),
        ([2, None], PASSED, "not-repeatable", "call 2 of 4: KeyError: x"),
        ([1, None], PASSED, "called-several-times", "2 times for one test; call 1 of 4: KeyError: x"),
        ([None, None], PASSED, "called-several-times", "2 times for one test"),
        ([None], Report("failed", 1, "exit code 1"), "not-repeatable", "all 4 calls passed, and yet exit code 1"),
        ([None], Report("not one", 3, "the runner reports 3 tests, not 1"), "not-wrapped", "decorated, the runner"),
    ],
)
def test_the_calls_are_judged_by_what_the_process_and_its_runner_tell(
    record: dict[str, Any], failures: list[int | str | None], report: Report, reason: str, evidence: str
) -> None:
    accounts = [one if isinstance(one, str) else account(record, one) for one in failures]
    found = judge_calls(accounts, report, CALLS, 2)
    assert found.reason == reason
    assert evidence in found.evidence


@pytest.mark.parametrize(
    ("report", "evidence"),
    [
        (PASSED, "the decorated function was not called; the runner reports that one test passed"),
        (
            Report("not one", 0, "the runner reports 0 tests, not 1"),
            "was not called; the runner reports 0 tests, not 1",
        ),
    ],
)
def test_a_function_that_was_never_called_was_not_wrapped(report: Report, evidence: str) -> None:
    reason, told = judge_calls([], report, CALLS, 0)
    assert reason == "not-wrapped"
    assert evidence in told


def test_calls_begun_by_copies_of_the_process_are_not_counted_beyond_those_to_be_made() -> None:
    told = judge_calls([], Report("stopped", None, "stopped: timeout"), CALLS, 9).evidence
    assert told == "stopped: timeout in or after call 4 of 4"


@pytest.mark.parametrize(
    ("stage", "reason"),
    [("refused", "not-wrapped"), ("several", "called-several-times"), ("watched", "watched")],
)
def test_a_refused_test_says_why(record: dict[str, Any], stage: str, reason: str) -> None:
    assert judge_calls([account(record, 0, stage)], PASSED, CALLS, 0) == (reason, "x")


def test_a_test_that_leaves_a_tracer_on_does_not_repeat(record: dict[str, Any]) -> None:
    found = judge_calls([account(record, 2, "watched")], PASSED, CALLS, 2)
    assert found == ("not-repeatable", "after call 2 of 4, x")


def test_every_reason_has_one_of_the_three_classes() -> None:
    assert set(CLASSES.values()) == set(get_args(RepeatabilityClass))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"witness": None}, "witness: "),
        ({"witness": {"before": {}}}, "witness.before.threads: Field required"),
        ({"pid": "x"}, "pid: "),
    ],
)
def test_a_record_that_is_no_account_says_what_is_wrong(
    record: dict[str, Any], change: dict[str, Any], said: str
) -> None:
    found = read_account({**record, **change})
    assert isinstance(found, str)
    assert found.startswith(said)


# ---- the residue


def witness(threads: int | None = 1, errno: str | None = None) -> Witness:
    owned = {"threads": 1, "children": 0, "descriptors": 5}
    raised = {"place": ("a.py", 3, "f"), "test_line": 3, "errno": errno}
    return Witness.model_validate({"before": owned, "after": {**owned, "threads": threads}, "raised": raised})


def child(call: int) -> dict[str, Any]:
    return {"call": call, "failed": {"error": "KeyError: x"}}


@pytest.mark.parametrize(
    ("results", "seen", "where", "evidence"),
    [
        ([{"children": [0, 0, 0]}], witness(), "inside", "passes when"),
        ([{"children": [0, 0, 0]}], witness(threads=4), "unknown", "threads that earlier calls left"),
        ([{"children": [0, 0, 0]}], witness(threads=None), "inside", "passes when"),
        ([{"children": [0, 0, 0]}], witness(threads=4, errno="EADDRINUSE"), "outside", "in use"),
        ([child(2), {"children": [0, 256]}], witness(), "outside", "call 2 fails also"),
        ([child(3)], witness(), "outside", "call 3 fails also"),
        ([child(1), {"children": [256]}], witness(), "unknown", "even the first call fails: KeyError: x"),
        ([{"children": [0, 9]}], witness(), "unknown", "do not come to an end"),
        ([], witness(), "unknown", "do not come to an end"),
        ([{"failed": {"error": "unreadable"}}], witness(), "unknown", "unreadable"),
    ],
)
def test_calls_in_child_processes_tell_where_the_residue_is(
    results: list[dict[str, Any]], seen: Witness, where: str, evidence: str
) -> None:
    found = judge_children(results, 3, seen)
    assert (found[0], evidence in found[1]) == (where, True)


@pytest.mark.parametrize(
    ("report", "where"),
    [
        (Report("failed", 1, "exit code 1"), "outside"),
        (Report("stopped", None, "stopped: timeout"), "unknown"),
        (Report("not one", 0, "no tests"), "unknown"),
    ],
)
def test_a_fresh_process_in_the_same_tree_tells_whether_the_residue_is_there(report: Report, where: str) -> None:
    assert judge_fresh(report)[0] == where


def test_a_residue_is_one_line_with_all_that_was_left() -> None:
    residue = Residue(where="outside", evidence="why", files=("a", "b"), threads=2, descriptors=-1)
    assert residue.summary == "residue outside: why; left behind: 2 files in the tree, 2 threads"
