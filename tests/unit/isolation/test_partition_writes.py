from __future__ import annotations

import pytest
from machines import machine

from patchperf.isolation.partitions import (
    Confinement,
    Write,
    confinements,
    holds,
    leaf_of,
    partition_of,
    partition_writes,
    reserve_writes,
)
from patchperf.isolation.plan import Sizes, plan

SERVER = machine("node 1: 0+1 2+3 ... 22+23")
PLAN = plan(SERVER, Sizes())
HIERARCHY = {
    "": ["docker", "init.scope", "patchperf", "patchperf-daemon", "patchperf-system", "system.slice"],
    "system.slice": ["system.slice/containerd.service", "system.slice/docker.service", "system.slice/ssh.service"],
}


def test_a_partition_has_all_cpus_of_its_cores_and_its_leaf_one_of_each():
    written = {(one.group, one.file): one.text for one in partition_writes(PLAN, "isolated", 4096)}
    first = PLAN.groups[0]
    assert written["patchperf", "cpuset.cpus"] == "6-21"
    assert written[partition_of(first), "cpuset.cpus"] == "6-13"
    assert written[partition_of(first), "cpuset.mems"] == "1"
    assert written[partition_of(first), "cpuset.cpus.partition"] == "isolated"
    assert written[leaf_of(first), "cpuset.cpus"] == "6,8,10,12"
    assert written[leaf_of(first), "memory.max"] == str(4 << 30)
    assert written[leaf_of(first), "memory.swap.max"] == "0"


def test_nothing_is_written_before_the_group_above_hands_it_on():
    handed_on = {""}
    for one in partition_writes(PLAN, "root", 1024):
        assert one.group.rpartition("/")[0] in handed_on
        if one.file == "cgroup.subtree_control":
            handed_on.add(one.group)


def test_memory_is_bound_to_no_node_where_a_group_has_none():
    whole = plan(machine("node 0: 0 1 2 3\nnode 1: 4 5 6 7"), Sizes(group_cores=2, daemon_cores=0))
    assert all(group.node is not None for group in whole.groups)
    written = [one for one in partition_writes(whole, "root", 1) if one.file == "cpuset.mems"]
    assert [one.text for one in written] == [str(group.node) for group in whole.groups]


def test_the_reserve_is_the_system_s_and_the_daemon_s():
    assert list(reserve_writes(PLAN)) == [
        Write("patchperf-system", "cpuset.cpus", "0-1,22-23"),
        Write("patchperf-daemon", "cpuset.cpus", "2-5"),
    ]
    without = plan(SERVER, Sizes(daemon_cores=0))
    assert [one.group for one in reserve_writes(without)] == ["patchperf-system"]


def test_what_is_not_ours_is_kept_to_the_system_s_cpus_and_daemons_to_theirs():
    daemons = {"system.slice/docker.service", "system.slice/containerd.service"}
    found = list(confinements(PLAN, daemons, lambda group: HIERARCHY.get(group, [])))
    system, daemon = (0, 1, 22, 23), (2, 3, 4, 5)
    assert found == [
        Confinement("docker", system),
        Confinement("init.scope", system),
        Confinement("system.slice", (0, 1, 2, 3, 4, 5, 22, 23)),
        Confinement("system.slice/containerd.service", daemon),
        Confinement("system.slice/docker.service", daemon),
        Confinement("system.slice/ssh.service", system),
    ]


def test_without_daemons_only_the_groups_at_the_top_are_kept():
    found = confinements(PLAN, (), lambda group: HIERARCHY.get(group, []))
    assert [one.group for one in found] == ["docker", "init.scope", "system.slice"]


@pytest.mark.parametrize(
    ("file", "text", "told", "as_written"),
    [
        ("cpuset.cpus", "6-13", "6-13", True),
        ("cpuset.cpus", "6-13", "6-12", False),
        ("cpuset.cpus.partition", "root", "root", True),
        ("cpuset.cpus.partition", "root", "root invalid (Cpu list in cpuset.cpus not exclusive)", False),
        ("cgroup.subtree_control", "+cpuset +memory", "cpuset cpu memory", True),
        ("cgroup.subtree_control", "+cpuset +memory", "cpu memory", False),
    ],
)
def test_what_was_written_is_recognised(file: str, text: str, told: str, as_written: bool):
    assert holds(Write("patchperf", file, text), told) is as_written
