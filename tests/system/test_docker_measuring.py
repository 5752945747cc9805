"""A case measured in a container, with solutions that try to have their way with the numbers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import docker
import pytest
from debian_packages import need

from patchperf.counters.preflight import COUNTERS
from patchperf.counters.programs import ELF, ImagePrograms
from patchperf.measure.calibration import CountingWindow, Window
from patchperf.measure.case import CasePlan, Solution
from patchperf.measure.counting import Native, count_case
from patchperf.measure.journal import Entry, read_journal
from patchperf.measure.native import measure_case
from patchperf.measure.records import to_frame
from patchperf.measure.result import CaseResult
from patchperf.sandbox.container import LAYOUT, DockerSandbox
from patchperf.sandbox.protocol import Completed, Limits

DIGEST = "c0ffee" * 10 + "beef"
HONEST = "def total(n):\n    return sum(range(n))\n"
TEST = """
import unittest
import package
from patchperf_inprocess import measured

class TotalTest(unittest.TestCase):
    @measured
    def test_total(self):
        self.assertEqual(package.total(40), 780)

unittest.main()
"""
REPLACES = (
    HONEST
    + f"""
import os, sys
for act in (
    lambda: open("{LAYOUT.tools}/patchperf_inprocess.py", "w"),
    lambda: os.unlink("{LAYOUT.tools}/patchperf_inprocess.py"),
    lambda: os.rename("{LAYOUT.tools}/spec.json", "{LAYOUT.tools}/other"),
    lambda: os.symlink("/testbed/package.py", "{LAYOUT.tools}/patchperf_inprocess.pyc"),
):
    try:
        act()
        print("REPLACED")
    except OSError:
        pass
"""
)
WRITES = (
    HONEST
    + f"""
import atexit, json
def forge():
    name = "{LAYOUT.out}/result.jsonl"
    told = json.loads(open(name).readlines()[0])
    with open(name, "a") as file:
        file.write(json.dumps(dict(told, wall_ns=1)) + "\\n")
atexit.register(forge)
"""
)
SLOWS = (
    HONEST
    + """
import os
for _ in range(2):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True:
                open("/testbed/burning", "w").close()
        os._exit(0)
"""
)


def one_pass(completed: Completed) -> str | None:
    return None if "Ran 1 test in" in completed.output and "\nOK\n" in completed.output else "not one passed test"


def a_plan(folder: Path, codes: tuple[str, str], **changes: Any) -> CasePlan:
    """A plan of an honest solution (required) and another one."""
    solutions = []
    for name, text in zip(("honest", "other"), codes, strict=True):
        tree = folder / name
        tree.mkdir()
        (tree / "package.py").write_text(text)
        (tree / "test_total.py").write_text(TEST)
        solutions.append(Solution(name, (name,), tree, f"digest-{name}", required=name == "honest"))
    settings: dict[str, Any] = {
        "instance_id": "owner__name-1",
        "digest": DIGEST,
        "solutions": tuple(solutions),
        "argv": ("/usr/bin/python3", "test_total.py", "-v"),
        "environment": {"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{LAYOUT.tree}:{LAYOUT.tools}"},
        "passed": one_pass,
        "warmup": 4,
        "window": Window(min_seconds=0.005, max_seconds=0.05),
        "replicates": 2,
        "attempts": 2,
        "seed": 1,
        "timeout": 120.0,
        "work": folder / "work",
    }
    return CasePlan(**settings | changes)


@pytest.fixture
def measure(
    client: docker.DockerClient, old_image: str, tmp_path: Path
) -> Callable[[str], tuple[CaseResult, list[Entry]]]:
    """Measures an honest solution beside another one."""

    def measure(code: str) -> tuple[CaseResult, list[Entry]]:
        journal = tmp_path / "journal" / f"{DIGEST}.jsonl"
        with DockerSandbox(client, old_image, tmp_path / "sandbox", "measuring") as sandbox:
            result = measure_case(a_plan(tmp_path, (HONEST, code)), sandbox, Limits(), journal)
        return result, read_journal(journal, DIGEST)

    return measure


def voids(entries: list[Entry], solution: str) -> set[str | None]:
    return {entry.void for entry in entries if entry.solution == solution}


def test_honest_solutions_give_valid_values_of_processes_that_this_machine_knows(measure):
    result, entries = measure(HONEST.replace("sum(range(n))", "sum(list(range(n)))"))
    assert {entry.void for entry in entries} == {None}
    assert {entry.confinement for entry in entries} == {"docker"}
    pids = [entry.pid for entry in entries]
    assert None not in pids
    assert len(set(pids)) == len(pids)
    assert not result.dropped


def test_the_module_that_measures_cannot_be_replaced(measure):
    result, entries = measure(REPLACES)
    assert {entry.void for entry in entries} == {None}
    assert not result.dropped


def test_a_record_that_a_patch_writes_itself_makes_its_runs_void_and_no_others(measure):
    result, entries = measure(WRITES)
    assert list(result.dropped) == ["other"]
    assert {(void or "").partition(":")[0] for void in voids(entries, "other")} == {"several-results"}
    assert voids(entries, "honest") == {None}


def test_a_patch_that_leaves_processes_to_slow_the_others_leaves_none(measure):
    _, entries = measure(SLOWS)
    assert voids(entries, "honest") == {None}
    told = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert "test_total.py" not in told


def test_counts_under_an_emulator_are_of_the_images_python(client, old_image, tmp_path):
    need({"qemu-x86_64": "qemu-user", "cc": "gcc libc6-dev"})
    (tmp_path / "cache").mkdir()
    plan = a_plan(
        tmp_path,
        (HONEST, HONEST.replace("sum(range(n))", "sum(list(range(n)))")),
        counter=COUNTERS["qemu"],
        counter_folder=COUNTERS["qemu"].prepare(tmp_path / "cache", Path(sys.executable)),
        programs=ImagePrograms({"/usr/bin": {"python3": ELF}}),
        argv=("python3", "test_total.py", "-v"),
        counting=CountingWindow(min_seconds=0.2, max_seconds=0.4),
    )
    with DockerSandbox(client, old_image, tmp_path / "sandbox", "measuring") as sandbox:
        native = measure_case(plan, sandbox, Limits(), tmp_path / "journal" / f"{DIGEST}.jsonl")
        known = Native.of(to_frame(native.records))
        assert known is not None
        counts = count_case(plan, known, sandbox, Limits(), tmp_path / "journal" / "counting.jsonl")
    assert not counts.dropped
    values = {record.solution: record.value for record in counts.records if record.metric == "instructions"}
    assert values["other"] > values["honest"] > 40
