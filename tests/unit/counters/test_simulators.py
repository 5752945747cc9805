"""What the emulators count, on real processes: the same again, in proportion, of all threads, and where they agree."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from emulated_runs import BARE, BODIES, EMPTY, MIXED

from patchperf.counters import callgrind, qemu
from patchperf.counters.preflight import COUNTERS
from patchperf.counters.protocol import Region, Simulator
from patchperf.errors import MachineError

THREADED = """
import threading
def work():
    return sum(range(3000))
@measured
def body():
    others = [threading.Thread(target=work) for _ in range({threads})]
    for other in others:
        other.start()
    for other in others:
        other.join()
"""
STARTING = """
import subprocess
@measured
def body():
    subprocess.run(["/bin/true"], check=True)
"""

ON_PAGES = """
import ctypes
import mmap
import sys
import patchperf_inprocess

code = bytes.fromhex("b9e8030000 90 0501000000 ffc9 75f6 c3")
memory = mmap.mmap(-1, 2 * mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
counter = patchperf_inprocess.open_counter(sys.argv[1])
for offset in (0, mmap.PAGESIZE - 8):
    memory.seek(offset)
    memory.write(code)
    loop = ctypes.CFUNCTYPE(ctypes.c_int)(start + offset)
    loop()
    counter.start()
    loop()
    counter.stop()
"""
"""A loop of 1,000 rounds, in one page and then with its second instruction (of five bytes) across two."""


def test_equal_runs_count_the_same(emulated):
    """But for some hundred instructions: a clock's value can have one digit more."""
    counts = [emulated.count(MIXED, 2000) for _ in range(5)]
    assert max(counts) <= min(counts) * (1 + 5e-6)


def test_counts_grow_with_the_repetitions(emulated):
    small, large = emulated.known(MIXED, 100), emulated.known(MIXED, 400)
    assert large / small == pytest.approx(4, rel=0.005)


def test_the_loop_costs_little_more_than_a_bare_one(emulated):
    """Instructions per repetition; both call an empty function."""
    none, thousand = emulated.regions(BARE)
    bare = (thousand.instructions - none.instructions) / 1000
    assert abs(emulated.known(EMPTY, 1000) / 1000 - bare) < 60


@pytest.mark.parametrize("body", sorted(BODIES))
def test_qemu_and_callgrind_agree_on_pure_python(emulate, body):
    """The least of up to ten layouts.

    An object that happens to be alone in its pool makes every call dearer, by 0.7 % for the generator of one body. In
    which layout that happens is chance, and the marks of the two simulators allocate different things before.
    """
    qemu, callgrind = ([emulate(backend).count(BODIES[body], 100, layout=0)] for backend in ("qemu", "callgrind"))
    for layout in range(1, 10):
        if min(qemu) == pytest.approx(min(callgrind), rel=0.001):
            break
        qemu.append(emulate("qemu").count(BODIES[body], 100, layout=layout))
        callgrind.append(emulate("callgrind").count(BODIES[body], 100, layout=layout))
    assert min(qemu) == pytest.approx(min(callgrind), rel=0.001)


def test_an_instruction_across_two_pages_counts_once(emulated):
    in_one, across = (region.instructions for region in emulated.regions(ON_PAGES))
    assert abs(in_one - across) < 500


def test_threads_of_the_process_are_counted(emulated):
    """Each thread adds at least the 3,000 additions of its sum."""
    alone, two = (emulated.known(THREADED.format(threads=number), 10) for number in (1, 3))
    assert two - alone > 10 * 2 * 3000 * 5


def test_qemu_tells_that_there_were_threads(emulate):
    assert emulate("qemu").report(THREADED.format(threads=2), 3)[1].threaded is True
    assert emulate("qemu").report(MIXED, 3)[1].threaded is False


def test_a_process_that_the_loop_starts_is_seen(emulated):
    """qemu's plugin sees the system call; else the process's own account of its children tells."""
    report, count = emulated.report(STARTING, 3)
    if emulated.simulator.backend == "qemu":
        assert count.processes == 3
    assert report.after.children_faults > report.before.children_faults


def test_a_region_that_was_never_ended_gives_no_count(emulate):
    marked = "import patchperf_inprocess as p\ncounter = p.open_counter('qemu')\ncounter.start()\n"
    assert emulate("qemu").regions(marked) == []


def test_what_is_no_line_of_the_plugin_is_no_region(tmp_path):
    (tmp_path / "regions").write_text("7 1000 0 0\nsix\n7 -5 0 0\n7 2000 1 1\n")
    regions = qemu.Qemu().regions(tmp_path)
    assert [region.instructions for region in regions] == [1000, 2000]
    assert regions[1] == Region(process=7, instructions=2000, processes=1, threaded=True)


def test_links_are_not_followed_to_a_count(tmp_path):
    (tmp_path / "elsewhere").write_text("7 1000 0 0\n")
    out = tmp_path / "out"
    out.mkdir()
    (out / "regions").symlink_to(tmp_path / "elsewhere")
    assert qemu.Qemu().regions(out) == []


DUMPS = """version: 1
pid: 9
part: 1
desc: Trigger: Client Request
summary: 0
0 4
totals: 4

part: 2
desc: Trigger: Client Request
totals: 123456789

part: 3
desc: Trigger: Program termination
totals: 17
"""


def test_callgrind_regions_are_the_dumps_that_were_asked_for(tmp_path):
    (tmp_path / "callgrind.9").write_text(DUMPS)
    (tmp_path / "callgrind.10").write_text("pid: 10\npart: 1\ndesc: Trigger: Program termination\ntotals: 0\n")
    regions = callgrind.Callgrind().regions(tmp_path)
    assert [(region.process, region.instructions) for region in regions] == [(9, 4), (9, 123456789)]


def test_the_emulation_names_version_and_processor(emulated):
    told = emulated.simulator.emulation(emulated.folder)
    assert any(character.isdigit() for character in told.emulator)
    assert told.cpu


@pytest.mark.parametrize(
    ("backend", "line"),
    [
        ("qemu", "qemu-x86_64 is not installed: install qemu-user"),
        ("callgrind", "callgrind is not installed: install valgrind"),
    ],
)
def test_a_missing_emulator_is_one_line_that_says_what_to_install(tmp_path, monkeypatch, backend, line):
    monkeypatch.setenv("PATH", str(tmp_path))
    simulator = COUNTERS[backend]
    assert isinstance(simulator, Simulator)
    with pytest.raises(MachineError) as caught:
        simulator.prepare(tmp_path, Path("python"))
    assert str(caught.value) == line


def only(folder: Path, *programs: str) -> str:
    """A PATH that has these programs alone."""
    folder.mkdir()
    for name in programs:
        real = next(Path(home) / name for home in os.environ["PATH"].split(":") if (Path(home) / name).exists())
        (folder / name).symlink_to(real)
    return str(folder)


@pytest.mark.skipif(not Path("/usr/bin/qemu-x86_64").exists(), reason="qemu-user is not installed")
def test_without_a_compiler_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", only(tmp_path / "bin", "qemu-x86_64"))
    with pytest.raises(MachineError, match="compiled with cc, which is not installed: install gcc"):
        qemu.Qemu().prepare(tmp_path / "cache", Path("python"))


@pytest.mark.skipif(not Path("/usr/bin/qemu-x86_64").exists(), reason="qemu-user is not installed")
def test_a_plugin_that_does_not_compile_leaves_nothing_that_looks_prepared(tmp_path, monkeypatch):
    path = only(tmp_path / "bin", "qemu-x86_64", "sh")
    compiler = tmp_path / "bin" / "cc"
    compiler.write_text("#!/bin/sh\necho no such option >&2\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", path)
    with pytest.raises(MachineError, match=r"cannot compile the plugin .*: no such option"):
        qemu.Qemu().prepare(tmp_path / "cache", Path("python"))
    assert [entry.name for entry in (tmp_path / "cache").iterdir()] == ["qemu-plugin.lock"]


def test_the_mark_is_the_same_number_inside_and_outside(module):
    assert module.QEMU_MARK == qemu.MARK
