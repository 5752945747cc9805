"""Cases measured with a simulator: wall time natively, counts in a pass of their own. The emulators are real."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small_cases import FAST, PYTEST_FILE, SLOW, UNITTEST_FILE, plan, solution

from patchperf.counters.preflight import COUNTERS
from patchperf.errors import MachineError
from patchperf.measure.case import CasePlan, measure_case
from patchperf.measure.journal import read_journal
from patchperf.sandbox.protocol import Limits


def prepared(backend: str, cache: Path) -> dict[str, Any]:
    """Changes of a plan that make a simulator count its case."""
    simulator = COUNTERS[backend]
    try:
        folder = simulator.prepare(cache, Path(sys.executable))
    except MachineError as error:
        pytest.skip(str(error))
    return {"counter": simulator, "counter_folder": folder, "counting_seconds": 0.05, "replicates": 1, "warmup": 1}


@pytest.fixture(scope="module", params=["qemu", "callgrind"])
def simulated(request, tmp_path_factory):
    return prepared(request.param, tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def under_qemu(tmp_path_factory):
    return prepared("qemu", tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def measured(sandbox, simulated, tmp_path_factory):
    folder = tmp_path_factory.mktemp("case")
    case = plan(sandbox.layout, solution(folder, "a", SLOW), solution(folder, "b", FAST), **simulated)
    return case, measure_case(case, sandbox, Limits(), folder / "journal").records, folder


def test_every_replicate_has_wall_time_and_a_count_of_processes_of_their_own(measured):
    case, records, _ = measured
    assert [record.reason for record in records] == [""] * 4
    metrics = [(record.solution, record.replicate, record.metric) for record in records]
    assert len(set(metrics)) == 4
    assert [metric for _, _, metric in metrics] == ["wall_ns"] * 2 + ["instructions"] * 2
    assert len({record.pid for record in records}) == 4
    assert {record.backend for record in records[2:]} == {case.counter.backend}


def test_a_count_is_scaled_to_the_repetitions_that_wall_time_is_of(measured):
    _, records, _ = measured
    assert len({record.repetitions for record in records}) == 1
    for record in records[2:]:
        assert 1 <= record.counted_repetitions < record.repetitions
        per_repetition = record.value / record.repetitions
        assert 1000 < per_repetition < 1_000_000
        assert 0 < record.count_constant < 50_000


def test_the_number_of_counted_repetitions_comes_from_a_trial_under_the_emulator(measured):
    """Of the slowest solution; what is counted then is to take the time that was asked for."""
    case, records, folder = measured
    entries = read_journal(folder / "journal", case.digest)
    (trial,) = (entry for entry in entries if entry.stage == "counting-trial")
    assert (trial.solution, trial.emulation) == ("a", case.counting.emulation)
    expected = case.counting_seconds / (trial.report.wall_ns / 1e9 / trial.repetitions)
    assert {record.counted_repetitions for record in records[2:]} == {max(1, int(expected))}


def test_both_passes_run_with_the_same_seeds_and_layouts(measured):
    _, records, _ = measured
    wall, counts = records[:2], records[2:]
    for one, other in zip(wall, counts, strict=True):
        for name in ("solution", "replicate", "order", "hash_seed", "padding_bytes"):
            assert getattr(one, name) == getattr(other, name)


def test_the_conditions_of_the_passes_are_kept_apart(measured):
    case, records, _ = measured
    wall, counts = records[:2], records[2:]
    assert {(record.emulator, record.emulated_cpu, record.counted_repetitions) for record in wall} == {(None,) * 3}
    assert {record.emulator for record in counts} == {case.counting.emulation.emulator}
    assert {record.emulated_cpu for record in counts} == {case.counting.emulation.cpu}
    assert {record.window_position for record in counts} == {None}
    for name in ("environment_bytes", "environment_crc32", "arguments_bytes", "arguments_crc32"):
        assert len({getattr(record, name) for record in counts}) == 1
        assert None not in {getattr(record, name) for record in counts}


def test_the_slower_solution_takes_more_instructions(measured):
    _, records, _ = measured
    values = {solution: [r.value for r in records[2:] if r.solution == solution] for solution in "ab"}
    assert min(values["a"]) > 2 * max(values["b"])


def test_a_counted_case_is_read_from_its_journal_without_running_anything(measured):
    case, records, folder = measured
    assert measure_case(case, None, Limits(), folder / "journal").records == records  # type: ignore[arg-type]


def as_pytest(case: CasePlan, python: str) -> CasePlan:
    return replace(
        case,
        argv=(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_total.py"),
        environment={**case.environment, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        passed=lambda completed: None if "1 passed" in completed.output else "not one passed test",
    )


SCRIPT = "#!/usr/bin/env python\nimport runpy\nrunpy.run_path('test_total.py', run_name='__main__')\n"


@pytest.mark.parametrize("way", ["pytest", "found on PATH", "script of the tree", "shell"])
def test_a_command_is_counted_however_it_comes_to_its_python(sandbox, under_qemu, tmp_path, way):
    one = solution(tmp_path, "a", FAST, PYTEST_FILE if way == "pytest" else UNITTEST_FILE)
    case = plan(sandbox.layout, one, **under_qemu)
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    case = replace(case, environment={**case.environment, "PATH": path})
    if way == "pytest":
        case = as_pytest(case, sys.executable)
    elif way == "found on PATH":
        case = replace(case, argv=("python", "test_total.py", "-v"))
    elif way == "script of the tree":
        (one.tree / "run").write_text(SCRIPT)
        (one.tree / "run").chmod(0o755)
        case = replace(case, argv=("./run",))
    else:
        case = replace(case, argv=("bash", "-c", "cd . && python test_total.py -v"))
    wall, counted = measure_case(case, sandbox, Limits(), tmp_path / "journal").records
    assert (wall.reason, counted.reason) == ("", "")
    assert counted.value > 0


LEAVING = """
import os
import sys
import unittest
from pathlib import Path
left = Path(os.environ["TMPDIR"], "left")
if not left.exists():
    left.touch()
    os.execv(sys.executable, [sys.executable, *sys.argv])
"""


def test_a_solution_that_cannot_be_counted_keeps_its_wall_time(sandbox, under_qemu, tmp_path):
    """The test's own process is left to an unemulated one, which nothing counts."""
    leaving = UNITTEST_FILE.replace("import unittest", LEAVING)
    solutions = solution(tmp_path, "a", FAST), replace(solution(tmp_path, "b", FAST, leaving), required=False)
    case = plan(sandbox.layout, *solutions, attempts=1, **under_qemu)
    case = replace(case, environment={**case.environment, "LC_ALL": "C.UTF-8"})
    result = measure_case(case, sandbox, Limits(), tmp_path / "journal")
    assert set(result.uncounted) == {"b"}
    # The trial is of the slower solution, which of two so alike is by chance either.
    assert result.uncounted["b"].reason in {"counting-trial-counter-unreadable", "counting-counter-unreadable"}
    valid = {(record.solution, record.metric) for record in result.records if not record.void}
    assert valid == {("a", "wall_ns"), ("a", "instructions"), ("b", "wall_ns")}
    reasons = [entry.void for entry in read_journal(tmp_path / "journal", case.digest) if entry.void]
    assert len(reasons) == 1
    assert "the program did not run under" in reasons[0]
