"""The counters inside the measured process, on events that every kernel has where the hardware has none."""

from __future__ import annotations

import errno
import gc
import mmap
import subprocess
import sys
import threading
from pathlib import Path

import pytest

PERF_TYPE_SOFTWARE = 1
TASK_CLOCK = 1
PAGE_FAULTS = 2
NO_SUCH_EVENT = 999
PAGES = 500


def touch_pages() -> None:
    with mmap.mmap(-1, PAGES * mmap.PAGESIZE) as memory:
        memory.madvise(mmap.MADV_NOHUGEPAGE)
        for page in range(PAGES):
            memory[page * mmap.PAGESIZE] = 1


def open_descriptors() -> list[Path]:
    return sorted(Path("/proc/self/fd").iterdir())


def count(module, work, event=PAGE_FAULTS):
    counter = module.PerfCounter(PERF_TYPE_SOFTWARE, event)
    try:
        counter.start()
        work()
        counter.stop()
        touch_pages()
        return counter.reading()
    finally:
        counter.close()


def test_a_kernel_event_is_counted_between_start_and_stop_only(module):
    nothing, pages = count(module, lambda: None), count(module, touch_pages)
    assert pages["value"] - nothing["value"] == pytest.approx(PAGES, rel=0.02)
    assert pages["time_enabled_ns"] == pages["time_running_ns"] > 0
    assert pages["problem"] is None


def test_the_task_clock_counts_the_time_that_was_worked(module):
    """In nanoseconds, by definition of the event."""
    reading = count(module, lambda: sum(range(300_000)), TASK_CLOCK)
    assert reading["value"] == pytest.approx(reading["time_running_ns"], rel=0.1)


def test_threads_started_while_counting_are_counted(module):
    def work() -> None:
        thread = threading.Thread(target=touch_pages)
        thread.start()
        thread.join()

    assert count(module, work)["value"] >= PAGES


def test_threads_that_were_there_before_are_counted(module):
    begin, done, leave = threading.Event(), threading.Event(), threading.Event()

    def wait_and_work() -> None:
        begin.wait()
        touch_pages()
        done.set()
        leave.wait()

    thread = threading.Thread(target=wait_and_work)
    thread.start()

    def work() -> None:
        begin.set()
        done.wait()

    reading = count(module, work)
    leave.set()
    thread.join()
    assert reading["value"] >= PAGES
    assert reading["events"] >= 2


def test_child_processes_are_counted(module):
    alone = count(module, lambda: None)["value"]
    faults = count(module, lambda: subprocess.run([sys.executable, "-S", "-c", "pass"], check=True))["value"]
    assert faults - alone > PAGES


def test_no_descriptor_is_left_open(module):
    before = open_descriptors()
    count(module, touch_pages)
    with pytest.raises(OSError, match="perf_event_open"):
        module.PerfCounter(PERF_TYPE_SOFTWARE, NO_SUCH_EVENT)
    assert open_descriptors() == before


@pytest.mark.parametrize(
    ("error", "paranoid", "words"),
    [
        ("EACCES", 2, "the kernel does not permit it"),
        ("EACCES", None, "the kernel does not permit it"),
        ("EPERM", 4, "a system call filter does not permit it, as containers have one: let the call through"),
        ("ENOENT", 4, "this machine has no such hardware counter (no PMU)"),
        ("EBUSY", 2, "Device or resource busy"),
    ],
)
def test_an_error_says_what_is_missing_and_what_to_do(module, error, paranoid, words):
    assert module._perf_error(error, getattr(errno, error), paranoid) == words


def test_a_kernel_that_is_too_strict_is_told_from_others_by_its_setting(module):
    assert module._perf_error("EACCES", errno.EACCES, 4) == (
        "kernel.perf_event_paranoid is 4, which permits it with CAP_SYS_ADMIN only: set it to 2 or less"
    )


def test_an_event_that_is_not_there_gives_a_reading_that_says_so(module, monkeypatch):
    monkeypatch.setitem(module._COUNTERS, "perf", lambda _: module.PerfCounter(PERF_TYPE_SOFTWARE, NO_SUCH_EVENT))
    counter = module.open_counter("perf")
    counter.start()
    counter.stop()
    reading = counter.reading()
    counter.close()
    assert reading["value"] is None
    assert reading["problem"].startswith("perf_event_open: ")


def test_a_replicate_reports_what_its_counter_read(tools):
    """Counted over the loop alone: three warm-up calls touch pages as well."""
    module = tools.load(mode="replicate", repetitions=4, counter="perf")
    module._COUNTERS["perf"] = lambda _: module.PerfCounter(PERF_TYPE_SOFTWARE, PAGE_FAULTS)
    module.measured(touch_pages)()
    counted = tools.record["counter"]
    assert counted["backend"] == "perf"
    assert counted["value"] == pytest.approx(4 * PAGES, rel=0.02)


def test_a_counter_is_closed_when_the_test_fails(tools):
    before = open_descriptors()
    module = tools.load(mode="replicate", repetitions=4, counter="perf")
    module._COUNTERS["perf"] = lambda _: module.PerfCounter(PERF_TYPE_SOFTWARE, PAGE_FAULTS)
    calls: list[int] = []

    def body() -> None:
        calls.append(1)
        assert len(calls) < 5

    with pytest.raises(AssertionError) as caught:
        module.measured(body)()
    assert open_descriptors() == before
    assert caught.traceback
    assert tools.record["counter"] is None


CIRRON = """
from pkg_resources import resource_filename

LIBRARY = resource_filename(__name__, "cirronlib.so")


class Counters:
    instruction_count = 1234
    time_enabled_ns = 99


class Collector:
    def __init__(self, measure_overhead=True):
        assert not measure_overhead
        self.counters = Counters()
        self._fd = None

    def __enter__(self):
        {enter}
        self._fd = {group}

    def __exit__(self, *_):
        pass
"""


@pytest.fixture
def stand_in(tmp_path: Path):
    """A folder like cirron's, whose Collector counts a fixed number: no hardware is needed to read it.

    ``group`` is the descriptor of its events; a software event of the kernel is read like any group.
    """

    def make(enter: str = "pass", group: int = -1) -> str:
        (tmp_path / "cirron").mkdir()
        (tmp_path / "cirron" / "cirron.py").write_text(CIRRON.format(enter=enter, group=group))
        return str(tmp_path)

    return make


def test_cirron_is_loaded_without_pkg_resources_and_leaves_none_behind(module, stand_in):
    folder = stand_in()
    loaded = module.load_cirron(folder)
    assert str(loaded.LIBRARY) == f"{folder}/cirron/cirronlib.so"
    assert "pkg_resources" not in sys.modules


def test_cirron_values_come_back_with_the_time_its_events_ran(module, stand_in):
    events = module.PerfCounter(PERF_TYPE_SOFTWARE, PAGE_FAULTS)
    counter = module.open_counter("cirron", stand_in(group=events.descriptors[0]))
    events.start()
    touch_pages()
    events.stop()
    counter.start()
    counter.stop()
    assert counter.reading() == {
        "backend": "cirron",
        "value": 1234,
        "time_enabled_ns": 99,
        "time_running_ns": events.reading()["time_running_ns"],
        "events": 1,
        "problem": None,
    }
    events.close()


def test_a_cirron_whose_events_cannot_be_read_is_a_problem_and_no_value(module, stand_in):
    counter = module.open_counter("cirron", stand_in(group=-1))
    counter.start()
    counter.stop()
    reading = counter.reading()
    assert reading["value"] is None
    assert "file descriptor" in reading["problem"]


def test_a_cirron_that_cannot_start_is_a_problem_and_no_failing_test(tools, stand_in):
    folder = stand_in(enter='raise Exception("Failed to start collector.")')
    tools.measured(lambda: None, mode="replicate", repetitions=4, counter="cirron", counter_folder=folder)()
    assert tools.record["counter"]["problem"] == "Exception: Failed to start collector."
    assert tools.record["failed"] is None


def test_marks_do_nothing_where_no_emulator_sees_them(tools):
    """The number is no system call here: the loop runs as always, and there is no value to read."""
    calls: list[int] = []
    tools.measured(lambda: calls.append(1), mode="replicate", repetitions=4, counter="qemu")()
    counted = tools.record["counter"]
    assert (counted["backend"], counted["value"], counted["problem"]) == ("qemu", None, None)
    assert len(calls) == 3 + 4


@pytest.mark.parametrize(("repetitions", "halves"), [(1, [1]), (4, [2, 2]), (5, [2, 3])])
def test_marks_enclose_an_empty_loop_and_then_both_halves_of_the_whole_one(tools, repetitions, halves):
    module = tools.load(mode="replicate", repetitions=repetitions, counter="qemu")
    seen: list[str] = []

    class Marks(module.QemuMarks):  # type: ignore[name-defined,misc]
        def start(self):
            seen.append("begin")

        def stop(self):
            seen.append("end")

    module._COUNTERS["qemu"] = lambda _: Marks()
    module.measured(lambda: seen.append("call"))()
    marked = [word for half in halves for word in ("begin", *["call"] * half, "end")]
    assert seen == ["call"] * 3 + ["begin", "end"] + marked
    assert tools.record["repetitions"] == repetitions
    assert [count for count, _ in tools.record["steps"]] == halves


@pytest.mark.parametrize("mode", ["trial", "calibrate", "replicate"])
@pytest.mark.parametrize(
    ("policy", "collections", "on"),
    [("untouched", 0, True), (None, 0, True), ("collected", 1, True), ("off", 1, False)],
)
def test_the_collector_is_treated_as_asked_after_the_warm_up_and_as_before_in_the_end(
    tools, mode, policy, collections, on
):
    """The full collections that our module asks for are seen by a hook of the collector's."""
    seen, asked = [], []

    def notice(phase: str, told: dict[str, int]) -> None:
        if phase == "start" and told["generation"] == 2 and sys._getframe(1).f_globals["__name__"] != __name__:
            asked.append(len(seen))

    gc.callbacks.append(notice)
    try:
        windows = {"trial_seconds": 1e-9, "min_seconds": 1e-9, "max_seconds": 1.0}
        tools.measured(
            lambda: seen.append(gc.isenabled()), mode=mode, repetitions=3, counter="none", collector=policy, **windows
        )()
    finally:
        gc.callbacks.remove(notice)
    passes = 2 if mode == "calibrate" else 1
    assert len(asked) == collections * passes
    assert seen[:3] == [True] * 3
    assert set(seen[3:]) == {on}
    assert gc.isenabled()
    assert tools.record["failed"] is None


def test_callgrind_is_missed_where_it_does_not_run(tools):
    tools.measured(lambda: None, mode="replicate", repetitions=4, counter="callgrind")()
    assert tools.record["counter"]["problem"] == "OSError: the program did not run under valgrind"
    assert tools.record["failed"] is None


def test_a_replicate_tells_of_the_processes_its_loop_started(tools):
    def start() -> None:
        subprocess.run(["true"], check=True)

    tools.measured(start, mode="replicate", repetitions=2, counter="none")()
    before, after = tools.record["before"], tools.record["after"]
    assert after["children_faults"] > before["children_faults"]
    assert tools.record["children"] == 0
    assert after["last_task"] != before["last_task"]
