from __future__ import annotations

import os
from pathlib import Path

import pytest

from patchperf.isolation.cgroups import Tree
from patchperf.isolation.plan import Group
from patchperf.isolation.verification import (
    HostSample,
    Promise,
    Seen,
    broken,
    busy_seconds,
    observe,
    promise_of,
    sample,
)

GROUP = Group(0, (6, 8), (7, 9), 0)
PROMISE = promise_of(GROUP, "partition", "root", 4096)
GOOD = Seen(
    cpus_allowed="6,8",
    mems_allowed="0",
    cgroup="patchperf/group-0/leaf/abc",
    partition="root",
    memory_max=str(4096 << 20),
    swap_max="0",
)
BEFORE = HostSample(
    at=100.0,
    ticks_per_second=100,
    busy=dict.fromkeys((6, 7, 8, 9), 1000),
    steal=dict.fromkeys((6, 7, 8, 9), 5),
    heat={6: 1, 7: 1},
)
AFTER = BEFORE.model_copy(update={"at": 104.0, "busy": {6: 1400, 7: 1006, 8: 1000, 9: 1000}})


def test_a_replicate_that_had_everything_has_no_broken_promise():
    assert broken(PROMISE, GOOD, BEFORE, AFTER) is None
    assert broken(PROMISE, GOOD.model_copy(update={"cpus_allowed": "8", "memory_max": "1000"}), BEFORE, AFTER) is None


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"cpus_allowed": "0-5,62-63"}, "cpus-outside: the process may run on 0-5,62-63, 6,8 was promised"),
        ({"cpus_allowed": "6-9"}, "cpus-outside: the process may run on 6-9, 6,8 was promised"),
        ({"cpus_allowed": None}, "not-told: the CPUs that the process may run on"),
        (
            {"cgroup": "patchperf-system"},
            "cgroup-outside: the process is in /patchperf-system, not below /patchperf/gr",
        ),
        ({"cgroup": "patchperf/group-0/leaf-not"}, "cgroup-outside: "),
        ({"cgroup": None}, "not-told: the control group of the process"),
        (
            {"partition": "root invalid (Parent is not a partition root)"},
            "partition-invalid: the kernel says 'root invalid (Parent is not a partition root)' where 'root' was",
        ),
        ({"partition": None}, "partition-invalid: the kernel says None"),
        ({"mems_allowed": "0-1"}, "memory-nodes: the process may use 0-1, 0 was promised"),
        ({"mems_allowed": None}, "not-told: the memory nodes of the process"),
        ({"memory_max": "max"}, "memory-limit: it is max, 4096 MB was promised"),
        ({"memory_max": None}, "memory-limit: it is unknown, 4096 MB was promised"),
        ({"swap_max": "max"}, "swap: max of it may be used, none was promised"),
        ({"swap_max": None}, "swap: an unknown amount of it may be used, none was promised"),
    ],
)
def test_what_the_process_saw_breaks_a_promise(changed: dict[str, str | None], reason: str):
    told = broken(PROMISE, GOOD.model_copy(update=changed), BEFORE, AFTER)
    assert told is not None
    assert told.startswith(reason)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (
            {"busy": {6: 1400, 7: 1007, 8: 1000, 9: 1000}},
            "sibling-busy: CPU 7 ran for 0.07 s of 4.00 s, and should be idle",
        ),
        ({"busy": {6: 1400, 7: 1000, 8: 1000}}, "not-told: the load of CPU 9"),
        ({"steal": {6: 5, 8: 12}}, "steal: a hypervisor took 0.07 s of 4.00 s from CPU 8"),
        ({"quota": 3}, "throttled: a CPU quota stopped the group 3 times"),
        ({"heat": {6: 1, 7: 3}}, "throttled: CPU 7 was slowed down for heat 2 times"),
    ],
)
def test_what_the_host_saw_breaks_a_promise(changed: dict[str, object], reason: str):
    assert broken(PROMISE, GOOD, BEFORE, AFTER.model_copy(update=changed)) == reason


def test_less_is_promised_at_weaker_levels():
    noisy = AFTER.model_copy(update={"busy": {7: 9999}, "quota": 1})
    affinity = promise_of(GROUP, "affinity")
    assert broken(affinity, Seen(cpus_allowed="6,8"), BEFORE, noisy) is None
    assert broken(affinity, Seen(cpus_allowed="0-9"), BEFORE, AFTER) == (
        "cpus-outside: the process may run on 0-9, 6,8 was promised"
    )
    assert broken(Promise(level="none"), Seen(), BEFORE, noisy) is None


def test_this_process_is_observed_as_its_kernel_shows_it(tmp_path: Path):
    seen = observe("self", Tree(tmp_path))
    status = dict(line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line)
    assert seen.cpus_allowed == status["Cpus_allowed_list"]
    assert seen.mems_allowed == status["Mems_allowed_list"]
    assert (seen.partition, seen.memory_max, seen.swap_max) == (None, None, None)
    assert observe(2**22 + 1) == Seen()


def test_limits_are_the_smallest_and_the_partition_the_nearest_one_above(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("patchperf.isolation.verification.group_in", lambda _: "top/group/leaf")
    told = {"top": ("root", "max"), "top/group": ("isolated", "100"), "top/group/leaf": ("member", "200")}
    for group, (partition, memory) in told.items():
        (tmp_path / group).mkdir()
        (tmp_path / group / "cpuset.cpus.partition").write_text(f"{partition}\n")
        (tmp_path / group / "memory.max").write_text(f"{memory}\n")
    (tmp_path / "top/memory.swap.max").write_text("0\n")
    seen = observe("self", Tree(tmp_path))
    assert (seen.partition, seen.memory_max, seen.swap_max) == ("isolated", "100", "0")


def test_a_group_that_is_no_partition_any_more_is_a_member_although_it_lies_in_one(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("patchperf.isolation.verification.group_in", lambda _: "patchperf/group-0/leaf")
    for group, partition in {"": "root", "group-0": "member", "group-0/leaf": "member"}.items():
        (tmp_path / "patchperf" / group).mkdir()
        (tmp_path / "patchperf" / group / "cpuset.cpus.partition").write_text(f"{partition}\n")
    assert observe("self", Tree(tmp_path)).partition == "member"


def test_a_sample_is_of_the_group_s_cpus_alone(tmp_path: Path):
    (tmp_path / "stat").write_text(
        "cpu  9 9 9 9 9 9 9 9 9 9\ncpu6 1 2 3 100 50 4 5 6 7 8\n"
        "cpu7 0 0 1 200 0 0 0 0 0 0\ncpu10 9 9 9 9 9 9 9 9 9 9\nintr 1\n"
    )
    heat = tmp_path / "devices/system/cpu/cpu6/thermal_throttle"
    heat.mkdir(parents=True)
    (heat / "core_throttle_count").write_text("3\n")
    (tmp_path / "cpu.stat").write_text("usage_usec 5\nnr_periods 9\nnr_throttled 2\n")
    first = sample(GROUP, tmp_path, tmp_path, tmp_path)
    assert (first.busy, first.steal, first.quota, first.heat) == ({6: 15, 7: 1}, {6: 6, 7: 0}, 2, {6: 3})
    later = first.model_copy(update={"busy": {6: 115, 7: 1}})
    assert busy_seconds(first, later) == {6: 100 / os.sysconf("SC_CLK_TCK"), 7: 0}
