from __future__ import annotations

import pytest

from patchperf.counters.preflight import COUNTERS
from patchperf.counters.processors import beyond_avx2
from patchperf.counters.protocol import Count, Region
from patchperf.counters.readings import loop_count

TOLD = Count(backend="qemu", value=None, time_enabled_ns=None, time_running_ns=None, events=0, problem=None)


def region(instructions: int, process: int = 7, **more: int | bool) -> Region:
    return Region(process=process, instructions=instructions, **more)


def test_the_empty_regions_count_is_taken_out_of_the_loops():
    count = loop_count(TOLD, [region(3000), region(1_003_000, processes=2, threaded=True)])
    assert (count.value, count.constant, count.processes, count.threaded) == (1_000_000, 3000, 2, True)
    assert COUNTERS["qemu"].distrust(count) is None


@pytest.mark.parametrize(
    ("regions", "problem"),
    [
        ([], "nothing was counted: the program did not run under the emulator"),
        ([region(3000)], "1 regions of 1 processes were counted, not 2 of one"),
        ([region(3000), region(1), region(2)], "3 regions of 1 processes were counted, not 2 of one"),
        ([region(3000), region(9000, process=8)], "2 regions of 2 processes were counted, not 2 of one"),
    ],
)
def test_other_regions_than_these_two_give_no_value(regions, problem):
    """One more than the harness marks would be the mark of somebody else."""
    count = loop_count(TOLD, regions)
    assert (count.value, count.problem) == (None, problem)
    assert COUNTERS["qemu"].distrust(count) == f"counter-unreadable: {problem}"


def test_a_process_that_could_not_mark_says_so():
    told = TOLD.model_copy(update={"problem": "no ctypes"})
    assert loop_count(told, [region(1), region(2)]) == told


def test_a_loop_that_counts_less_than_nothing_is_not_believed():
    assert COUNTERS["qemu"].distrust(loop_count(TOLD, [region(9), region(9)])) == "counter-unreadable: counted nothing"
    assert COUNTERS["callgrind"].distrust(TOLD) == "wrong-backend: counted by qemu, not by callgrind"


def test_families_of_vector_extensions_are_named_once(tmp_path):
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nflags\t\t: fpu avx2 avx512f avx512bw gfni\nflags\t\t: amx_tile\n")
    assert beyond_avx2(cpuinfo) == ("avx512", "gfni")
    assert beyond_avx2(tmp_path / "absent") == ()
