"""Reports of both harnesses: each form they come in, and what is made of it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from patchperf.errors import InputError
from patchperf.study.datasets import parse_row
from patchperf.study.instance import Instance
from patchperf.study.official_reports import Reported, read_reports

CODE = "diff --git a/pkg/m.py b/pkg/m.py\n--- a/pkg/m.py\n+++ b/pkg/m.py\n@@ -1 +1 @@\n-a\n+b\n"
TESTS = CODE.replace("pkg/m.py", "tests/test_m.py")
NAME = "own__proj-1"


def lists(f2p: tuple[int, int], p2p: tuple[int, int]) -> dict[str, dict[str, list[str]]]:
    """Lists of tests as both harnesses write them, from how many passed and how many failed."""
    return {
        key: {"success": [f"{key}-{n}" for n in range(passed)], "failure": [f"{key}-x{n}" for n in range(failed)]}
        for key, (passed, failed) in (("FAIL_TO_PASS", f2p), ("PASS_TO_PASS", p2p))
    }


def graded(f2p: tuple[int, int], p2p: tuple[int, int], *, resolved: bool = False) -> dict[str, Any]:
    """A SWE-bench report of a patch whose tests were run."""
    applied = {"patch_is_None": False, "patch_exists": True, "patch_successfully_applied": True}
    return {
        **applied,
        "resolved": resolved,
        "tests_status": {**lists(f2p, p2p), "FAIL_TO_FAIL": {}, "PASS_TO_FAIL": {}},
    }


NOT_TESTED = {"patch_is_None": False, "patch_exists": True, "patch_successfully_applied": False, "resolved": False}


def write(folder: Path, files: Mapping[str, Any]) -> None:
    folder.mkdir(parents=True)
    for name, content in files.items():
        (folder / name).write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")


def read(folder: Path, files: Mapping[str, Any], instances: Mapping[str, Instance] | None = None) -> Reported:
    write(folder / "model" / NAME, files)
    ((_, (found,)),) = read_reports(folder, instances or {}).items()
    return found


CELLS = [
    ((2, 0), (3, 0), "Resolved"),
    ((2, 0), (2, 1), "Breaking Resolved"),
    ((2, 0), (0, 3), "Breaking Resolved"),
    ((1, 1), (3, 0), "Partially Resolved"),
    ((1, 1), (2, 1), "Work in Progress"),
    ((1, 1), (0, 3), "Work in Progress"),
    ((0, 2), (3, 0), "No-Op"),
    ((0, 2), (2, 1), "Regression"),
    ((0, 2), (0, 3), "Regression"),
    ((1, 0), (0, 0), "Resolved"),
    ((0, 1), (0, 0), "No-Op"),
]


@pytest.mark.parametrize(("f2p", "p2p", "outcome"), CELLS)
def test_lists_of_tests_make_the_outcome(
    f2p: tuple[int, int], p2p: tuple[int, int], outcome: str, tmp_path: Path
) -> None:
    report = graded(f2p, p2p, resolved=outcome == "Resolved")
    found = read(tmp_path, {"report.json": {NAME: report}, "patch.diff": CODE})
    assert (found.instance_id, found.outcome, found.dialect) == (NAME, outcome, "swe-bench")
    assert (found.f2p, found.p2p) == ((f2p[0], sum(f2p)), (p2p[0], sum(p2p)))
    assert found.resolved is (outcome == "Resolved")


SPECIAL = {
    "empty patch": ({"report.json": {NAME: NOT_TESTED}, "patch.diff": " \n"}, "empty"),
    "no patch": ({"report.json": {NAME: NOT_TESTED | {"patch_is_None": True, "patch_exists": False}}}, "empty"),
    "tests only": ({"report.json": {NAME: graded((0, 1), (1, 0))}, "patch.diff": TESTS}, "test only"),
    "not applied, no report": (
        {"run_instance.log": "… - INFO - >>>>> Patch Apply Failed:\nerror: corrupt patch", "patch.diff": CODE},
        "not applied",
    ),
    "not applied, by the report alone": ({"report.json": {NAME: NOT_TESTED}}, "not applied"),
    "timed out": (
        {"report.json": {NAME: NOT_TESTED}, "test_output.txt": "…\n>>>>> Tests Timed Out\n", "patch.diff": CODE},
        "timed out",
    ),
    "the harness fails": (
        {"report.json": {NAME: NOT_TESTED | {"infra_failure": True, "infra_failure_reason": "no space left"}}},
        "infrastructure failure",
    ),
    "no report": ({"run_instance.log": "… - ERROR - image not found", "patch.diff": CODE}, "infrastructure failure"),
    "a report of no bytes": ({"report.json": "", "patch.diff": CODE}, "infrastructure failure"),
    "no valid results": ({"report.json": {NAME: NOT_TESTED}, "test_output.txt": "Segmentation fault"}, "Regression"),
    "bare report": ({"report.json": graded((1, 0), (1, 0), resolved=True)}, "Resolved"),
}


@pytest.mark.parametrize(("files", "outcome"), SPECIAL.values(), ids=SPECIAL.keys())
def test_what_a_harness_leaves_beside_the_lists_tells_the_rest(
    files: Mapping[str, Any], outcome: str, tmp_path: Path
) -> None:
    assert read(tmp_path, files).outcome == outcome


def live(f2p: tuple[int, int], p2p: tuple[int, int], *, resolved: bool) -> dict[str, Any]:
    return {"instance_id": NAME, "resolved": resolved, **lists(f2p, p2p)}


def instance(f2p: int, p2p: int) -> dict[str, Instance]:
    tests = {key: part["success"] for key, part in lists((f2p, 0), (p2p, 0)).items()}
    row = {
        "instance_id": NAME,
        "repo": "own/proj",
        "base_commit": "0" * 40,
        "patch": CODE,
        "test_patch": TESTS,
        **tests,
    }
    return {NAME: parse_row({**row, "test_cmds": ["pytest -rA"]}, "live", "row 1")}


def test_a_live_report_counts_p2p_tests_missing_from_the_log_as_held(tmp_path: Path) -> None:
    found = read(tmp_path, {"report.json": live((2, 0), (3, 0), resolved=True)}, instance(2, 5))
    assert (found.outcome, found.dialect) == ("Resolved", "swe-bench-live")
    assert (found.f2p, found.p2p) == ((2, 2), (5, 5))


def test_a_live_report_counts_f2p_tests_missing_from_the_log_as_failed(tmp_path: Path) -> None:
    found = read(tmp_path, {"report.json": live((1, 0), (3, 0), resolved=False)}, instance(3, 3))
    assert (found.outcome, found.f2p) == ("Partially Resolved", (1, 3))


def test_a_live_report_of_other_tests_than_the_datasets_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"PASS_TO_PASS lists PASS_TO_PASS-3, which the dataset's own__proj-1 does not"
    ):
        read(tmp_path, {"report.json": live((1, 0), (4, 0), resolved=True)}, instance(1, 3))


def test_without_the_dataset_a_live_report_of_missing_f2p_tests_says_so(tmp_path: Path) -> None:
    found = read(tmp_path, {"report.json": live((1, 0), (3, 0), resolved=False)})
    assert (found.outcome, found.f2p) == ("Partially Resolved", (1, 2))
    assert "does not say how many" in found.note


def test_sources_are_the_folders_above_those_of_instances(tmp_path: Path) -> None:
    run = tmp_path / "logs" / "run_evaluation" / "first"
    for model in ("model-a", "model-b"):
        for number in (1, 2):
            name = f"own__proj-{number}"
            write(run / model / name, {"report.json": {name: graded((1, 0), (1, 0), resolved=True)}})
    found = read_reports(tmp_path, {})
    names = {source: [one.instance_id for one in reports] for source, reports in found.items()}
    assert names == {"model-a": ["own__proj-1", "own__proj-2"], "model-b": ["own__proj-1", "own__proj-2"]}


BAD = {
    "no JSON": ("{", "no JSON"),
    "a list": ([1], "list at top level, expected an object"),
    "something else": ({"a": 1}, "no report of SWE-bench or SWE-bench-Live; its keys are a"),
    "a summary": ({"resolved_ids": [], "unresolved_ids": []}, "does not tell its unresolved patches apart"),
    "another verdict than its lists": ({NAME: graded((1, 1), (1, 0), resolved=True)}, "make it Partially Resolved"),
    "no lists": ({NAME: NOT_TESTED | {"tests_status": {"FAIL_TO_PASS": []}}}, "FAIL_TO_PASS has no lists"),
    "words for lists": (
        {NAME: NOT_TESTED | {"tests_status": {"FAIL_TO_PASS": {"success": "abc", "failure": ""}}}},
        "no lists",
    ),
    "passed and failed": (
        {NAME: graded((1, 0), (1, 0)) | {"tests_status": {"FAIL_TO_PASS": {"success": ["t"], "failure": ["t"]}}}},
        "FAIL_TO_PASS has t among its passed and its failed tests",
    ),
    "resolved without lists": ({NAME: NOT_TESTED | {"resolved": True}}, "resolved is true, but it has no lists"),
    "of another instance": ({"own__proj-2": graded((1, 0), (1, 0), resolved=True)}, "in the folder of own__proj-1"),
    "nested too deep": ("[" * 100_000, "no JSON"),
    "a word for resolved": ({NAME: NOT_TESTED | {"resolved": "true"}}, "resolved is 'true', neither true nor false"),
    "no F2P test": ({NAME: graded((0, 0), (1, 0))}, "no fail-to-pass test is listed"),
}


@pytest.mark.parametrize(("content", "words"), BAD.values(), ids=BAD.keys())
def test_what_is_no_report_is_refused_in_one_line(content: Any, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=words) as refused:
        read(tmp_path, {"report.json": content})
    assert "report.json" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_folder_beside_reports_is_one_that_the_harness_left_without(tmp_path: Path) -> None:
    write(tmp_path / "m" / NAME, {"report.json": {NAME: graded((1, 0), (1, 0), resolved=True)}})
    write(tmp_path / "m" / "own__proj-2", {"eval.sh": "true"})
    outcomes = {one.instance_id: one.outcome for one in read_reports(tmp_path, {})["m"]}
    assert outcomes == {NAME: "Resolved", "own__proj-2": "infrastructure failure"}


@pytest.mark.parametrize("name", ["__pycache__", "my run__1"])
def test_a_folder_beside_reports_that_has_no_instances_name_is_none(name: str, tmp_path: Path) -> None:
    write(tmp_path / "m" / NAME, {"report.json": {NAME: graded((1, 0), (1, 0), resolved=True)}})
    write(tmp_path / "m" / name, {"x.pyc": "1"})
    assert [one.instance_id for one in read_reports(tmp_path, {})["m"]] == [NAME]


def test_one_report_is_judged_by_the_patch_beside_it_as_well(tmp_path: Path) -> None:
    folder = tmp_path / "m" / NAME
    write(folder, {"report.json": {NAME: graded((1, 0), (1, 0), resolved=True)}, "patch.diff": TESTS})
    (found,) = read_reports(folder / "report.json", {})["m"]
    assert (found.outcome, found.resolved) == ("test only", True)


def test_bytes_that_are_no_text_in_a_name_can_be_written(tmp_path: Path) -> None:
    write(tmp_path / os.fsdecode(b"m\xff") / NAME, {"report.json": {NAME: graded((1, 0), (1, 0), resolved=True)}})
    assert list(read_reports(tmp_path, {})) == ["m\ufffd"]


def test_files_above_the_folders_of_instances_are_no_instance(tmp_path: Path) -> None:
    write(tmp_path / "m" / NAME, {"report.json": {NAME: graded((1, 0), (1, 0), resolved=True)}})
    (tmp_path / "m" / "test_output.txt").write_text("of something else", "utf-8")
    assert {source: len(found) for source, found in read_reports(tmp_path, {}).items()} == {"m": 1}


def test_links_to_folders_are_followed_once(tmp_path: Path) -> None:
    write(tmp_path / "kept" / NAME, {"report.json": {NAME: graded((1, 0), (1, 0), resolved=True)}})
    run = tmp_path / "run" / "m"
    run.mkdir(parents=True)
    (run / NAME).symlink_to(tmp_path / "kept" / NAME)
    (run / "round").symlink_to(run)
    assert [one.outcome for one in read_reports(tmp_path / "run", {})["m"]] == ["Resolved"]


def test_a_file_that_cannot_be_read_is_not_taken_for_none(tmp_path: Path) -> None:
    folder = tmp_path / "m" / NAME
    write(folder, {"report.json": {NAME: graded((1, 0), (1, 0), resolved=True)}})
    (folder / "patch.diff").mkdir()
    with pytest.raises(InputError, match=r"patch\.diff: Is a directory: all of it has to be readable"):
        read_reports(tmp_path, {})


def test_what_a_report_says_stays_beside_what_its_patch_is(tmp_path: Path) -> None:
    found = read(tmp_path, {"report.json": {NAME: graded((1, 0), (1, 0), resolved=True)}, "patch.diff": TESTS})
    assert (found.outcome, found.resolved) == ("test only", True)


def test_a_folder_without_reports_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no report\.json below it"):
        read_reports(tmp_path, {})
