from __future__ import annotations

import pytest

from patchperf.counters.protocol import Count
from patchperf.measure.coverage import kernel_share, not_covered


@pytest.fixture
def told(make_report):
    """The report of a loop with the given changes at its end."""

    def make(children=0, **changes):
        report = make_report(children=children)
        after = report.before.model_copy(update={"user_seconds": 1.5, **changes})
        return report.model_copy(update={"after": after})

    return make


def count(processes: int | None = None, parts: tuple[tuple[int, int], ...] = ()) -> Count:
    return Count(
        backend="qemu",
        value=1,
        time_enabled_ns=None,
        time_running_ns=None,
        events=0,
        problem=None,
        parts=parts,
        processes=processes,
    )


def left_out(backend, report, counted=None, *, kernel=None, lacking=(), own_pids=True, scaled=False):
    return not_covered(backend, counted, report, kernel, lacking, own_pids=own_pids, scaled=scaled)


def test_a_loop_that_stays_in_its_thread_and_in_user_mode_is_covered(told):
    for backend in ("cirron", "perf", "qemu", "callgrind"):
        assert left_out(backend, told(), kernel=0.005) == ""


def test_children_are_known_from_the_plugin_from_their_faults_or_because_they_are_left(told):
    assert left_out("qemu", told(), count(3)) == "children:3"
    assert left_out("callgrind", told(children_faults=90)) == "children"
    assert left_out("cirron", told(children=1)) == "children"
    assert left_out("perf", told(children_faults=90)) == ""


def test_threads_are_not_covered_by_cirron_alone(told):
    assert left_out("cirron", told(threads=4)) == "threads:4"
    assert left_out("cirron", told(last_task=9)) == "threads"
    assert left_out("perf", told(threads=4, last_task=9)) == ""


def test_the_last_task_of_a_shared_pid_namespace_may_be_anybodys(told):
    assert left_out("cirron", told(last_task=9), own_pids=False) == ""
    assert left_out("cirron", told(threads=2), own_pids=False) == "threads:2"


def test_the_kernels_share_is_told_from_one_per_cent_on(told):
    assert kernel_share(user_seconds=1.5, system_seconds=0.5) == 0.25
    assert left_out("qemu", told(), kernel=0.25) == "kernel:25"
    assert left_out("perf", told(), kernel=0.01) == "kernel:1"
    assert left_out("perf", told(), kernel=None) == ""


def test_a_loop_of_a_few_ticks_does_not_tell_its_kernel_time():
    assert kernel_share(user_seconds=0.1, system_seconds=0.05) is None
    assert kernel_share(user_seconds=None, system_seconds=0.5) is None


def test_calls_that_are_not_alike_are_told_of_where_a_few_stand_for_many(told):
    """By hand: 110 a call, then 100; 1000, then 1009."""
    cheaper, alike = count(parts=((2, 220), (3, 300))), count(parts=((1, 1000), (1, 1009)))
    assert left_out("qemu", told(), cheaper, scaled=True) == "unsteady:9.1"
    assert left_out("qemu", told(), cheaper, scaled=False) == ""
    assert left_out("qemu", told(), alike, scaled=True) == ""
    assert left_out("qemu", told(), count(parts=((1, 1000),)), scaled=True) == "unsteady"


def test_several_gaps_are_listed(told):
    text = left_out("qemu", told(), count(1), lacking=("avx512", "amx"))
    assert text == "children:1; vectors:avx512,amx"
