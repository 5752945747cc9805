"""Whole cases in the real sandbox: tiny trees whose test files carry the decorator, edited in by hand."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
from small_cases import DIGEST, FAST, PYTEST_FILE, SLOW, UNITTEST_FILE, plan, solution

from patchperf.errors import InputError
from patchperf.measure.calibration import Window
from patchperf.measure.case import CasePlan, Progress
from patchperf.measure.envelope import fixed_variables
from patchperf.measure.journal import Entry, read_journal
from patchperf.measure.native import measure_case
from patchperf.measure.records import Record
from patchperf.measure.result import CaseResult, UnmeasurableError
from patchperf.measure.schedule import environment, order, padding
from patchperf.sandbox.namespaces import HOME, TMPDIR
from patchperf.sandbox.processes import Processes
from patchperf.sandbox.protocol import Limits, Sandbox

LIMITS = Limits()


class Here:
    """A folder to measure small cases in."""

    def __init__(self, folder: Path, sandbox: Sandbox) -> None:
        self.folder = folder
        self.sandbox = sandbox
        self.journal = folder / "journal" / f"{DIGEST}.jsonl"

    def plan(self, *solutions: tuple[str, ...], **changes: Any) -> CasePlan:
        """A plan of solutions, each given by its code and, if it is not the usual one, its test file."""
        made = [solution(self.folder, name, *parts) for name, parts in zip("abc", solutions, strict=False)]
        return plan(self.sandbox.layout, *made, **changes)

    def measure(self, case: CasePlan, progress: Callable[[Progress], None] = lambda _: None) -> list[Record]:
        return self.result(case, progress).records

    def result(self, case: CasePlan, progress: Callable[[Progress], None] = lambda _: None) -> CaseResult:
        return measure_case(case, self.sandbox, LIMITS, self.journal, progress)

    def measure_nothing(self, case: CasePlan) -> list[Record]:
        """Where a process would have to be run, this fails."""
        return measure_case(case, None, LIMITS, self.journal).records  # type: ignore[arg-type]

    @property
    def entries(self) -> list[Entry]:
        return read_journal(self.journal, DIGEST)


@pytest.fixture
def here(sandbox, tmp_path):
    return Here(tmp_path, sandbox)


@pytest.fixture(scope="module")
def measured(sandbox, tmp_path_factory):
    """A case of two solutions and three rounds: where, its plan, its records."""
    here = Here(tmp_path_factory.mktemp("case"), sandbox)
    case = here.plan((SLOW,), (FAST,), replicates=3)
    return here, case, here.measure(case)


def test_a_case_is_measured_in_the_order_of_its_schedule(measured):
    here, case, records = measured
    slots = order(["a", "b"], 3, 1, case.instance_id)
    assert [(record.solution, record.replicate, record.order) for record in records] == [
        (slot.solution, slot.replicate, slot.order) for slot in slots
    ]
    assert not any(record.void for record in records)
    stages = [(entry.stage, entry.solution) for entry in here.entries]
    assert stages[:3] == [("trial", "a"), ("trial", "b"), ("calibration", "b")]
    assert len(stages) == 3 + 6


def test_all_replicates_are_fresh_processes_with_the_same_n_and_warm_up(measured):
    here, _, records = measured
    assert len({record.pid for record in records}) == len(records) == 6
    assert os.getpid() not in {record.pid for record in records}
    calibration = here.entries[2].report
    assert {record.repetitions for record in records} == {calibration.repetitions}
    assert {record.warmup for record in records} == {4}
    assert {record.solution for record in records if record.anchor} == {"b"}


def test_a_round_has_one_hash_seed_and_one_environment_for_all_solutions(measured):
    records = measured[2]
    for replicate in range(3):
        rows = [record for record in records if record.replicate == replicate]
        assert {(row.hash_seed, row.padding_bytes) for row in rows} == {(replicate, padding(1, replicate))}
        assert len({(row.environment_bytes, row.environment_crc32) for row in rows}) == 1
        assert len({(row.arguments_bytes, row.arguments_crc32) for row in rows}) == 1
    assert len({record.environment_crc32 for record in records}) == 3
    assert all(record.environment_bytes > record.padding_bytes for record in records)
    assert {record.arguments_bytes for record in records} == {len(f"{sys.executable} test_total.py -v ")}


def test_the_seconds_of_a_process_add_up(measured):
    """The start of a process is known to a hundredth of a second."""
    for record in measured[2]:
        inside = record.warmup_seconds + record.loop_seconds
        assert record.loop_seconds == pytest.approx(record.value / 1e9)
        assert 0 < inside < record.process_seconds
        assert 0 < record.harness_seconds < record.process_seconds - inside
        assert record.startup_seconds <= record.process_seconds - inside + 0.02
        assert record.host_seconds > 0


def test_a_measured_case_is_read_from_its_journal_without_running_anything(measured):
    here, case, records = measured
    assert here.measure_nothing(case) == records
    assert [path.name for path in here.journal.parent.iterdir()] == [here.journal.name]


def test_bytecode_is_cached_before_the_first_replicate(measured):
    here, case, _ = measured
    started = min(entry.started_at for entry in here.entries if entry.stage == "replicate")
    for one in case.solutions:
        compiled = list(one.tree.glob("__pycache__/*.pyc"))
        assert [path.name.partition(".")[0] for path in compiled] == ["package"]
        assert all(path.stat().st_mtime < started.timestamp() for path in compiled)


def test_a_journal_of_another_case_is_not_continued(measured):
    here, case, _ = measured
    with pytest.raises(InputError, match="delete the file"):
        here.measure_nothing(replace(case, digest="other"))


@pytest.mark.parametrize("confined", [True, False])
def test_pytest_runs_a_case_with_fixtures_passed_by_keyword(here, confined):
    here.sandbox = here.sandbox if confined else Processes(here.folder / "work")
    case = here.plan((FAST, PYTEST_FILE), replicates=1)
    case = replace(
        case,
        argv=(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_total.py"),
        environment={**case.environment, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        passed=lambda completed: None if "1 passed" in completed.output else "not one passed test",
    )
    (record,) = here.measure(case)
    assert (record.void, record.reason) == (False, "")
    assert record.confinement == here.sandbox.confinement
    assert {entry.report.call_shape for entry in here.entries} == {"numbers=_, tmp_path=_"}
    assert record.pid not in {entry.pid for entry in here.entries[:-1]}


def failing_at(*starts: int) -> str:
    """A test file that fails in the given starts of its process (1-based), which it counts in its tree."""
    head, main, tail = UNITTEST_FILE.partition("if __name__")
    return f"""{head}
from pathlib import Path
starts = Path(__file__).with_name("starts")
starts.write_text((starts.read_text() if starts.exists() else "") + "x")
if len(starts.read_text()) in {starts}:
    total = None

{main}{tail}"""


def test_a_void_replicate_is_kept_and_run_again(here):
    """Starts: 1 is the trial, 2 the calibration, 3 the first replicate."""
    seen = []
    records = here.measure(here.plan((FAST, failing_at(3))), seen.append)
    assert [(record.replicate, record.attempt, record.void) for record in records] == [
        (0, 1, True),
        (0, 2, False),
        (1, 1, False),
    ]
    assert records[0].reason == "test-failed: call 1 (warmup): TypeError: 'NoneType' object is not callable"
    assert [(step.stage, step.done, step.total) for step in seen] == [
        ("trial", 1, 4),
        ("calibration", 2, 4),
        ("replicate", 2, 4),
        ("replicate", 3, 4),
        ("replicate", 4, 4),
    ]


def test_a_solution_that_stays_void_ends_its_case_with_the_evidence(here):
    case = here.plan((FAST, failing_at(4, 5)))
    with pytest.raises(UnmeasurableError) as caught:
        here.measure(case)
    error = caught.value
    assert (error.instance_id, error.solution, error.reason) == ("owner__name-1", "a", "replicate-test-failed")
    assert "replicate 1 is void after 2 of 2 attempts: test-failed: call 1 (warmup)" in error.evidence
    assert "\n" not in str(error)
    assert [record.void for record in error.records] == [False, True, True]
    tails = [entry.output_tail for entry in here.entries]
    assert "object is not callable" in tails[-1]
    assert tails[0] == ""
    with pytest.raises(UnmeasurableError, match="replicate 1 is void after 2 of 2 attempts"):
        here.measure_nothing(case)


TWICE = UNITTEST_FILE.replace("if __name__", "    def test_again(self):\n        self.test_total()\n\nif __name__")
SLEEPING = UNITTEST_FILE.replace("self.assert", "import time; time.sleep(9); self.assert")
EXITING = UNITTEST_FILE.replace("unittest.main()", "unittest.main(exit=False); raise SystemExit(4)")


@pytest.mark.parametrize(
    ("test", "changes", "reason"),
    [
        (TWICE, {}, "trial-several-results"),
        (UNITTEST_FILE.replace("    @measured\n", ""), {}, "trial-no-result"),
        (UNITTEST_FILE.replace("780", "781"), {}, "trial-test-failed"),
        (UNITTEST_FILE, {"passed": lambda _: "2 tests"}, "trial-not-passed"),
        (SLEEPING, {"timeout": 1.0}, "trial-timeout"),
        (EXITING, {}, "trial-exit-code"),
    ],
)
def test_a_case_whose_trial_is_void_says_why(here, test, changes, reason):
    with pytest.raises(UnmeasurableError) as caught:
        here.measure(here.plan((FAST, test), attempts=1, **changes))
    assert caught.value.reason == reason
    assert caught.value.records == []


CHANGING = UNITTEST_FILE.replace(
    "import unittest",
    """
import os, sys, unittest
if "CHANGED" not in os.environ:
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "CHANGED": "1"})
""",
)


def test_a_solution_that_runs_in_another_environment_than_the_others_of_its_round_is_void(here):
    """The ground truth comes first or second in a round: whoever is the other one is told apart from it."""
    case = optional(here.plan((FAST,), (FAST, CHANGING), attempts=1, replicates=1), "a", "b")
    result = here.result(case)
    (dropped,) = result.dropped.values()
    assert dropped.reason == "replicate-wrong-environment"
    assert re.search(r"wrong-environment: \d+ bytes \(CRC-32 \d+\) instead of \d+ bytes", dropped.evidence)
    assert [record.void for record in result.records] == [False, True]


USERS = {
    "LC_ALL": "de_DE.UTF-8",
    "TZ": "America/New_York",
    "OMP_NUM_THREADS": "64",
    "MKL_NUM_THREADS": "64",
    "PYTHONOPTIMIZE": "2",
    "PYTHONHASHSEED": "99",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONSTARTUP": "/etc/passwd",
    "PYTHONPATH": "/nowhere",
    "PYTEST_ADDOPTS": "--unheard-of",
    "GLIBC_TUNABLES": "glibc.malloc.check=3",
    "LD_BIND_NOW": "1",
}


@pytest.mark.parametrize("confined", [True, False])
def test_a_measured_process_has_the_environment_it_is_promised_and_nothing_of_the_users(here, monkeypatch, confined):
    work = here.folder / "work"
    here.sandbox = here.sandbox if confined else Processes(work)
    home, temporary = (HOME, TMPDIR) if confined else (str(work / "home"), str(work / "tmp"))
    case = here.plan((FAST,), replicates=1)
    case = replace(case, environment={**case.environment, **fixed_variables(2)})
    for name, value in USERS.items():
        monkeypatch.setenv(name, value)
    (record,) = here.measure(case)
    promised = environment(case.environment, 0, padding(1, 0))
    promised |= {"HOME": home, "TMPDIR": temporary, "PWD": here.sandbox.layout.tree}
    content = b"".join(f"{name}={value}\0".encode() for name, value in sorted(promised.items()))
    assert (record.void, record.environment_bytes, record.environment_crc32) == (False, len(content), crc32(content))


def sleeping(seconds: float) -> str:
    return f"import time\ndef total(n):\n    time.sleep({seconds})\n    return 780\n"


def test_a_loop_that_would_outlast_the_timeout_is_not_even_tried(here):
    window = Window(min_seconds=0.05, max_seconds=0.2)
    with pytest.raises(UnmeasurableError, match=r"need about \d+ s, a replicate may take 5 s") as caught:
        here.measure(here.plan((FAST,), (sleeping(0.3),), warmup=1, timeout=5.0, window=window))
    assert (caught.value.solution, caught.value.reason) == ("b", "loop-exceeds-timeout")
    assert {entry.stage for entry in here.entries} == {"trial", "calibration"}


def optional(case: CasePlan, *names: str) -> CasePlan:
    """The case without whose named solutions it can be measured."""
    return replace(case, solutions=tuple(replace(one, required=one.id not in names) for one in case.solutions))


def test_a_solution_that_cannot_be_measured_is_dropped_and_the_others_are_measured(here):
    """b fails its second replicate twice (starts 3 and 4); its first was good and is void with it."""
    case = optional(here.plan((FAST,), (SLOW, failing_at(3, 4)), (SLOW,), attempts=2), "b")
    result = here.result(case)
    valid = [(record.solution, record.replicate) for record in result.records if not record.void]
    assert sorted(valid) == [("a", 0), ("a", 1), ("c", 0), ("c", 1)]
    voids = [record.reason.partition(":")[0] for record in result.records if record.solution == "b"]
    assert voids == ["dropped", "test-failed", "test-failed"]
    assert {name: error.reason for name, error in result.dropped.items()} == {"b": "replicate-test-failed"}
    assert here.measure_nothing(case) == result.records


def test_a_solution_that_would_outlast_the_timeout_is_dropped_alone(here):
    window = Window(min_seconds=0.05, max_seconds=0.2)
    case = here.plan((FAST,), (sleeping(0.3),), warmup=1, timeout=5.0, window=window)
    result = here.result(optional(case, "b"))
    assert {record.solution for record in result.records} == {"a"}
    assert result.dropped["b"].reason == "loop-exceeds-timeout"


def test_the_next_fastest_solution_anchors_n_when_the_fastest_drops_out(here):
    """Starts of a: 1 is the trial, 2 and 3 the calibrations."""
    case = optional(here.plan((FAST, failing_at(2, 3)), (SLOW,)), "a")
    result = here.result(case)
    assert {record.solution for record in result.records if record.anchor} == {"b"}
    assert {name: error.reason for name, error in result.dropped.items()} == {"a": "calibration-test-failed"}


def test_a_single_repetition_above_the_window_is_taken_and_flagged(here):
    (record,) = here.measure(here.plan((sleeping(0.1),), warmup=0, replicates=1))
    assert (record.repetitions, record.window_position, record.void) == (1, "above", False)
    assert record.first_call_ns is None


def test_solutions_need_distinct_names(here):
    one = here.plan((FAST,)).solutions
    for case in (here.plan(), replace(here.plan(), solutions=one * 2)):
        with pytest.raises(InputError, match="needs solutions with distinct names"):
            here.measure_nothing(case)


DRIVER = """
import sys
from pathlib import Path
from small_cases import FAST, SLOW, plan, solution
from patchperf.config import SandboxSettings
from patchperf.measure.native import measure_case
from patchperf.sandbox.local import local_sandbox
from patchperf.sandbox.protocol import Limits

folder, journal = Path(sys.argv[1]), Path(sys.argv[2])
sandbox = local_sandbox(SandboxSettings(), folder / "sandbox")
case = plan(sandbox.layout, solution(folder, "a", SLOW), solution(folder, "b", FAST))
measure_case(case, sandbox, Limits(), journal)
"""


def test_a_driver_killed_between_replicates_loses_at_most_the_one_in_flight(here):
    """Killed when the second replicate is in its journal: by then two trials and the calibration are."""
    command = [sys.executable, "-c", DRIVER, here.folder, here.journal]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    deadline = time.monotonic() + 60
    with subprocess.Popen(command, env=environment) as driver:
        while not (here.journal.exists() and here.journal.read_bytes().count(b"\n") >= 5):
            assert driver.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.005)
        driver.send_signal(signal.SIGKILL)
    before = here.entries
    case = here.plan((SLOW,), (FAST,))
    records = here.measure(case)
    after = here.entries
    kept = [entry.pid for entry in before if entry.stage == "replicate"]
    fresh = [entry for entry in after[len(before) :] if entry.stage == "replicate"]
    assert len(kept) >= 2
    assert after[: len(before)] == before
    assert len(kept) + len(fresh) == 4
    assert [record.pid for record in records] == [*kept, *(entry.pid for entry in fresh)]
    assert [(record.solution, record.replicate) for record in records] == [
        (slot.solution, slot.replicate) for slot in order(["a", "b"], 2, 1, case.instance_id)
    ]
    assert len({record.repetitions for record in records}) == 1
    assert [entry.stage for entry in after].count("calibration") == 1
    warmed = [entry.solution for entry in after if entry.stage == "warming"]
    assert sorted(warmed) == sorted({entry.solution for entry in fresh})
