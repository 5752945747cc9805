"""Partitions on a server that systemd manages, with two NUMA nodes: one start of it is for all tests here."""

from __future__ import annotations

from typing import Any

import pytest
from debian_packages import need
from emulated_server import TOOLS, boot

SYSTEM, DAEMON, RESERVE = "0-1,30-31", "2-5", "0-5,30-31"


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """What the scenario ``under_systemd`` told, by name."""
    need(TOOLS)
    return boot("under_systemd", "systemd", nodes=2)


def test_groups_are_of_one_node_each_and_their_memory_too(told):
    code, text = told["up"]
    assert code == 0, text
    groups = told["settled"]["groups"]
    assert [groups[f"patchperf/group-{index}"]["cpuset.mems"] for index in range(7)] == list("0001111")
    assert {groups[f"patchperf/group-{index}"]["cpuset.cpus.partition"] for index in range(7)} == {"root"}


@pytest.mark.parametrize("when", ["settled", "reloaded"])
def test_units_stay_on_the_reserve_also_after_systemd_was_reloaded(told, when):
    assert told[when]["status"][0] == 0, told[when]["status"][1]
    found = {(name, cpus) for name, _, cpus in told[when]["processes"]}
    assert {cpus for name, cpus in found if name in ("dockerd", "containerd")} == {DAEMON}
    assert {cpus for name, cpus in found if name not in ("dockerd", "containerd")} == {SYSTEM}


def test_a_service_started_later_runs_on_the_reserve(told):
    assert told["late"] == [RESERVE]


def test_a_container_of_docker_s_own_groups_runs_on_the_leaf_of_its_node(told):
    assert told["driver"] == ["cgroupfs", None]
    case = told["case"]
    assert case["init"]["cgroup"].startswith("patchperf/group-3/leaf/")
    assert (case["init"]["cpus_allowed"], case["init"]["mems_allowed"]) == ("32,34,36,38", "1")
    assert case["inside"]["allowed"] == [[32, 34, 36, 38]]
    assert case["inside"]["mems"] == "1"


def test_down_leaves_units_and_their_settings_as_they_were(told):
    down = told["down"]
    assert down["output"] == [0, "all is as it was before\n"]
    assert not down["changes"], "\n".join([*down["changes"], down["shown"]])
    own, left = down["drop-ins"]
    assert left == own == ["system-modprobe.slice.d/50-AllowedCPUs.conf"]


def test_no_unit_has_failed(told):
    assert told["failed"].strip() == ""
