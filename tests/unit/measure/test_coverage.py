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


def count(processes: int | None = None) -> Count:
    return Count(
        backend="qemu", value=1, time_enabled_ns=None, time_running_ns=None, events=0, problem=None, processes=processes
    )


def test_a_loop_that_stays_in_its_thread_and_in_user_mode_is_covered(told):
    for backend in ("cirron", "perf", "qemu", "callgrind"):
        assert not_covered(backend, None, told(), None, ()) == ""


def test_children_are_known_from_the_plugin_from_their_faults_or_because_they_are_left(told):
    assert not_covered("qemu", count(3), told(), None, ()) == "children: 3 processes were started"
    assert not_covered("callgrind", None, told(children_faults=90), None, ()) == "children: processes were started"
    assert not_covered("cirron", None, told(children=1), None, ()) == "children: processes were started"
    assert not_covered("perf", None, told(children_faults=90), None, ()) == ""


def test_threads_are_not_covered_by_cirron_alone(told):
    assert not_covered("cirron", None, told(threads=4), None, ()) == "threads: 4 threads at the end"
    assert not_covered("cirron", None, told(last_task=9), None, ()) == "threads: threads were started"
    assert not_covered("perf", None, told(threads=4, last_task=9), None, ()) == ""


def test_kernel_time_is_that_of_the_native_loop(told):
    native = told(system_seconds=1.25)
    assert kernel_share(native) == 0.5
    assert not_covered("qemu", None, told(), native, ()) == "kernel: 50 % of the time"
    assert not_covered("perf", None, native, None, ()) == "kernel: 50 % of the time"


def test_a_loop_of_a_few_ticks_does_not_tell_its_kernel_time(told):
    assert kernel_share(told(user_seconds=0.5, system_seconds=0.26)) is None


def test_several_gaps_are_listed(told):
    text = not_covered("qemu", count(1), told(), None, ("avx512", "amx"))
    assert text == "children: 1 processes were started; vectors: no avx512, amx"
