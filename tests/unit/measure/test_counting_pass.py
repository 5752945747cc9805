"""Cases measured with a simulator: wall time natively, counts in a pass of their own. The emulators are real."""

from __future__ import annotations

import itertools
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small_cases import FAST, PYTEST_FILE, SLOW, UNITTEST_FILE, plan, solution

from patchperf.counters.preflight import COUNTERS
from patchperf.errors import InputError, MachineError
from patchperf.measure.calibration import CountingWindow
from patchperf.measure.case import CasePlan
from patchperf.measure.counting import Native, count_case
from patchperf.measure.journal import read_journal
from patchperf.measure.native import measure_case
from patchperf.measure.records import Record, to_frame
from patchperf.measure.result import CaseResult
from patchperf.sandbox.protocol import Limits, Sandbox


def prepared(backend: str, cache: Path) -> dict[str, Any]:
    """Changes of a plan that make a simulator count its case."""
    simulator = COUNTERS[backend]
    try:
        folder = simulator.prepare(cache, Path(sys.executable))
    except MachineError as error:
        pytest.skip(str(error))
    window = CountingWindow(min_seconds=0.05, max_seconds=0.05)
    return {"counter": simulator, "counter_folder": folder, "counting": window, "replicates": 1, "warmup": 1}


def both_passes(case: CasePlan, sandbox: Sandbox | None, folder: Path) -> tuple[list[Record], CaseResult]:
    """The records of the native pass, and what came of the counting one."""
    wall = measure_case(case, sandbox, Limits(), folder / "journal").records  # type: ignore[arg-type]
    native = Native.of(to_frame(wall))
    assert native is not None
    return wall, count_case(case, native, sandbox, Limits(), folder / "counting")  # type: ignore[arg-type]


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
    wall, counted = both_passes(case, sandbox, folder)
    return case, [*wall, *counted.records], folder


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
    entries = read_journal(folder / "counting", case.digest)
    trials = [entry for entry in entries if entry.stage == "counting-trial"]
    first, last = trials[0], trials[-1]
    assert all(trial.solution == "a" and trial.emulation == case.emulated.emulation for trial in trials)
    expected = case.counting.min_seconds / (first.report.wall_ns / 1e9 / first.repetitions)
    assert {record.counted_repetitions for record in records[2:]} == {max(1, int(expected))} == {last.repetitions}


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
    assert {record.emulator for record in counts} == {case.emulated.emulation.emulator}
    assert {record.emulated_cpu for record in counts} == {case.emulated.emulation.cpu}
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
    wall, counted = both_passes(case, None, folder)
    assert [*wall, *counted.records] == records


def test_the_halves_of_a_counted_loop_are_told(measured):
    case, _, folder = measured
    for entry in read_journal(folder / "counting", case.digest):
        if entry.stage == "counting":
            parts = entry.report.counter.parts
            half = entry.repetitions // 2
            assert [count for count, _ in parts] == [count for count in (half, entry.repetitions - half) if count]
            assert sum(instructions for _, instructions in parts) == entry.report.counter.value


def test_a_counter_that_is_no_simulator_has_no_pass_of_its_own(sandbox, tmp_path):
    case = plan(sandbox.layout, solution(tmp_path, "a", FAST))
    with pytest.raises(InputError, match="none is no simulator"):
        both_passes(case, sandbox, tmp_path)


CHEAPER = """
left = [64]

def total(n):
    left[0] = max(1, left[0] // 2)
    return sum(number for _ in range(left[0]) for number in range(n)) // left[0]
"""


def test_a_loop_whose_calls_get_cheaper_is_counted_longer_and_flagged(sandbox, under_qemu, tmp_path):
    """Each of the first six calls takes half of the one before; a window of no width leaves room for none of that."""
    case = plan(sandbox.layout, solution(tmp_path, "a", CHEAPER), **under_qemu)
    wide = CountingWindow(min_seconds=0.0001, max_seconds=0.2)
    for name, window in (("short", CountingWindow(min_seconds=0.0001, max_seconds=0.0001)), ("long", wide)):
        (tmp_path / name).mkdir()
        (wall,), counted = both_passes(replace(case, counting=window), sandbox, tmp_path / name)
        (count,) = counted.records
        trials = [e for e in read_journal(tmp_path / name / "counting", case.digest) if e.stage == "counting-trial"]
        if name == "short":
            assert "unsteady" in count.not_covered
            short = count.value
    assert "unsteady" not in count.not_covered
    numbers = [trial.repetitions for trial in trials]
    assert numbers[-1] == count.counted_repetitions <= wall.repetitions
    for earlier, later in itertools.pairwise(numbers[1:]):
        assert earlier < later <= min(2 * earlier, wall.repetitions)
    assert count.value < short


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
    (wall,), counted = both_passes(case, sandbox, tmp_path)
    (count,) = counted.records
    assert (wall.reason, count.reason) == ("", "")
    assert count.value > 0


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
    wall, counted = both_passes(case, sandbox, tmp_path)
    assert set(counted.dropped) == {"b"}
    # The trial is of the slower solution, which of two so alike is by chance either.
    assert counted.dropped["b"].reason in {"counting-trial-counter-unreadable", "counting-counter-unreadable"}
    valid = {(record.solution, record.metric) for record in [*wall, *counted.records] if not record.void}
    assert valid == {("a", "wall_ns"), ("a", "instructions"), ("b", "wall_ns")}
    reasons = [entry.void for entry in read_journal(tmp_path / "counting", case.digest) if entry.void]
    assert len(reasons) == 1
    assert "the program did not run under" in reasons[0]


def test_no_solution_is_counted_where_the_required_one_cannot_be(sandbox, under_qemu, tmp_path):
    leaving = UNITTEST_FILE.replace("import unittest", LEAVING)
    solutions = solution(tmp_path, "a", FAST), solution(tmp_path, "b", FAST, leaving)
    case = plan(sandbox.layout, *solutions, attempts=1, **under_qemu)
    case = replace(case, environment={**case.environment, "LC_ALL": "C.UTF-8"})
    wall, counted = both_passes(case, sandbox, tmp_path)
    assert [record.void for record in wall] == [False, False]
    assert set(counted.dropped) == {"b"}
    assert all(record.void for record in counted.records)
