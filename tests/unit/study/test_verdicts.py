"""Candidates run through a real test run: all cells of the taxonomy, both dialects, and passes that are none."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from small_benches import make_bench
from small_instances import new_file

from patchperf.config import Timeouts
from patchperf.quality.outcomes import outcome
from patchperf.sandbox.protocol import Limits
from patchperf.study.instance import Candidate
from patchperf.study.reproduction import Reproduction, reproduce
from patchperf.study.verdicts import Verdict, judge_candidate, judge_candidates
from patchperf.study.workbench import Workbench

TESTS = """\
import shelf as code

def test_one():
    assert code.one() == 1

def test_two():
    assert code.two() == 2

def test_keep():
    assert code.keep() == 3

def test_stay():
    assert code.stay() == 4
"""
BASE = "def one(): return 0\ndef two(): return 0\ndef keep(): return 3\ndef stay(): return 4\n"
F2P, P2P = ("test_a.py::test_one", "test_a.py::test_two"), ("test_a.py::test_keep", "test_a.py::test_stay")


def edited(*, one: int = 0, two: int = 0, keep: int = 3, stay: int = 4, more: str = "") -> str:
    """A patch of the module so that its functions return these, with more lines at its end."""
    new = [
        f"def {name}(): return {value}" for name, value in (("one", one), ("two", two), ("keep", keep), ("stay", stay))
    ]
    lines = [*new, *more.splitlines()]
    old = "".join(f"-{line}\n" for line in BASE.splitlines())
    header = "--- a/shelf.py\n+++ b/shelf.py\n"
    return f"{header}@@ -1,4 +1,{len(lines)} @@\n{old}" + "".join(f"+{line}\n" for line in lines)


TRUTH = edited(one=1, two=2)
NOTHING = edited(more="# nothing")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    files = {"shelf.py": BASE, "setup.cfg": "[metadata]\nname = small\n", "pytest.ini": "[pytest]\n"}
    made = make_bench(tmp_path_factory.mktemp("bench"), TESTS, patch=TRUTH, files=files, timeouts={"suite": 60.0})
    return dataclasses.replace(
        made, instance=made.instance.model_copy(update={"fail_to_pass": F2P, "pass_to_pass": P2P})
    )


@pytest.fixture(scope="module")
def reproduction(bench: Workbench) -> Reproduction:
    one_run = dataclasses.replace(bench, config=bench.config.model_copy(update={"reproductions": 1}))
    found = reproduce(one_run, "spec")
    assert (found.stable, found.one_summary, found.unreproduced) == (True, True, ())
    return found


def judged(bench: Workbench, reproduction: Reproduction, *patches: str) -> Verdict:
    patch = "".join(patches)
    return judge_candidate(bench, reproduction, Candidate(instance_id="i", source="model", patch=patch))


@pytest.mark.parametrize("f2p", [2, 1, 0])
@pytest.mark.parametrize("p2p", [2, 1, 0])
def test_a_run_falls_into_each_of_the_nine_cells(
    bench: Workbench, reproduction: Reproduction, f2p: int, p2p: int
) -> None:
    kept = {"keep": 3 if p2p else 0, "stay": 4 if p2p == 2 else 0}
    verdict = judged(bench, reproduction, edited(one=1 if f2p else 0, two=2 if f2p == 2 else 0, **kept, more="# x"))
    assert (verdict.f2p_passed, verdict.f2p_total, verdict.p2p_passed, verdict.p2p_total) == (f2p, 2, p2p, 2)
    levels = ("none", "partial", "all")
    assert (verdict.outcome, verdict.f2p, verdict.p2p) == (outcome(f2p, 2, p2p, 2), levels[f2p], levels[p2p])
    assert (verdict.note, verdict.other_dialect, verdict.other_outcome) == ("", "", "")


@pytest.mark.parametrize(
    ("patch", "expected"),
    [
        ("", "empty"),
        (TRUTH.replace("-def one(): return 0", "-def one(): return 9"), "not applied"),
        (new_file("test_new.py", "def test(): pass"), "test only"),
        (new_file("conftest.py", "collect_ignore = []"), "test only"),
        (edited(more="import time; time.sleep(600)"), "timed out"),
        (edited(more="def broken(:"), "Regression"),
    ],
)
def test_outcomes_beside_the_cells(bench: Workbench, reproduction: Reproduction, patch: str, expected: str) -> None:
    quick = bench.config.model_copy(update={"timeouts": Timeouts(suite=10.0 if "sleep" in patch else 60.0)})
    verdict = judged(dataclasses.replace(bench, config=quick), reproduction, patch)
    assert verdict.outcome == expected
    assert (verdict.f2p, verdict.p2p) == (("none", "none") if expected == "Regression" else ("", ""))


def test_a_run_that_passes_a_limit_of_ours_is_an_infrastructure_failure(
    bench: Workbench, reproduction: Reproduction
) -> None:
    sandbox = bench.config.sandbox.model_copy(update={"limits": Limits(output_mb=1)})
    small = dataclasses.replace(bench, config=bench.config.model_copy(update={"sandbox": sandbox}))
    verdict = judged(small, reproduction, edited(more="import atexit; atexit.register(print, 'x' * 3_000_000)"))
    assert (verdict.outcome, verdict.note) == ("infrastructure failure", "stopped by our limit: output")
    assert (verdict.f2p, verdict.p2p, verdict.f2p_total) == ("", "", 0)


def test_nobody_is_judged_where_the_ground_truth_does_not_hold(bench: Workbench) -> None:
    shaky = TESTS.replace("assert code.one() == 1", "assert code.one() == 1 and code.two() == 0")
    test_patch = new_file("test_a.py", shaky)
    broken = dataclasses.replace(bench, instance=bench.instance.model_copy(update={"test_patch": test_patch}))
    found = reproduce(broken, "spec")
    assert found.reason == "ground-truth-fails"
    verdict = judged(broken, found, edited(one=1))
    assert verdict.outcome == "infrastructure failure"
    assert verdict.note.startswith(
        "not judged, the ground truth itself does not hold here: test_a.py::test_one: FAILED"
    )


PLUGIN = "def pytest_runtest_makereport(item, call):\n    call.excinfo = None\n"


def test_a_module_under_the_name_of_ours_is_not_judged(bench: Workbench, reproduction: Reproduction) -> None:
    verdict = judged(bench, reproduction, NOTHING + new_file("patchperf_inprocess.py", "pass"))
    assert verdict.outcome == "infrastructure failure"
    assert verdict.note == "not judged: patchperf_inprocess.py has the name of the tools that measure"


def test_where_tests_that_have_to_fail_are_not_collected_they_prove_nothing(tmp_path: Path) -> None:
    files = {"shelf.py": BASE, "pytest.ini": "[pytest]\npython_functions = check_*\n"}
    made = make_bench(tmp_path, TESTS.replace("def test_", "def check_"), patch=TRUTH, files=files)
    lists = {"fail_to_pass": F2P, "pass_to_pass": P2P}
    named = {key: tuple(test.replace("::test_", "::check_") for test in tests) for key, tests in lists.items()}
    bench = dataclasses.replace(made, instance=made.instance.model_copy(update=named))
    verdict = judged(bench, reproduce(bench, "spec"), edited(one=1, two=2, more="import sys"))
    assert (verdict.outcome, verdict.note) == ("Resolved", "")


def test_a_solution_with_files_that_are_put_back_is_the_solution_without_them(
    bench: Workbench, reproduction: Reproduction
) -> None:
    plain, more = (
        judged(bench, reproduction, TRUTH),
        judged(bench, reproduction, TRUTH, new_file("conftest.py", PLUGIN)),
    )
    assert (plain.outcome, more.outcome) == ("Resolved", "Resolved")
    assert plain.solution == more.solution
    assert "put back to the base: conftest.py" in more.note


def test_a_candidate_that_the_dialects_tell_apart_has_both_outcomes(
    bench: Workbench, reproduction: Reproduction
) -> None:
    skipping = edited(one=1, two=2, more="def keep(): import unittest; raise unittest.SkipTest('not here')")
    verdict = judged(bench, reproduction, skipping)
    assert (verdict.outcome, verdict.p2p) == ("Breaking Resolved", "partial")
    assert (verdict.dialect, verdict.other_dialect, verdict.other_outcome) == (
        "swe-bench",
        "swe-bench-live",
        "Resolved",
    )
    live = dataclasses.replace(bench, instance=bench.instance.model_copy(update={"dialect": "swe-bench-live"}))
    turned = judged(live, reproduction, skipping)
    assert (turned.outcome, turned.other_dialect, turned.other_outcome) == (
        "Resolved",
        "swe-bench",
        "Breaking Resolved",
    )


def test_a_verdict_of_an_earlier_protocol_is_not_taken_for_a_new_one(
    bench: Workbench, reproduction: Reproduction, tmp_path: Path
) -> None:
    first = judge_candidates(bench, reproduction, [], "spec", tmp_path)
    (file,) = tmp_path.iterdir()
    file.write_text(first.verdicts["ground_truth"].model_copy(update={"note": "old"}).model_dump_json(), "utf-8")
    assert judge_candidates(bench, reproduction, [], "spec", tmp_path).verdicts["ground_truth"].note == "old"
    later = reproduction.model_copy(update={"spec": "of a later protocol"})
    assert judge_candidates(bench, later, [], "spec", tmp_path).verdicts["ground_truth"].note == ""
