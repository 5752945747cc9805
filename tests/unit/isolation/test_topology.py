from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from machines import machine, show

from patchperf.errors import MachineError
from patchperf.isolation.topology import format_cpus, parse_cpus, read_topology

MACHINES = {
    "one CPU": "node 0: 0",
    "the paper's server": "node 0: 0+1 2+3 ... 62+63",
    "siblings far apart": "node 0: 0+4 1+5 2+6 3+7",
    "two sockets": "node 0 package 0: 0+4 1+5\nnode 1 package 1: 2+6 3+7",
    "CPUs off": "node 0: 0+1 2 4+5\noffline: 3 6-7",
    "chiplets": "node 0: 0 1\nnode 0: 2 3\nnode 1: 4 5",
    "two kinds of cores": "kind 0 cache 0: 0+1 2+3\nkind 1 cache 0: 4 5 6 7",
    "some of all": "node 0: 0 1 2 3\nallowed: 1-2",
}


@pytest.mark.parametrize("text", MACHINES.values(), ids=MACHINES)
def test_a_machine_is_read_as_the_kernel_shows_it(tmp_path: Path, text: str):
    expected = machine(text)
    assert read_topology(show(expected, tmp_path), expected.allowed) == expected


def test_kinds_of_cores_are_told_by_capacity_where_they_are_no_devices(tmp_path: Path):
    expected = machine("kind 1 cache 0: 0 1\nkind 0 cache 0: 2\nkind 2 cache 0: 3")
    shown = show(expected, tmp_path, capacities={0: 760, 1: 760, 2: 1024, 3: 250})
    assert read_topology(shown, range(4)) == expected


def test_small_differences_of_capacity_are_no_kinds_where_there_are_devices(tmp_path: Path):
    shown = show(machine("kind 0 cache 0: 0 1\nkind 1 cache 0: 2 3"), tmp_path)
    for number, capacity in enumerate([1024, 1009, 500, 500]):
        (shown / f"devices/system/cpu/cpu{number}/cpu_capacity").write_text(str(capacity))
    assert [cpu.kind for cpu in read_topology(shown, range(4)).cpus] == [0, 0, 1, 1]


def test_what_a_virtual_machine_does_not_show_is_one_node_one_socket_and_no_cache(tmp_path: Path):
    folder = tmp_path / "devices/system/cpu"
    folder.mkdir(parents=True)
    (folder / "online").write_text("0-1\n")
    topology = read_topology(tmp_path, {0, 1})
    assert [(cpu.number, cpu.siblings, cpu.package, cpu.node, cpu.cache, cpu.kind) for cpu in topology.cpus] == [
        (0, (0,), 0, 0, None, 0),
        (1, (1,), 0, 0, None, 0),
    ]


def test_a_socket_that_the_firmware_does_not_number_is_the_first(tmp_path: Path):
    shown = show(machine("node 0: 0"), tmp_path)
    (shown / "devices/system/cpu/cpu0/topology/physical_package_id").write_text("-1\n")
    assert read_topology(shown, {0}).cpus[0].package == 0


def test_a_machine_that_tells_nothing_is_refused_by_the_file_s_name(tmp_path: Path):
    with pytest.raises(MachineError, match=r"devices/system/cpu/online does not tell .*: mount sysfs"):
        read_topology(tmp_path)


def test_this_machine_has_the_cpus_that_this_process_may_use():
    topology = read_topology()
    assert topology.allowed == os.sched_getaffinity(0)
    assert topology.allowed <= {cpu.number for cpu in topology.cpus}
    assert len(topology.cpus) == os.sysconf("SC_NPROCESSORS_ONLN")
    for cpu in topology.cpus:
        assert cpu.number in cpu.siblings
        assert all(other.siblings == cpu.siblings for other in topology.cpus if other.number in cpu.siblings)


@given(st.frozensets(st.integers(0, 300)))
def test_a_list_of_cpus_reads_back_as_it_was_written(numbers: frozenset[int]):
    assert parse_cpus(format_cpus(numbers)) == numbers


@pytest.mark.parametrize(
    ("text", "numbers"), [("", ()), ("7\n", (7,)), ("0-3,8", (0, 1, 2, 3, 8)), ("1,0", (0, 1)), ("2-2", (2,))]
)
def test_the_kernel_s_lists_of_cpus_are_read(text: str, numbers: tuple[int, ...]):
    assert tuple(sorted(parse_cpus(text))) == numbers


@pytest.mark.parametrize(
    ("numbers", "text"), [((), ""), ((5, 4), "4-5"), ((0, 1, 2, 4), "0-2,4"), ((6, 8, 10), "6,8,10")]
)
def test_lists_of_cpus_are_written_as_the_kernel_writes_them(numbers: tuple[int, ...], text: str):
    assert format_cpus(numbers) == text
