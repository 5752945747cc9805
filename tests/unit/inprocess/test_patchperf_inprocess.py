from __future__ import annotations

import ast
import asyncio
import gc
import inspect
import mmap
import os
import socket
import struct
import time
import unittest
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from patchperf.counters.protocol import INPROCESS

REPLICATE = {"mode": "replicate", "repetitions": 50, "counter": "none"}


# ---- modes


@pytest.fixture
def marked(tools):
    """A module in probe mode with the nonce "abc", and the list of (descriptor, text, offset) it tries to write."""
    module = tools.load(mode="probe", marker="abc")
    seen: list[object] = []

    def pwrite(descriptor: int, data: bytes, offset: int) -> int:
        seen.append((descriptor, data.decode(), offset))
        return os.pwrite(descriptor, data, offset)

    module._System.pwrite = pwrite
    return module, seen


OUTPUTS = [(1, "PATCHPERF abc output\n", -1), (2, "PATCHPERF abc output\n", -1)]
BEGIN, END = (2, "PATCHPERF abc begin\n", -1), (2, "PATCHPERF abc end\n", -1)


def test_a_probe_marks_exactly_the_one_call_after_the_warm_up(tools, marked, capfd):
    module, seen = marked
    module.measured(lambda: seen.append("call"))()
    assert seen == [*OUTPUTS, *["call"] * 3, BEGIN, "call", END]
    assert capfd.readouterr() == ("", "")
    assert (tools.record["warmup"], tools.record["repetitions"]) == (3, 1)


def test_a_probe_tells_which_folders_imports_may_search(tools):
    tools.measured(lambda: None, mode="probe", marker="a")()
    assert str(Path(os.__file__).parent) in tools.record["import_path"]


def test_a_probe_that_fails_in_the_marked_call_leaves_no_end_marker(tools, marked):
    module, seen = marked
    calls = []

    def body():
        calls.append(1)
        assert len(calls) < 4

    with pytest.raises(AssertionError):
        module.measured(body)()
    assert seen == [*OUTPUTS, BEGIN]
    assert (tools.record["failed"]["stage"], tools.record["failed"]["call"]) == ("marked", 4)


def test_a_trial_doubles_its_batches_until_one_is_long_enough(tools):
    calls = []
    tools.measured(lambda: calls.append(time.sleep(0.001)), mode="trial", trial_seconds=0.01)()
    record = tools.record
    counts = [count for count, _ in record["batches"]]
    assert counts == [2**power for power in range(len(counts))]
    assert [ns >= 10_000_000 for _, ns in record["batches"]] == [False] * (len(counts) - 1) + [True]
    assert 0.001 <= record["seconds_per_repetition"] <= record["batches"][-1][1] / 1e9 / counts[-1]
    assert len(calls) == 3 + sum(counts)


def test_a_trial_of_a_slow_body_is_one_repetition(tools):
    tools.measured(lambda: time.sleep(0.02), mode="trial", trial_seconds=0.001)()
    assert [count for count, _ in tools.record["batches"]] == [1]


def test_a_calibration_ends_inside_the_window_and_keeps_every_step(tools):
    body = tools.measured(
        lambda: time.sleep(0.0005), mode="calibrate", trial_seconds=0.01, min_seconds=0.06, max_seconds=0.4
    )
    body()
    record = tools.record
    count, ns = record["steps"][-1]
    assert count == -(-record["repetitions"] // 4)
    assert record["wall_ns"] == round(ns * record["repetitions"] / count)
    assert 60_000_000 <= record["wall_ns"] <= 400_000_000


@pytest.mark.parametrize(("count", "part"), [(1, 1), (2, 1), (4, 1), (5, 2), (8, 2), (1_000_000, 250_000)])
def test_calibration_runs_a_quarter_of_what_it_times_and_at_least_one(module, count, part):
    assert module.part_of(count) == part


def test_a_replicate_warms_up_and_repeats_exactly_as_told(tools):
    calls = []
    value = tools.measured(lambda: calls.append(1) or len(calls), warmup=7, token="t", **REPLICATE)()
    record = tools.record
    assert value == len(calls) == 57
    assert (record["warmup"], record["repetitions"], record["token"]) == (7, 50, "t")
    assert len(record["warmup_ns"]) == 7
    assert record["first_call_ns"] == record["warmup_ns"][0]
    assert record["wall_ns"] > 0


def test_the_loop_is_timed_and_nothing_else(tools):
    slept = iter([0.05] * 3 + [0.002] * 5)
    tools.measured(lambda: time.sleep(next(slept)), mode="replicate", repetitions=5, counter="none")()
    record = tools.record
    assert 0.010 <= record["wall_ns"] / 1e9 < 0.05
    assert all(ns >= 50_000_000 for ns in record["warmup_ns"])


def test_without_warm_up_there_is_no_first_call_to_tell_of(tools):
    tools.measured(lambda: None, warmup=0, **REPLICATE)()
    assert (tools.record["warmup_ns"], tools.record["first_call_ns"]) == ([], None)


# ---- shapes of calls


class Example:
    def method(self, *args, **kwargs):
        return (type(self).__name__, args, kwargs)


@pytest.mark.parametrize(
    ("args", "kwargs", "shape"),
    [
        ((), {}, ""),
        ((1, 2), {}, "_, _"),
        ((), {"tmp_path": 1, "capsys": 2}, "capsys=_, tmp_path=_"),
        ((1,), {"function": 2, "calls": 3, "clock": 4, "value": 5}, "_, calls=_, clock=_, function=_, value=_"),
        ((), {"class": 1}, "*_, **_"),
        ((), {"not an identifier": 1}, "*_, **_"),
        (tuple(range(400)), {}, "*_, **_"),
    ],
)
def test_every_shape_of_call_reaches_the_body_unchanged(tools, args, kwargs, shape):
    assert tools.measured(lambda *a, **k: (a, k), **REPLICATE)(*args, **kwargs) == (args, kwargs)
    assert tools.record["call_shape"] == shape


def test_methods_get_their_instance(tools):
    method = tools.measured(Example.method, **REPLICATE)
    assert method(Example(), 1, two=2) == ("Example", (1,), {"two": 2})


@pytest.mark.parametrize("kind", [staticmethod, classmethod])
def test_static_and_class_methods_stay_what_they_are(tools, kind):
    wrapped = tools.measured(kind(lambda *args: args), **REPLICATE)
    owner = type("Owner", (), {"test": wrapped})
    assert isinstance(wrapped, kind)
    assert owner().test(1) == ((1,) if kind is staticmethod else (owner, 1))


def test_signature_and_attributes_stay_the_tests_own(tools):
    @pytest.mark.usefixtures("tools")
    def test_something(tmp_path, capsys):
        """First line."""

    wrapped = tools.measured(test_something, **REPLICATE)
    assert inspect.signature(wrapped) == inspect.signature(test_something)
    assert (wrapped.__name__, wrapped.__doc__) == ("test_something", "First line.")
    assert [mark.name for mark in wrapped.pytestmark] == ["usefixtures"]


@pytest.mark.parametrize("mode", ["probe", "trial", "calibrate", "replicate"])
def test_coroutine_functions_are_awaited_in_the_loop(tools, mode):
    finished = []

    async def body(amount):
        await asyncio.sleep(0)
        finished.append(amount)
        return amount

    spec = {"marker": "m", "trial_seconds": 0.001, "min_seconds": 0.002, "max_seconds": 0.02} | REPLICATE
    wrapped = tools.measured(body, **spec | {"mode": mode})
    assert inspect.iscoroutinefunction(wrapped)
    assert asyncio.run(wrapped(4)) == 4
    record = tools.record
    looped = sum(count for count, _ in record["batches"] + record["steps"]) or record["repetitions"]
    assert len(finished) == record["warmup"] + looped
    assert record["asynchronous"] is True


def test_an_asynchronous_unittest_is_awaited_by_its_own_runner(tools):
    awaited = []

    async def test_it(case):
        await asyncio.sleep(0)
        awaited.append(case.id())

    kind = type("AsyncTest", (unittest.IsolatedAsyncioTestCase,), {"test_it": tools.measured(test_it, **REPLICATE)})
    result = kind("test_it").run()
    assert result.wasSuccessful()
    assert result.testsRun == 1
    assert len(awaited) == tools.record["warmup"] + tools.record["repetitions"] == 53


# ---- what goes wrong


@pytest.mark.parametrize(
    ("failing", "stage", "of_stage"), [(1, "warmup", 1), (3, "warmup", 3), (4, "loop", 1), (20, "loop", 17)]
)
@pytest.mark.parametrize("error", [ValueError("no"), StopIteration("no"), KeyboardInterrupt("no"), SystemExit("no")])
def test_the_failing_call_is_named_and_its_exception_comes_out_unchanged(tools, failing, stage, of_stage, error):
    calls = []

    def body():
        calls.append(1)
        if len(calls) == failing:
            raise error

    with pytest.raises(type(error)) as caught:
        tools.measured(body, **REPLICATE)()
    assert caught.value is error
    assert tools.record["failed"] == {
        "stage": stage,
        "call": failing,
        "call_of_stage": of_stage,
        "type": type(error).__name__,
        "text": "no",
        "error": f"{type(error).__name__}: no",
        "skipped": False,
    }


def test_an_awaited_body_that_fails_is_recorded_too(tools):
    async def body():
        raise LookupError("gone")

    with pytest.raises(LookupError):
        asyncio.run(tools.measured(body, **REPLICATE)())
    assert tools.record["failed"]["error"] == "LookupError: gone"


def test_the_text_of_an_exception_is_cut_and_may_even_be_unprintable(tools):
    class OddError(Exception):
        def __str__(self):
            raise RuntimeError

    def long():
        raise ValueError("x" * 1000)

    def odd():
        raise OddError

    with pytest.raises(ValueError, match="x"):
        tools.measured(long, **REPLICATE)()
    with pytest.raises(OddError):
        tools.measured(odd, **REPLICATE)()
    texts = [record["failed"]["text"] for record in tools.records]
    assert texts == ["x" * 300, "<text unavailable: RuntimeError>"]


def test_an_exception_is_described_on_one_line_whatever_its_text(tools):
    def body():
        raise AssertionError("1 != 2\n\n- 1\n+ \udcff")

    with pytest.raises(AssertionError):
        tools.measured(body, **REPLICATE)()
    assert tools.record["failed"]["error"] == "AssertionError: 1 != 2 - 1 + \\udcff"


@pytest.mark.parametrize("skip", [lambda: pytest.skip("later"), lambda: unittest.TestCase().skipTest("later")])
def test_a_skip_is_recorded_as_one(tools, skip):
    with pytest.raises((unittest.SkipTest, pytest.skip.Exception)):
        tools.measured(skip, **REPLICATE)()
    assert tools.record["failed"]["skipped"] is True
    assert tools.record["failed"]["text"] == "later"


def _generator():
    yield


async def _async_generator():
    yield


def _returns_a_coroutine():
    return asyncio.sleep(0)


def _returns_a_generator():
    return _generator()


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@pytest.mark.parametrize("lazy", [_generator, _async_generator, _returns_a_coroutine, _returns_a_generator])
def test_tests_that_a_call_does_not_run_are_refused(tools, lazy):
    with pytest.raises(TypeError):
        tools.measured(lazy, **REPLICATE)()
    assert tools.record["failed"]["stage"] == "refused"
    assert tools.record["repetitions"] == 0


def test_a_second_invocation_runs_once_and_writes_a_second_line(tools):
    calls = []
    wrapped = tools.measured(calls.append, **REPLICATE)
    wrapped(1)
    wrapped(2)
    assert (calls.count(1), calls.count(2)) == (53, 1)
    assert [record["invocation"] for record in tools.records] == [1, 2]


def test_a_body_that_forks_and_lets_its_child_go_on_shows_in_the_lines(tools):
    main = os.getpid()

    def body():
        if os.getpid() == main and not forked:
            forked.append(os.fork())

    forked: list[int] = []
    tools.measured(body, **REPLICATE)()
    if os.getpid() != main:
        os._exit(0)
    os.waitpid(forked[0], 0)
    assert len(tools.records) == 2


def test_a_result_that_cannot_be_written_is_an_error(tools):
    wrapped = tools.measured(lambda: None, **REPLICATE | {"out": str(tools.folder / "missing" / "out.jsonl")})
    with pytest.raises(FileNotFoundError):
        wrapped()


# ---- what a process tells of itself


def test_a_process_describes_itself(tools):
    tools.measured(lambda: None, **REPLICATE)()
    record = tools.record
    status = dict(line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line)
    assert record["pid"] == os.getpid()
    assert record["start_ticks"] == int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
    for name, file in (("environment", "environ"), ("arguments", "cmdline")):
        content = Path("/proc/self", file).read_bytes()
        assert (record[f"{name}_bytes"], record[f"{name}_crc32"]) == (len(content), zlib.crc32(content))
    assert record["clock"] == "perf_counter_ns"
    assert record["gc_enabled"] is True
    for moment in ("before", "after"):
        assert record[moment]["cpus_allowed"] == status["Cpus_allowed_list"].strip()
        assert record[moment]["cgroup"] == Path("/proc/self/cgroup").read_text().strip()
        assert record[moment]["threads"] == len(list(Path("/proc/self/task").iterdir()))
    assert record["after"]["user_seconds"] >= record["before"]["user_seconds"]
    assert 0 < record["harness_ns"] < 1e9


def test_page_faults_and_switches_of_the_loop_are_told(tools):
    def touch_fresh_memory() -> None:
        with mmap.mmap(-1, 1 << 20, flags=mmap.MAP_PRIVATE) as memory:
            memory[:] = b"\1" * (1 << 20)
        time.sleep(0.0001)

    body = tools.measured(touch_fresh_memory, **REPLICATE)
    body()
    before, after = tools.record["before"], tools.record["after"]
    assert after["minor_faults"] - before["minor_faults"] >= 50 * 256 / 2
    assert after["voluntary_switches"] - before["voluntary_switches"] >= 50 / 2


def test_faked_clocks_and_files_do_not_reach_the_measurement(tools, monkeypatch):
    wrapped = tools.measured(lambda: None, **REPLICATE)

    def fake(*args: Any) -> None:
        raise AssertionError("faked")

    with monkeypatch.context() as patch:
        for name in ("perf_counter", "perf_counter_ns", "monotonic"):
            patch.setattr(time, name, fake)
        for name in ("open", "write", "read", "close", "listdir"):
            patch.setattr(os, name, fake)
        patch.setattr("builtins.open", fake)
        patch.setattr(socket, "socket", fake)
        wrapped()
    assert tools.record["repetitions"] == 50


def test_the_garbage_collector_is_left_alone(tools):
    was_enabled, thresholds, frozen = gc.isenabled(), gc.get_threshold(), gc.get_freeze_count()
    seen = []
    tools.measured(lambda: seen.append((gc.isenabled(), gc.get_threshold(), gc.get_freeze_count())), **REPLICATE)()
    assert set(seen) == {(was_enabled, thresholds, frozen)}


def test_the_process_that_reports_is_known_to_who_listens(tools):
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(str(tools.folder / "s"))
    listening.listen()
    tools.measured(lambda: None, socket="s", **REPLICATE)()
    connection, _ = listening.accept()
    pid, _, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    connection.close()
    listening.close()
    assert pid == os.getpid()
    assert tools.record["announced"] is None


def test_a_listener_that_is_not_there_is_said_and_does_no_harm(tools):
    tools.measured(lambda: None, socket="s", **REPLICATE)()
    assert tools.record["announced"].startswith("FileNotFoundError")


# ---- calibration's decisions


@settings(deadline=None)
@given(
    cost=st.floats(1e-9, 1e3),
    low=st.floats(1e-3, 1e2),
    ratio=st.floats(2, 10),
    error=st.floats(0.2, 5),
)
def test_calibration_lands_in_the_window_whatever_a_repetition_costs(module, cost, low, ratio, error):
    """``error`` is how wrong the trial's estimate is; a repetition that alone is too long stays one repetition."""
    high = low * ratio
    timed = []
    count = module.first_count(cost * error, low, high)
    assert count >= 1
    while count is not None:
        timed.append((count, count * cost))
        count = module.next_count(timed, low, high)
    settled = module.settled_count(timed, low, high)
    if cost > high:
        assert settled == 1
    elif low / cost >= 1:
        assert low <= settled * cost <= high
    assert len(timed) < 100


@pytest.mark.parametrize(
    ("timed", "following"),
    [
        ([(8, 0.9)], 16),
        ([(8, 1.0)], None),
        ([(8, 2.0)], None),
        ([(8, 0.9), (16, 2.5)], 12),
        ([(8, 0.9), (16, 2.5), (12, 2.2)], 10),
        ([(8, 0.9), (16, 2.5), (12, 0.9)], 14),
        ([(9, 0.9), (10, 2.5)], None),
        ([(10, 2.5)], 5),
        ([(1, 9.0)], None),
    ],
)
def test_a_step_doubles_or_goes_back_by_halves(module, timed, following):
    assert module.next_count(timed, 1.0, 2.0) == following


@pytest.mark.parametrize(("timed", "settled"), [([(8, 1.5)], 8), ([(1, 9.0)], 1), ([(10, 2.5), (9, 0.9)], 10)])
def test_where_no_count_fits_the_window_the_longer_loop_is_taken(module, timed, settled):
    assert module.settled_count(timed, 1.0, 2.0) == settled


def test_a_disturbed_last_batch_does_not_make_a_trial_slow(module):
    assert module.seconds_per_repetition([[1, 100], [2, 10_000], [4, 20_000], [8, 90_000]]) == 5e-6
    assert module.seconds_per_repetition([[1, 100]]) == 1e-7
    assert module.seconds_per_repetition([[1, 0]]) == 1e-9


def test_the_first_step_aims_at_the_geometric_middle_of_the_window(module):
    assert module.first_count(0.001, 4.0, 8.0) == int((4 * 8) ** 0.5 / 0.001)
    assert module.first_count(0.001, 0.5, 8.0) == 2000
    assert module.first_count(100.0, 4.0, 8.0) == 1


# ---- old Pythons


def test_the_source_is_python_3_5():
    """The parser's own check of 3.5 is lenient, so what came later is looked for as well."""
    tree = ast.parse(INPROCESS.read_text(), feature_version=(3, 5))
    newer = (ast.JoinedStr, ast.AnnAssign, ast.NamedExpr, ast.Match, ast.TryStar)
    assert not [node.lineno for node in ast.walk(tree) if isinstance(node, newer)]
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert not node.args.posonlyargs
            annotated = [*node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
            assert not any(argument.annotation for argument in annotated if argument)
        if isinstance(node, ast.AsyncFunctionDef):
            inner = [child for child in ast.walk(node) if isinstance(child, ast.comprehension)]
            assert not [child for child in inner if child.is_async]
            assert not [child for child in ast.walk(node) if isinstance(child, ast.Yield)]
