from __future__ import annotations

import pytest

from patchperf.counters.cirron import Cirron
from patchperf.counters.none import NoCounter
from patchperf.counters.perf import Perf
from patchperf.counters.preflight import COUNTERS, judge
from patchperf.counters.protocol import Count


def count(backend="perf", value=1000, enabled=50, running=50, problem=None) -> Count:
    return Count(
        backend=backend, value=value, time_enabled_ns=enabled, time_running_ns=running, events=1, problem=problem
    )


@pytest.mark.parametrize(
    ("reading", "why"),
    [
        (count(), None),
        (count(running=49), "counter-multiplexed: running 49 of 50 ns enabled"),
        (count(value=0), "counter-unreadable: counted nothing"),
        (count(value=None, problem="no PMU"), "counter-unreadable: no PMU"),
        (count(value=None), "counter-unreadable: no value"),
        (count(backend="cirron"), "wrong-backend: counted by cirron, not by perf"),
    ],
)
def test_a_perf_reading_is_used_only_if_it_was_on_the_hardware_all_the_time(reading, why):
    assert Perf().distrust(reading) == why


@pytest.mark.parametrize(
    ("reading", "why"),
    [
        (count("cirron"), None),
        (count("cirron", running=49), "counter-multiplexed: running 49 of 50 ns enabled"),
        (count("cirron", value=0), "counter-unreadable: counted nothing"),
        (count("cirron", value=None, problem="no c++"), "counter-unreadable: no c++"),
        (count("perf"), "wrong-backend: counted by perf, not by cirron"),
    ],
)
def test_a_cirron_reading_is_used_on_the_same_conditions(reading, why):
    assert Cirron().distrust(reading) == why


def test_no_counter_reads_nothing_and_is_believed():
    assert NoCounter().distrust(count("none", value=None)) is None
    assert NoCounter().distrust(count("perf")) == "wrong-backend: counted by perf, not by none"


def test_every_counter_goes_by_its_own_name():
    assert {name: counter.backend for name, counter in COUNTERS.items()} == {name: name for name in COUNTERS}


@pytest.mark.parametrize(
    ("small", "large", "works"), [(1000, 4000, True), (1000, 4300, True), (1000, 1000, False), (1000, 90_000, False)]
)
def test_a_counter_works_if_four_times_the_work_counts_about_four_times_as_much(small, large, works):
    verdict = judge(Perf(), count(value=small), count(value=large))
    assert (verdict is None) == works
    if not works:
        assert verdict == f"counts do not follow the work: {small}, then {large} for 4 times as much"
