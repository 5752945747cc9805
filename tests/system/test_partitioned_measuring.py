"""Cases measured at level "partition" on an emulated server, in each sandbox.

One start of it, of some minutes on a busy machine, is for all tests here. Its 8 cores have one core group.
"""

from __future__ import annotations

from typing import Any

import pytest
from debian_packages import need
from emulated_server import TOOLS, boot

LEAF = [6, 8, 10, 12]
SANDBOXES = ["processes-only", "namespaces+cgroup", "docker"]
ATTEMPTS, FEW_ATTEMPTS = 3, 2

each_sandbox = pytest.mark.parametrize("sandbox", SANDBOXES)


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """What the scenario ``measuring`` told, by name."""
    need(TOOLS)
    return boot("measuring", "own", cores=8, packages=("docker", "pandas", "uv"))


def replicate(case: dict[str, Any]) -> dict[str, Any]:
    """The last record of a case's replicate."""
    assert case["reason"] is None, case["runs"]
    return case["records"][-1]


@each_sandbox
def test_a_case_is_valid_on_its_partition(told, sandbox):
    record = replicate(told[sandbox])
    assert (record["void"], record["reason"]) == (False, "")
    assert (record["confinement"], record["isolation"], record["core_group"]) == (sandbox, "partition", 0)


@each_sandbox
def test_its_record_has_what_the_host_saw(told, sandbox):
    record = replicate(told[sandbox])
    assert (record["cpus_allowed"], record["mems_allowed"]) == ("6,8,10,12", "0")
    assert record["host_cgroup"].startswith("patchperf/group-0/leaf/")
    assert (record["partition"], record["memory_max"], record["swap_max"]) == ("root", str(4096 << 20), "0")
    assert (record["group_steal_seconds"], record["throttled"]) == (0, 0)


@each_sandbox
def test_the_siblings_were_idle_meanwhile(told, sandbox):
    record = replicate(told[sandbox])
    whole = record["process_seconds"] + record["host_seconds"]
    assert record["sibling_busy_seconds"] <= len(LEAF) * (0.02 + 0.01 * whole)


@each_sandbox
def test_threads_and_children_of_its_test_ran_on_its_cpus_only(told, sandbox):
    loads = told[sandbox]["loads"]
    assert len(loads) == 2 * len(told[sandbox]["runs"])
    assert {tuple(allowed) for load in loads for allowed in load["allowed"]} == {tuple(LEAF)}
    assert {cpu for load in loads for cpu in load["ran"]} == set(LEAF)
    assert {load["mems"] for load in loads} == {"0"}


def test_a_replicate_beside_a_busy_sibling_is_void_and_run_again(told):
    disturbed = told["disturbed"]
    first, last = disturbed["records"][0], replicate(disturbed)
    assert (first["void"], first["attempt"]) == (True, 1)
    assert first["reason"].startswith("sibling-busy: CPU 7 ran for ")
    assert first["sibling_busy_seconds"] > 0.02
    assert (last["void"], last["replicate"]) == (False, first["replicate"])
    assert 1 < last["attempt"] <= ATTEMPTS


def test_a_test_that_leaves_its_control_group_is_void_each_time(told):
    leaving = told["leaving"]
    assert leaving["reason"] == "trial-cgroup-outside"
    said = "cgroup-outside: the process is in /patchperf/group-0/beside, not below /patchperf/group-0/leaf"
    assert leaving["runs"] == [["trial", said]] * FEW_ATTEMPTS


def test_without_its_partition_a_replicate_is_void_each_time(told):
    gone = told["taken down"]
    assert gone["reason"] == "replicate-partition-invalid"
    assert [record["attempt"] for record in gone["records"]] == list(range(1, FEW_ATTEMPTS + 1))
    assert {record["void"] for record in gone["records"]} == {True}
    assert all(record["partition"].startswith("root invalid") for record in gone["records"])


def test_nothing_is_left_in_the_end(told):
    assert told["down"] == {"output": [0, "all is as it was before\n"], "changes": []}
