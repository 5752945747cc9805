"""Partitions of control groups version 2 on the topology of 32 cores with two logical CPUs each, in an emulated server.

One start of it, of some four minutes on a quiet machine, is for all tests here.
"""

from __future__ import annotations

from typing import Any

import pytest
from debian_packages import need
from emulated_server import TOOLS, boot

from patchperf.isolation.topology import parse_cpus

GROUPS = [range(first, first + 8) for first in range(6, 62, 8)]
LEAF = [6, 8, 10, 12]
SYSTEM, DAEMON, RESERVE = "0-1,62-63", "2-5", "0-5,62-63"


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """What the scenario ``partitions`` told, by name."""
    need(TOOLS)
    return boot("partitions", "own")


@pytest.mark.parametrize(
    ("who", "reason"),
    [
        ("user", "only root may partition the machine: run as root"),
        ("container", "/sys/fs/cgroup is that of a container, which cannot take CPUs from the machine: run patchperf "),
        ("read-only", "/sys/fs/cgroup is mounted read-only, as containers have it: run patchperf outside of the "),
        ("processes", "the machine's processes cannot be seen here: run patchperf outside of the container, or give "),
    ],
)
def test_who_cannot_partition_the_machine_is_told_why(told, who, reason):
    code, text = told["explanations"][who]
    assert code in (1, 3)
    assert reason in text


def test_an_up_that_fails_leaves_nothing_behind(told):
    assert told["explanations"]["changes"] == []


def test_seven_groups_are_planned_and_become_valid_partitions(told):
    first = told["first up"]
    assert first["code"] == 0, first["text"]
    tree = first["tree"]
    assert [name for name in tree if name.startswith("patchperf/group-") and name.count("/") == 1] == [
        f"patchperf/group-{index}" for index in range(7)
    ]
    for index, cpus in enumerate(GROUPS):
        group, leaf = tree[f"patchperf/group-{index}"], tree[f"patchperf/group-{index}/leaf"]
        assert group["cpuset.cpus.partition"] == "root"
        assert group["cpuset.cpus.effective"] == f"{cpus[0]}-{cpus[-1]}"
        assert group["cpuset.mems"] == "0"
        assert parse_cpus(leaf["cpuset.cpus.effective"]) == set(cpus[::2])
        assert (leaf["memory.max"], leaf["memory.swap.max"]) == (str(4096 << 20), "0")
    assert tree["."]["cpuset.cpus.effective"] == RESERVE


def test_tuning_is_done_or_said_to_be_impossible(told):
    first = told["first up"]
    assert first["aslr"] == "0"
    assert "note: governor: this kernel has no frequencies to govern here" in first["text"]
    assert "note: turbo: this kernel cannot switch it here" in first["text"]
    assert "tuned: /proc/sys/kernel/randomize_va_space 0, before 2" in told["status"]["output"][1]


def test_a_second_up_changes_nothing(told):
    second = told["second up"]
    assert second["code"] == 0
    assert second["text"].startswith("partitions were up already: nothing was changed")
    assert second["changes"] == []


def test_status_tells_the_groups_the_kernel_s_word_and_who_leases_them(told):
    code, text = told["status"]["output"]
    lines = text.splitlines()
    assert code == 0
    assert lines[0] == "level partition, type root: brought up by hand"
    first = "group 0: CPUs 6,8,10,12, idle 7,9,11,13, memory node 0: valid, leased by processes "
    assert lines[2] == f"{first}{told['status']['pid']}"
    assert [line.endswith(": valid, free") for line in lines[3:9]] == [True] * 6


def test_down_refuses_while_a_group_is_leased(told):
    code, text = told["down while leased"]
    assert code == 1
    pid = told["status"]["pid"]
    assert text == f"error: isolation is in use: core group 0 is leased by processes {pid}: end that first\n"


@pytest.mark.parametrize("what", ["threads", "children"])
def test_what_docker_starts_in_a_case_runs_on_the_leaf_s_cpus_only(told, what):
    case = told["container"]
    assert case["init"]["cpus_allowed"] == "6,8,10,12"
    assert case[what]["allowed"] == [LEAF]
    assert set(case[what]["ran"]) <= set(LEAF)
    assert case[what]["mems"] == "0"


def test_threads_and_children_share_the_leaf_s_cpus(told):
    assert len(told["container"]["threads"]["ran"]) > 1
    assert len(told["container"]["children"]["ran"]) > 1


def test_a_case_cannot_leave_its_cpus(told):
    assert told["container"]["refused"]["refused"] == [cpu for cpu in range(14) if cpu not in LEAF]


def test_another_user_never_runs_on_a_group_even_if_he_asks_to(told):
    busy, asking = told["neighbours"]
    assert busy["ran"]
    assert parse_cpus(SYSTEM) >= set(busy["ran"])
    assert asking["refused"] == list(range(6, 14))


def test_siblings_stay_idle_and_every_promise_is_kept(told):
    case = told["container"]
    assert case["broken"] is None
    assert sum(case["busy"][str(cpu)] for cpu in LEAF) > 300
    assert max(case["busy"][str(cpu + 1)] for cpu in LEAF) <= 2 + case["elapsed"]


def test_a_plain_command_runs_on_its_leaf_and_nothing_of_it_is_left(told):
    assert told["command"]["allowed"] == [[14, 16, 18, 20]]
    assert set(told["command"]["ran"]) <= {14, 16, 18, 20}
    assert told["left of a command"] == {"group": False, "code": -9}


def test_docker_refuses_the_cpus_of_a_partition(told):
    code, text = told["docker with CPUs"]
    assert code != 0
    assert "Requested CPUs are not available" in text


def test_memory_above_the_limit_is_refused_inside_the_case_only(told):
    memory = told["memory"]
    assert memory["inside"] == 137
    assert memory["events"]["oom_kill"] == "1"
    assert memory["less"]["filled"] == 1024
    assert memory["outside"]["filled"] == 4296


def test_a_case_never_swaps(told):
    memory = told["memory"]
    assert int(memory["swap of the machine"]) > 0
    assert (memory["swap now"], memory["swapped"]) == ("0", 0)
    assert memory["less"]["swap"] == "0 kB"


def test_the_daemon_and_the_system_stay_on_their_reserve(told):
    found = {(name, cpus) for name, group, cpus in told["processes"] if not group.startswith("patchperf/")}
    daemons = {cpus for name, cpus in found if name in ("dockerd", "containerd", "containerd-shim")}
    assert daemons == {DAEMON}
    others = {cpus for name, cpus in found if name not in ("dockerd", "containerd", "containerd-shim", "runc")}
    assert others == {SYSTEM}


def test_whatever_runs_on_a_sibling_voids_the_replicate(told):
    assert told["sibling"].startswith("sibling-busy: CPU 7 ran for ")


def test_a_process_outside_of_the_leaf_voids_the_replicate(told):
    assert told["outside"] == "cpus-outside: the process may run on 7, 6,8,10,12 was promised"


def test_down_leaves_the_machine_as_it_was(told):
    down = told["down"]
    assert (down["code"], down["text"]) == (0, "all is as it was before\n")
    assert down["changes"] == []
    assert down["pinned"] == "3,20"


def test_other_settings_than_those_that_are_up_are_refused(told):
    code, text = told["other up"]
    assert code == 1
    assert text == (
        "error: partitions are up with other settings, of isolation.tuning: run `patchperf isolate down` first, or use "
        "their settings\n"
    )


def test_a_killed_workflow_is_undone_by_down(told):
    killed = told["killed workflow"]
    assert killed["level"] == "partition"
    assert killed["down while it runs"][0] == 1
    assert "a workflow runs on it (processes " in killed["down while it runs"][1]
    assert killed["container before"]
    assert killed["down"] == [0, "all is as it was before\n"]
    assert not killed["container after"]
    assert killed["changes"] == []


def test_an_up_that_was_killed_is_undone_by_down(told):
    killed = told["killed up"]
    assert not killed["finished"]
    assert killed["status"][0] == 1
    assert killed["down"] == [0, "all is as it was before\n"]
    assert killed["changes"] == []
    assert told["nothing to undo"] == [0, "no partitions were up: nothing was changed\n"]


def test_two_workflows_share_the_partitions_and_the_last_one_takes_them_down(told):
    shared = told["shared"]
    assert shared["levels"] == ["partition", "partition"]
    assert not shared["by hand"]
    assert (shared["first"], shared["up"], shared["second"]) == ("False", True, "True")
    assert shared["changes"] == []


@pytest.mark.parametrize("what", ["threads", "children"])
def test_without_load_balancing_all_of_a_case_piles_up_on_one_cpu(told, what):
    assert told["isolated up"][0] == 0
    assert told["isolated"][what]["allowed"] == [LEAF]
    assert len(told["isolated"][what]["ran"]) == 1


def test_nothing_is_left_in_the_end(told):
    assert told["in the end"] == []
