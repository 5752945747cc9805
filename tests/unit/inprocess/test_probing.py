"""What the probe asks of the measured process: lines of the marked call, what a failure leaves, calls in children."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from patchperf.counters.protocol import INPROCESS
from patchperf.study.instrument import MODULE

NONCE = "5f" * 16
LINES = {"mode": "lines", "marker": NONCE}
FORKED = {"mode": "forked", "calls": 3}


@pytest.fixture
def marks(tools):
    """Load the module so that what it writes is kept; returns (module, list of (descriptor, text))."""
    written: list[tuple[int, str]] = []

    def pwrite(descriptor: int, data: bytes, offset: int) -> int:
        if not data.endswith(b" output\n"):
            written.append((descriptor, data.decode()))
        return os.pwrite(descriptor, data, offset)

    def write(descriptor: int, data: bytes) -> int:
        if descriptor == -1:
            written.append((descriptor, data.decode()))
        return os.write(descriptor, data)

    module = tools.load(**LINES)
    module._System.write, module._System.pwrite = write, pwrite
    return module, written


def lines_of(written) -> list[int]:
    """The marked lines between the two markers, relative to the first."""
    texts = [text for _, text in written]
    assert (texts[0], texts[-1]) == (f"PATCHPERF {NONCE} begin\n", f"PATCHPERF {NONCE} end\n")
    assert {descriptor for descriptor, _ in written[1:-1]} <= {-1}
    numbers = [int(text.removeprefix(f"PATCHPERF {NONCE} line ")) for text in texts[1:-1]]
    return [number - numbers[0] for number in numbers]


# ---- lines


def helper():
    return 1


def test_every_line_of_the_tests_file_is_marked_in_the_marked_call_alone(marks):
    module, written = marks
    calls = []

    def body():
        calls.append(1)
        for _ in range(2):
            len("")
        textwrap.dedent("elsewhere, no file of the test")

    module.measured(body)()
    assert len(calls) == 4
    assert lines_of(written) == [0, 1, 2, 1, 2, 1, 3]


def test_a_line_goes_on_after_a_function_of_the_same_file_has_returned(marks):
    module, written = marks
    first = test_a_line_goes_on_after_a_function_of_the_same_file_has_returned.__code__.co_firstlineno

    def body():
        helper(), len("after it")

    module.measured(body)()
    away = helper.__code__.co_firstlineno + 1 - (first + 5)
    assert lines_of(written) == [0, away, 0]


def test_lines_of_threads_that_the_call_starts_are_marked(marks):
    module, written = marks

    def work():
        len("in a thread")

    def body():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    module.measured(body)()
    assert -3 in lines_of(written)
    assert threading.gettrace() is None if hasattr(threading, "gettrace") else True


def test_lines_of_coroutines_are_marked(marks):
    module, written = marks

    async def body():
        await asyncio.sleep(0)
        len("")

    asyncio.run(module.measured(body)())
    assert lines_of(written) == [0, 1]


def test_after_too_many_lines_the_line_is_not_known(marks):
    module, written = marks
    module.LINE_MARKS = 5

    def body():
        for _ in range(100):
            len("")

    module.measured(body)()
    texts = [text for descriptor, text in written if descriptor == -1]
    assert len(texts) == 5
    assert texts[-1] == f"PATCHPERF {NONCE} line 0\n"


def test_a_mark_is_a_system_call_that_strace_shows_and_the_kernel_refuses(tools):
    (tools.folder / INPROCESS.name).write_bytes(INPROCESS.read_bytes())
    (tools.folder / "t.py").write_text(f"import {MODULE} as p\n@p.measured\ndef body():\n    p.os.stat('/')\nbody()\n")
    tools.load(**LINES)
    log = tools.folder / "log"
    subprocess.run(
        ["strace", "-f", "-o", log, "-s", "256", sys.executable, "t.py"],
        cwd=tools.folder,
        capture_output=True,
        check=True,
    )
    mark, call = re.findall(r"^\d+ +(write\(-1, .*|(?:new)?f?stat.*\"/\", .*)", log.read_text(), re.MULTILINE)[-2:]
    assert mark.startswith(f'write(-1, "PATCHPERF {NONCE} line 4\\n", ')
    assert " = -1 EBADF " in mark
    assert "stat" in call


# ---- what a failure leaves


def test_a_failure_says_where_it_was_raised_and_from_which_line_of_the_test(tools):
    def body():
        len("")
        int("x")

    def deeper():
        tempfile.mkdtemp(dir="/no/such/folder")

    first = body.__code__.co_firstlineno
    with pytest.raises(ValueError, match="invalid"):
        tools.measured(body, mode="probe", marker=NONCE)()
    with pytest.raises(FileNotFoundError):
        tools.measured(deeper, mode="probe", marker=NONCE)()
    shallow, deep = (record["witness"]["raised"] for record in tools.records)
    assert shallow == {"place": [__file__, first + 2, "body"], "test_line": first + 2, "errno": None}
    assert deep["test_line"] == deeper.__code__.co_firstlineno + 1
    assert (Path(deep["place"][0]).name, deep["place"][2]) == ("tempfile.py", "mkdtemp")
    assert deep["errno"] == "ENOENT"


def test_threads_children_and_descriptors_that_stay_are_counted(tools):
    stay = threading.Event()
    left = []

    def body():
        thread = threading.Thread(target=stay.wait)
        thread.start()
        left.append((thread, subprocess.Popen(["sleep", "60"]), os.open("/", os.O_RDONLY)))

    tools.measured(body, mode="probe", marker=NONCE)()
    witness = tools.record["witness"]
    stay.set()
    for thread, child, descriptor in left:
        thread.join()
        child.kill()
        child.wait()
        os.close(descriptor)
    grown = {name: witness["after"][name] - witness["before"][name] for name in witness["before"]}
    assert grown == {"threads": 4, "children": 4, "descriptors": 4}
    assert witness["raised"] is None


def test_the_call_that_never_ended_is_known_from_the_progress(tools):
    calls = []
    progress = tools.folder / "progress"

    def body():
        calls.append(1)
        assert progress.stat().st_size == len(calls)

    tools.measured(body, mode="probe", marker=NONCE, progress=str(progress))()
    assert progress.stat().st_size == 4
    assert (tools.record["warmup"], len(tools.record["warmup_ns"])) == (3, 3)


def test_a_replicate_is_not_asked_for_any_of_this(tools):
    tools.measured(lambda: None, mode="replicate", repetitions=2, counter="none")()
    assert "witness" not in tools.record


# ---- calls in children


def test_forked_calls_find_nothing_of_each_other_in_memory(tools):
    calls = []

    def body():
        calls.append(1)
        assert len(calls) == 1

    tools.measured(body, **FORKED)()
    assert calls == []
    assert tools.record["children"] == [0, 0, 0]
    assert tools.record["failed"] is None


def test_forked_calls_find_what_is_outside_and_the_first_failure_ends_them(tools, tmp_path):
    def body():
        (tmp_path / "made").mkdir()

    tools.measured(body, **FORKED)()
    child, parent = tools.records
    assert child["call"] == 2
    assert child["failed"]["type"] == "FileExistsError"
    assert child["witness"]["raised"]["errno"] == "EEXIST"
    assert parent["children"] == [0, 1 << 8]


def test_forked_calls_of_coroutines_run_in_the_childs_copy_of_the_loop(tools, tmp_path):
    async def body():
        await asyncio.sleep(0.001)
        with (tmp_path / "calls").open("a") as file:
            file.write(f"{os.getpid()}\n")

    asyncio.run(tools.measured(body, **FORKED)())
    pids = (tmp_path / "calls").read_text().split()
    assert len(set(pids)) == 3
    assert str(os.getpid()) not in pids


# ---- what is not wrapped


def test_a_hypothesis_test_is_refused_as_called_several_times(tools):
    examples = []

    @given(st.integers())
    def test_it(number):
        examples.append(number)

    with pytest.raises(TypeError, match="once for each example"):
        tools.measured(test_it, mode="probe", marker=NONCE)()
    assert examples == []
    assert tools.record["failed"]["stage"] == "several"


@pytest.mark.parametrize(
    ("watch", "named"),
    [
        (lambda on: sys.settrace((lambda *_: None) if on else None), "function"),
        (lambda on: sys.setprofile((lambda *_: None) if on else None), "function"),
    ],
)
def test_a_test_that_a_tracer_or_profiler_watches_is_refused(tools, watch, named):
    calls = []
    test = tools.measured(lambda: calls.append(1), mode="calibrate", warmup=1)
    watch(True)
    try:
        with pytest.raises(TypeError, match=f"tracer or profiler: {named}"):
            test()
    finally:
        watch(False)
    assert calls == []
    assert tools.record["failed"]["stage"] == "watched"


@pytest.mark.parametrize("nothing", [None, 3])
def test_what_cannot_be_called_stays_as_it_is(tools, nothing):
    assert tools.measured(nothing, mode="probe", marker=NONCE) is nothing


def test_a_wrapper_says_that_it_is_from_the_tests_file(tools):
    assert tools.measured(helper, mode="probe", marker=NONCE).__code__.co_filename == __file__
