from __future__ import annotations

import pytest

from patchperf.counters.preflight import COUNTERS
from patchperf.counters.processors import beyond_avx2
from patchperf.counters.protocol import Count, Region
from patchperf.counters.readings import drift, loop_count

TOLD = Count(backend="qemu", value=None, time_enabled_ns=None, time_running_ns=None, events=0, problem=None)


def region(instructions: int, process: int = 7, **more: int | bool) -> Region:
    return Region(process=process, instructions=instructions, **more)


def test_the_empty_regions_count_is_taken_out_of_the_loops():
    count = loop_count(TOLD, [region(3000), region(1_003_000, processes=2, threaded=True)], [50])
    assert (count.value, count.constant, count.processes, count.threaded) == (1_000_000, 3000, 2, True)
    assert count.parts == ((50, 1_000_000),)
    assert COUNTERS["qemu"].distrust(count) is None


def test_a_loop_in_two_halves_is_their_sum_and_tells_how_far_they_are_apart():
    halves = [region(403_000, processes=1, threaded=False), region(609_000, processes=2, threaded=True)]
    count = loop_count(TOLD, [region(3000), *halves], [4, 5])
    assert (count.value, count.processes, count.threaded) == (1_006_000, 3, True)
    assert count.parts == ((4, 400_000), (5, 606_000))
    assert drift(count) == pytest.approx(0.212)


def test_halves_that_an_emulator_tells_less_of_are_summed_as_far_as_that_goes():
    count = loop_count(TOLD, [region(3000), region(4000), region(4000)], [1, 1])
    assert (count.value, count.processes, count.threaded, drift(count)) == (2000, None, None, 0)


def test_one_call_does_not_tell_whether_calls_are_alike():
    assert drift(loop_count(TOLD, [region(3000), region(9000)], [1])) is None
    assert drift(TOLD) is None


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
    count = loop_count(TOLD, regions, [9])
    assert (count.value, count.problem) == (None, problem)
    assert COUNTERS["qemu"].distrust(count) == f"counter-unreadable: {problem}"


def test_a_process_that_could_not_mark_says_so():
    told = TOLD.model_copy(update={"problem": "no ctypes"})
    assert loop_count(told, [region(1), region(2)], [9]) == told


def test_a_loop_that_counts_less_than_nothing_is_not_believed():
    assert (
        COUNTERS["qemu"].distrust(loop_count(TOLD, [region(9), region(9)], [9]))
        == "counter-unreadable: counted nothing"
    )
    assert COUNTERS["callgrind"].distrust(TOLD) == "wrong-backend: counted by qemu, not by callgrind"


def test_families_of_vector_extensions_are_named_once(tmp_path):
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nflags\t\t: fpu avx2 avx512f avx512bw gfni\nflags\t\t: amx_tile\n")
    assert beyond_avx2(cpuinfo) == ("avx512", "gfni")
    assert beyond_avx2(tmp_path / "absent") == ()
