"""The benchmarks' own reports as outcomes: what their harnesses found, without running anything.

Both harnesses keep a folder per instance. SWE-bench's has ``report.json`` (by instance id, or bare in leaderboards'
submissions), ``patch.diff``, ``run_instance.log`` and ``test_output.txt``; SWE-bench-Live's has ``report.json`` and
``post_patch_log.txt``. The outcome is that of the lists of tests; where there are none, the logs beside tell why.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from patchperf.errors import InputError
from patchperf.quality.outcomes import Outcome, level, outcome
from patchperf.sandbox.patches import patch_paths
from patchperf.study.instance import INSTANCE_ID, Dialect, Instance
from patchperf.study.solutions import is_test_file

REPORT, PATCH, RUN_LOG, TEST_LOG = "report.json", "patch.diff", "run_instance.log", "test_output.txt"
EVIDENCE = (REPORT, RUN_LOG, TEST_LOG)
"""Files by which a folder is known as that of an instance; so is any folder beside one of these."""

NOT_APPLIED, TIMED_OUT = ">>>>> Patch Apply Failed", ">>>>> Tests Timed Out"
"""What SWE-bench's logs say."""

LISTS = ("FAIL_TO_PASS", "PASS_TO_PASS")
SUMMARY_LISTS = ("resolved_ids", "unresolved_ids", "completed_ids")
"""Keys of the summary of a whole run, which does not tell unresolved patches apart."""


@dataclass(frozen=True)
class Reported:
    """What a harness reports of a candidate; counts are None where it has no lists of tests."""

    instance_id: str
    outcome: Outcome
    dialect: Dialect
    resolved: bool | None
    f2p: tuple[int, int] | None = None
    p2p: tuple[int, int] | None = None
    note: str = ""

    def row(self, source: str, repo: str) -> dict[str, Any]:
        """A row of the table of outcomes."""
        f2p, p2p = self.f2p or (None, None), self.p2p or (None, None)
        levels = {"f2p": level(*self.f2p), "p2p": level(*self.p2p)} if self.f2p and self.p2p else {}
        return {
            "instance_id": self.instance_id,
            "repo": repo,
            "source": source,
            "outcome": self.outcome,
            "f2p_passed": f2p[0],
            "f2p_total": f2p[1],
            "p2p_passed": p2p[0],
            "p2p_total": p2p[1],
            "dialect": self.dialect,
            "reported_resolved": self.resolved,
            "note": self.note,
            **levels,
        }


def read_reports(path: Path, instances: Mapping[str, Instance]) -> dict[str, list[Reported]]:
    """All reports below a folder, or in one file, by the name of the folder that holds the instances' folders.

    That name is the model's in the layout ``logs/run_evaluation/<run>/<model>/<instance>/``. ``instances``, by id, tell
    how many tests there are where a report does not (SWE-bench-Live leaves out tests that are missing from the log).
    Raises InputError, one line with the file, for what is no report, and where there is none.
    """
    found: dict[str, list[Reported]] = {}
    if path.is_file():
        return {_named(path.resolve().parent.parent.name): _beside(path, list(_of_file(path, instances)))}
    for folder in _folders(path):
        found.setdefault(_named(folder.parent.resolve().name), []).extend(_of_folder(folder, instances))
    if not found:
        raise InputError(f"{path}: no {REPORT} below it: give the folder that a harness wrote, or one above")
    return found


def _named(folder: str) -> str:
    """A folder's name as text that can be written; its bytes may be none."""
    return os.fsencode(folder).decode("utf-8", "replace")


def _folders(path: Path) -> list[Path]:
    """The folders of instances: those that hold what a harness writes, and those beside them that are named alike.

    Links to folders are followed, each place once. Raises InputError for a folder that cannot be read.
    """

    def refuse(error: OSError) -> None:
        raise InputError(f"{error.filename}: {error.strerror}: all of it has to be readable, or rates would be wrong")

    seen: set[Path] = set()
    places: dict[Path, bool] = {}
    for name, folders, files in os.walk(path, onerror=refuse, followlinks=True):
        place = Path(name)
        if place.resolve() in seen:
            folders.clear()
            continue
        seen.add(place.resolve())
        places[place] = any(file in files for file in EVIDENCE)
    known = {place for place, has_evidence in places.items() if has_evidence}
    above = {parent for place in known for parent in place.parents}
    known -= above
    beside = {place.parent for place in known}
    return sorted(known | {one for one in places if one.parent in beside and one not in above and _is_named(one)})


def _is_named(folder: Path) -> bool:
    return "__" in folder.name and re.fullmatch(INSTANCE_ID, folder.name) is not None


def _of_folder(folder: Path, instances: Mapping[str, Instance]) -> Iterator[Reported]:
    """The folder's candidate; a patch that is empty or has nothing but tests is that, whatever was run with it."""
    if (folder / REPORT).is_file() and (folder / REPORT).stat().st_size:
        found = list(_of_file(folder / REPORT, instances))
    else:
        found = [_without_tests(folder, folder.name, resolved=None)]
    for one in found:
        if one.instance_id != folder.name:
            raise InputError(f"{folder / REPORT}: is of {one.instance_id}, in the folder of {folder.name}")
        yield _by_patch(folder, one)


def _beside(path: Path, found: list[Reported]) -> list[Reported]:
    """The candidates of one file; a report in its instance's folder is judged by the patch beside it as well."""
    folder = path.resolve().parent
    return [_by_patch(folder, one) if one.instance_id == folder.name else one for one in found]


def _by_patch(folder: Path, found: Reported) -> Reported:
    patch = _text(folder / PATCH)
    if patch is None or found.outcome == "empty":
        return found
    without = replace(found, f2p=None, p2p=None)
    if not patch.strip():
        return replace(without, outcome="empty", note="the patch is empty")
    paths = patch_paths(patch)
    if paths and all(map(is_test_file, paths)):
        return replace(without, outcome="test only", note="the patch changes nothing but tests")
    return found


def _of_file(path: Path, instances: Mapping[str, Instance]) -> Iterator[Reported]:
    content = _json(path)
    if any(key in content for key in SUMMARY_LISTS):
        raise InputError(
            f"{path}: the summary of a run, which does not tell its unresolved patches apart: give the folder of the "
            f"instances' {REPORT} files"
        )
    if "instance_id" in content:
        yield _live(path, str(content["instance_id"]), content, instances)
    elif "patch_exists" in content or "tests_status" in content:
        yield _swe_bench(path, path.resolve().parent.name, content)
    elif content and all(isinstance(report, dict) and "resolved" in report for report in content.values()):
        for name, report in content.items():
            yield _swe_bench(path, name, report)
    else:
        keys = ", ".join(sorted(content)[:5]) or "none"
        raise InputError(f"{path}: no report of SWE-bench or SWE-bench-Live; its keys are {keys}")


def _swe_bench(path: Path, name: str, report: Mapping[str, Any]) -> Reported:
    if re.fullmatch(INSTANCE_ID, name) is None:
        raise InputError(f"{path}: {name!r} is no instance id")
    resolved = _is_resolved(path, name, report)
    if resolved and not isinstance(report.get("tests_status"), dict):
        raise InputError(
            f"{path}: {name}: resolved is true, but it has no lists of tests: the report was changed or cut"
        )
    if report.get("patch_is_None") or report.get("patch_exists") is False:
        return Reported(name, "empty", "swe-bench", resolved)
    if report.get("infra_failure"):
        told = str(report.get("infra_failure_reason", "infrastructure failure"))
        why = f"the harness says: {told.encode('utf-8', 'replace').decode()}"
        return Reported(name, "infrastructure failure", "swe-bench", resolved, note=why)
    if not isinstance(report.get("tests_status"), dict):
        return _without_tests(path.parent, name, resolved)
    f2p, p2p = (_counts(path, report["tests_status"], key) for key in LISTS)
    return _from_lists(path, Reported(name, "No-Op", "swe-bench", resolved, f2p, p2p))


def _live(path: Path, name: str, report: Mapping[str, Any], instances: Mapping[str, Instance]) -> Reported:
    """A report of SWE-bench-Live: tests missing from the log are in no list; of these F2P fail, and P2P hold."""
    if re.fullmatch(INSTANCE_ID, name) is None:
        raise InputError(f"{path}: {name!r} is no instance id")
    resolved = _is_resolved(path, name, report)
    f2p, p2p = (_counts(path, report, key) for key in LISTS)
    note = ""
    if name in instances:
        _require_same_tests(path, report, instances[name])
        f2p = (f2p[0], max(f2p[1], len(set(instances[name].fail_to_pass))))
        failed, total = p2p[1] - p2p[0], max(p2p[1], len(set(instances[name].pass_to_pass)))
        p2p = (total - failed, total)
    elif not resolved and f2p[0] == f2p[1] and p2p[0] == p2p[1]:
        f2p, note = (f2p[0], f2p[1] + 1), "F2P tests are missing from the log, the report does not say how many"
    return _from_lists(path, Reported(name, "No-Op", "swe-bench-live", resolved, f2p, p2p, note))


def _require_same_tests(path: Path, report: Mapping[str, Any], instance: Instance) -> None:
    """Raise InputError where a report lists a test that its instance does not have."""
    for key, tests in zip(LISTS, (instance.fail_to_pass, instance.pass_to_pass), strict=True):
        listed = {test for part in ("success", "failure") for test in report[key][part]}
        if strange := sorted(listed.difference(tests)):
            raise InputError(
                f"{path}: {key} lists {strange[0]}, which the dataset's {instance.instance_id} does not have: name the "
                "dataset that was run"
            )


def _from_lists(path: Path, reported: Reported) -> Reported:
    """The report with the outcome of its counts; raises InputError where these say another thing than ``resolved``."""
    assert reported.f2p is not None and reported.p2p is not None
    if not reported.f2p[1]:
        raise InputError(f"{path}: {reported.instance_id}: no fail-to-pass test is listed")
    found = outcome(*reported.f2p, *reported.p2p)
    if (found == "Resolved") != reported.resolved:
        told = str(reported.resolved).lower()
        raise InputError(
            f"{path}: {reported.instance_id}: resolved is {told}, but its lists of tests make it {found}: the report "
            "was changed or cut"
        )
    return replace(reported, outcome=found)


def _without_tests(folder: Path, name: str, resolved: bool | None) -> Reported:
    """The outcome of a candidate whose report has no lists of tests, or that has none, from the logs beside."""
    if re.fullmatch(INSTANCE_ID, name) is None:
        raise InputError(f"{folder}: {name!r} is no instance id")
    logs = {file: _text(folder / file) for file in (RUN_LOG, TEST_LOG)}
    said = "\n".join(text for text in logs.values() if text is not None)
    if NOT_APPLIED in said:
        return Reported(name, "not applied", "swe-bench", resolved)
    if TIMED_OUT in said:
        return Reported(name, "timed out", "swe-bench", resolved)
    if resolved is None:
        why = f"the harness left no {REPORT}"
        return Reported(name, "infrastructure failure", "swe-bench", resolved, note=why)
    if logs[TEST_LOG] is not None:
        why = "the harness found no valid results in the log: no test counts as passed"
        return Reported(name, "Regression", "swe-bench", resolved, note=why)
    return Reported(name, "not applied", "swe-bench", resolved, note="the harness says so; no log is beside the report")


def _is_resolved(path: Path, name: str, report: Mapping[str, Any]) -> bool:
    told = report.get("resolved", False)
    if not isinstance(told, bool):
        raise InputError(f"{path}: {name}: resolved is {told!r}, neither true nor false")
    return told


def _counts(path: Path, lists: Mapping[str, Any], key: str) -> tuple[int, int]:
    """How many tests of a list passed, and how many there are; a name twice counts once."""
    parts = lists.get(key)
    names = [parts.get(part) for part in ("success", "failure")] if isinstance(parts, dict) else [None]
    if not all(isinstance(part, list) and all(isinstance(test, str) for test in part) for part in names):
        raise InputError(f"{path}: {key} has no lists success and failure of names of tests")
    passed, failed = (set(part or ()) for part in names)
    if passed & failed:
        raise InputError(f"{path}: {key} has {min(passed & failed)} among its passed and its failed tests")
    return len(passed), len(passed | failed)


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: no JSON: {error}") from None
    if not isinstance(content, dict):
        raise InputError(f"{path}: {type(content).__name__} at top level, expected an object")
    return content


def _text(path: Path) -> str | None:
    """What is in a file, None where there is none; raises InputError for one that cannot be read."""
    try:
        return path.read_bytes().decode("utf-8", "surrogateescape")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}: all of it has to be readable, or rates would be wrong") from None
