"""Plans for machines whose cores were counted off by hand, and what holds for any machine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st
from machines import machine

from patchperf.errors import MachineError
from patchperf.isolation.plan import Group, Plan, Sizes, choose, group_of, plan, pretended, whole_machine
from patchperf.isolation.topology import Cpu, Topology, format_cpus, parse_cpus

PAPER_SIZES = Sizes()
SMALL = Sizes(group_cores=1, daemon_cores=0, system_cores=1)
PAPER = "node 0: 0+1 2+3 ... 62+63"


@dataclass(frozen=True)
class Expected:
    """A machine, and its plan in the kernel's lists of CPUs."""

    machine: str
    groups: str
    system: str
    daemon: str
    spare: str = ""
    notes: tuple[str, ...] = ()
    sizes: Sizes = PAPER_SIZES


PLANS = {
    "the paper's server": Expected(
        PAPER,
        "6,8,10,12 14,16,18,20 22,24,26,28 30,32,34,36 38,40,42,44 46,48,50,52 54,56,58,60",
        system="0-1",
        daemon="2-5",
        spare="62-63",
    ),
    "siblings far apart": Expected(
        "node 0: 0+32 1+33 ... 31+63",
        "3-6 7-10 11-14 15-18 19-22 23-26 27-30",
        system="0,32",
        daemon="1-2,33-34",
        spare="31,63",
    ),
    "two CPUs and small groups": Expected("node 0: 0 1", "1", system="0", daemon="", sizes=SMALL),
    "four CPUs and small groups": Expected(
        "node 0: 0 1 2 3", "2 3", system="0", daemon="1", sizes=Sizes(group_cores=1, daemon_cores=1)
    ),
    "just enough": Expected("node 0: 0 1 ... 6", "3-6", system="0", daemon="1-2"),
    "no siblings": Expected("node 0: 0 1 ... 7", "3-6", system="0", daemon="1-2", spare="7"),
    # 16 cores a socket: 15 beside the system's do not divide by 4, so the daemon's come from there too.
    "two sockets": Expected(
        "node 0 package 0: 0+32 1+33 ... 15+47\nnode 1 package 1: 16+48 17+49 ... 31+63",
        "3-6 7-10 11-14 16-19 20-23 24-27 28-31",
        system="0,32",
        daemon="1-2,33-34",
        spare="15,47",
    ),
    # 9 beside the system's leave 1 over, the other node's 10 leave 2: taking 2 from the first would cost a group.
    "NUMA nodes with a remainder": Expected(
        "node 0: 0 1 ... 9\nnode 1 package 1: 10 11 ... 19",
        "2-5 6-9 11-14 15-18",
        system="0",
        daemon="1,10",
        spare="19",
    ),
    "two sockets that make one NUMA node": Expected(
        "package 0: 0 1 ... 5\npackage 1: 6 7 ... 11", "2-5 7-10", system="0", daemon="1,6", spare="11"
    ),
    "siblings offline": Expected(
        "node 0: 0+1 2 4+5 6 8+9 10 12 14\noffline: 3 7 11 13 15",
        "6,8,10,12",
        system="0-1",
        daemon="2,4-5",
        spare="14",
    ),
    "whole cores offline": Expected(
        "node 0: 0+1 4+5 ... 32+33\noffline: 2-3 6-7",
        "12,16,20,24",
        system="0-1",
        daemon="4-5,8-9",
        spare="28-29,32-33",
    ),
    # 8 fast cores: 7 beside the system's leave 3 over, of which the daemon gets 2.
    "hybrid": Expected(
        "kind 0 cache 0: 0+1 2+3 ... 14+15\nkind 1 cache 0: 16 17 ... 23",
        "6,8,10,12 16-19 20-23",
        system="0-1",
        daemon="2-5",
        spare="14-15",
        notes=("CPUs 16-23 measure on a slower kind of core",),
    ),
    # 6 fast cores: 5 beside the system's leave 1 over; the other is a slow one, so that four fast ones stay.
    "hybrid with few fast cores": Expected(
        "kind 0 cache 0: 0+1 2+3 ... 10+11\nkind 1 cache 0: 12 13 ... 19",
        "4,6,8,10 13-16",
        system="0-1",
        daemon="2-3,12",
        spare="17-19",
        notes=("CPUs 13-16 measure on a slower kind of core",),
    ),
    "little cores first": Expected(
        "kind 1 cache 0: 0 1 2 3\nkind 0 cache 0: 4 5 6 7", "4-7", system="0", daemon="1-2", spare="3"
    ),
    "chiplets of eight": Expected(
        "node 0: 0 1 ... 7\nnode 0: 8 9 ... 15\nnode 0: 16 17 ... 23",
        "3-6 8-11 12-15 16-19 20-23",
        system="0",
        daemon="1-2",
        spare="7",
    ),
    # A group of four fits each cache of six once: what is left of the second serves the daemon as well.
    "chiplets of six": Expected(
        "node 0: 0 1 ... 5\nnode 0: 6 7 ... 11", "2-5 7-10", system="0", daemon="1,6", spare="11"
    ),
    "chiplets of three": Expected(
        "node 0: 0 1 2\nnode 0: 3 4 5\nnode 0: 6 7 8\nnode 0: 9 10 11",
        "3-6 7-10",
        system="0",
        daemon="1-2",
        spare="11",
        notes=("groups in NUMA node 0 share no last-level cache: each has 3 cores at most",),
    ),
    "a set of a server's CPUs": Expected(
        f"{PAPER}\nallowed: 8-31", "14,16,18,20 22,24,26,28", system="8-9", daemon="10-13", spare="30-31"
    ),
    "a set of CPUs without their siblings": Expected(
        f"{PAPER}\nallowed: 0 2 4 6 8 10 12 14",
        "6,8,10,12",
        system="0",
        daemon="2,4",
        spare="14",
        notes=("CPUs 7,9,11,13 share cores with measuring ones and are not ours to keep idle",),
    ),
    "other sizes": Expected(
        PAPER,
        "8,10,12,14,16,18,20,22 24,26,28,30,32,34,36,38 40,42,44,46,48,50,52,54",
        system="0-3",
        daemon="4-7",
        spare="56-63",
        sizes=Sizes(group_cores=8, daemon_cores=2, system_cores=2),
    ),
}


@pytest.mark.parametrize("expected", PLANS.values(), ids=PLANS)
def test_the_cores_of_a_machine_are_shared_out_as_counted_by_hand(expected: Expected):
    made = plan(machine(expected.machine), expected.sizes)
    assert " ".join(format_cpus(group.cpus) for group in made.groups) == expected.groups
    assert [group.index for group in made.groups] == list(range(len(made.groups)))
    assert tuple(map(format_cpus, (made.system, made.daemon, made.spare))) == (
        expected.system, expected.daemon, expected.spare,
    )  # fmt: skip
    assert made.notes == expected.notes
    assert made.level == "affinity"


def test_siblings_of_measuring_cpus_are_idle_and_groups_know_their_node():
    groups = plan(machine(PLANS["two sockets"].machine), Sizes()).groups
    assert groups[0] == Group(0, (3, 4, 5, 6), (35, 36, 37, 38), 0)
    assert groups[-1] == Group(6, (28, 29, 30, 31), (60, 61, 62, 63), 1)
    with_some_offline = plan(machine(PLANS["siblings offline"].machine), Sizes())
    assert with_some_offline.groups[0].idle == (9,)


def test_what_is_kept_and_what_is_spare_does_the_housekeeping():
    assert format_cpus(plan(machine(PAPER), Sizes()).housekeeping) == "0-5,62-63"


REFUSED = {
    "one CPU": ("node 0: 0", "1 core usable (CPUs 0), 7 needed"),
    "two CPUs": ("node 0: 0 1", "2 cores usable (CPUs 0-1), 7 needed"),
    "four CPUs": ("node 0: 0 1 2 3", "4 cores usable (CPUs 0-3), 7 needed"),
    "eight CPUs of four cores": ("node 0: 0+1 2+3 4+5 6+7", "4 cores usable (CPUs 0-7), 7 needed"),
    "a small set of a server's CPUs": (f"{PAPER}\nallowed: 4-9", "3 cores usable (CPUs 4-9), 7 needed"),
    "small NUMA nodes": (
        "node 0: 0 1 2\nnode 1: 3 4 5\nnode 2: 6 7 8",
        "no 4 cores of one kind in one NUMA node are left of CPUs 0-8 beside the 3 kept",
    ),
    "three cores of each kind": (
        "kind 0: 0 1 2 3\nkind 1: 4 5 6",
        "no 4 cores of one kind in one NUMA node are left of CPUs 0-6 beside the 3 kept",
    ),
}


@pytest.mark.parametrize(("text", "said"), REFUSED.values(), ids=REFUSED)
def test_a_machine_with_too_few_cores_is_refused_with_what_is_there_and_what_is_needed(text: str, said: str):
    with pytest.raises(MachineError) as raised:
        plan(machine(text), Sizes())
    assert str(raised.value) == (
        f"{said}: 4 for a group (isolation.group_cores), 2 for the container daemon (isolation.daemon_cores), "
        "1 for the system (isolation.system_cores)"
    )


@pytest.mark.parametrize("level", ["affinity", "partition"])
def test_less_than_was_asked_for_is_refused_or_allowed_as_configured(level):
    laptop = machine("node 0: 0+1 2+3")
    with pytest.raises(MachineError, match=rf"^isolation {level}: 2 cores usable .*; isolation.weaker: allow does"):
        choose(laptop, Sizes(), level, "refuse")
    made = choose(laptop, Sizes(), level, "allow")
    assert (made.level, made.groups, made.housekeeping) == ("none", (Group(0, (0, 1, 2, 3), (), 0),), ())
    (note,) = made.notes
    assert note.startswith(f"isolation none instead of {level}: 2 cores usable (CPUs 0-3), 7 needed")


def test_a_machine_that_cannot_be_partitioned_gives_affinity_where_less_is_allowed():
    server = machine(PAPER)
    with pytest.raises(
        MachineError, match=r"^isolation partition: only root may; isolation.weaker: allow does with less$"
    ):
        choose(server, Sizes(), "partition", "refuse", "only root may")
    made = choose(server, Sizes(), "partition", "allow", "only root may")
    assert (made.level, made.groups) == ("affinity", plan(server, Sizes()).groups)
    assert made.notes == ("isolation affinity instead of partition: only root may",)


def test_a_machine_that_gives_neither_partitions_nor_groups_tells_both():
    made = choose(machine("node 0: 0+1 2+3"), Sizes(), "partition", "allow", "only root may")
    assert made.level == "none"
    first, second = made.notes
    assert first == "isolation none instead of partition: only root may"
    assert second.startswith("isolation none instead of affinity: 2 cores usable")


def test_what_was_asked_for_is_given_where_it_can_be():
    server = machine(PAPER)
    for weaker in ("refuse", "allow"):
        made = choose(server, Sizes(), "partition", weaker)
        assert (made.level, made.groups) == ("partition", plan(server, Sizes()).groups)
    assert choose(server, Sizes(), "none", "refuse") == whole_machine(server)


def test_a_whole_machine_is_one_group_of_the_usable_cpus_on_no_certain_node():
    made = whole_machine(machine("node 0: 0 1\nnode 1: 2 3\nallowed: 1-2"))
    assert made == Plan("none", (Group(0, (1, 2), (), None),))


def test_pretended_groups_have_no_cpus():
    assert pretended(2).groups == (Group(0, ()), Group(1, ()))


def test_a_group_is_found_again_from_its_cpus_whoever_may_use_them():
    server = machine(PLANS["two sockets"].machine + "\nallowed: 0")
    for group in plan(machine(PLANS["two sockets"].machine), Sizes()).groups:
        assert group_of(server, group.index, group.cpus) == group


@st.composite
def machines(draw: st.DrawFn) -> Topology:
    """Machines of up to three nodes, of which a few CPUs are offline or not ours."""
    lines = []
    number = 0
    for node in range(draw(st.integers(1, 3))):
        for kind in range(draw(st.integers(1, 2))):
            for _ in range(draw(st.integers(1, 3))):
                threads = draw(st.integers(1, 2))
                cores = draw(st.integers(1, 9))
                listed = [
                    "+".join(str(number + core * threads + thread) for thread in range(threads))
                    for core in range(cores)
                ]
                number += threads * cores
                lines.append(f"node {node} package {draw(st.integers(0, 1))} kind {kind}: {' '.join(listed)}")
    whole = machine("\n".join(lines))
    offline = draw(st.frozensets(st.integers(0, number - 1), max_size=4))
    online = [cpu.number for cpu in whole.cpus if cpu.number not in offline]
    cpus = tuple(
        Cpu(cpu.number, tuple(set(cpu.siblings) - offline), cpu.package, cpu.node, cpu.cache, cpu.kind)
        for cpu in whole.cpus
        if cpu.number not in offline
    )
    foreign = draw(st.frozensets(st.sampled_from(online), max_size=4)) if online else frozenset()
    return Topology(cpus, offline, frozenset(online) - foreign)


sizes = st.builds(Sizes, group_cores=st.integers(1, 5), daemon_cores=st.integers(0, 3), system_cores=st.integers(1, 2))


def planned(topology: Topology, sizes: Sizes) -> Plan | None:
    try:
        return plan(topology, sizes)
    except MachineError:
        return None


@given(machines(), sizes)
def test_every_usable_cpu_is_for_exactly_one_thing(topology: Topology, sizes: Sizes):
    made = planned(topology, sizes)
    if made is not None:
        purposes = [made.system, made.daemon, made.spare]
        purposes += [tuple(topology.allowed & {*group.cpus, *group.idle}) for group in made.groups]
        assert sorted(chain.from_iterable(purposes)) == sorted(topology.allowed)


@given(machines(), sizes)
def test_groups_have_so_many_cores_of_one_kind_and_place_with_idle_siblings(topology: Topology, sizes: Sizes):
    made = planned(topology, sizes)
    known = {cpu.number: cpu for cpu in topology.cpus}
    taken: set[tuple[int, ...]] = set()
    for group in made.groups if made else ():
        cpus = [known[number] for number in group.cpus]
        cores = {cpu.siblings for cpu in cpus}
        assert len(cores) == len(cpus) == sizes.group_cores
        assert len({(cpu.node, cpu.package, cpu.kind) for cpu in cpus}) == 1
        assert {cpu.node for cpu in cpus} == {group.node}
        assert {*group.cpus, *group.idle} == set(chain.from_iterable(cores))
        assert not cores & taken
        taken |= cores


@given(machines(), sizes)
def test_a_group_spans_caches_only_where_no_cache_of_its_node_has_cores_enough(topology: Topology, sizes: Sizes):
    made = planned(topology, sizes)
    known = {cpu.number: cpu for cpu in topology.cpus}
    for group in made.groups if made else ():
        first = known[group.cpus[0]]
        if len({known[number].cache for number in group.cpus}) > 1:
            around = [
                cpu
                for cpu in topology.cpus
                if (cpu.node, cpu.package, cpu.kind) == (first.node, first.package, first.kind)
                and cpu.number in topology.allowed
            ]
            for number in {cpu.cache for cpu in around}:
                assert len({cpu.siblings for cpu in around if cpu.cache == number}) < sizes.group_cores


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=4),
    st.integers(2, 4),
    st.integers(0, 5),
)
def test_no_other_choice_of_what_is_kept_would_leave_more_groups(nodes: list[int], group: int, daemon: int):
    lines = []
    for node, cores in enumerate(nodes):
        first = sum(nodes[:node])
        lines.append(f"node {node}: {' '.join(map(str, range(first, first + cores)))}")
    made = planned(machine("\n".join(lines)), Sizes(group_cores=group, daemon_cores=daemon))

    @cache
    def best(counts: tuple[int, ...], kept: int) -> int:
        if not kept:
            return sum(count // group for count in counts)
        choices = [
            best((*counts[:place], count - 1, *counts[place + 1 :]), kept - 1)
            for place, count in enumerate(counts)
            if count
        ]
        return max(choices, default=0)

    assert (len(made.groups) if made else 0) == best((nodes[0] - 1, *nodes[1:]), daemon)


@given(machines(), sizes)
def test_the_system_has_the_lowest_cpu_and_what_is_kept_is_as_large_as_asked(topology: Topology, sizes: Sizes):
    made = planned(topology, sizes)
    if made is not None:
        siblings = {cpu.number: cpu.siblings for cpu in topology.cpus}
        assert min(topology.allowed) in made.system
        assert len({siblings[number] for number in made.system}) == sizes.system_cores
        assert len({siblings[number] for number in made.daemon}) == sizes.daemon_cores
        assert parse_cpus(format_cpus(made.housekeeping)) == {*made.system, *made.daemon, *made.spare}
