from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from patchperf.errors import MachineError
from patchperf.isolation.cgroups import ROOT
from patchperf.isolation.places import Place, docker_problem, entering, place_of
from patchperf.isolation.plan import Group

GROUP = Group(3, (6, 8), (7, 9), 0)


def test_a_container_gets_the_leaf_as_its_parent_or_its_cpus_or_nothing():
    leaf = Place(GROUP, "partition", ROOT / "patchperf/group-3/leaf")
    assert (leaf.container_options, leaf.prefix) == (("--cgroup-parent=/patchperf/group-3/leaf",), ())
    pinned = place_of(GROUP, "affinity")
    assert pinned.container_options == ("--cpuset-cpus=6,8",)
    assert pinned.prefix == ("taskset", "--cpu-list", "6,8")
    anywhere = place_of(GROUP, "none")
    assert (anywhere.container_options, anywhere.prefix) == ((), ())


def test_a_promised_partition_that_is_not_up_is_an_error(tmp_path: Path):
    with pytest.raises(MachineError, match=r"^core group 3 \(CPUs 6,8\) is no partition now: run with --executor"):
        place_of(GROUP, "partition", tmp_path)


def test_an_affinity_is_that_of_all_that_a_command_starts():
    place = Place(Group(0, (0,)), "affinity")
    command = [*place.prefix, "sh", "-c", "grep Cpus_allowed_list /proc/self/status"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["Cpus_allowed_list:", "0"]


def test_a_command_enters_its_group_before_it_starts(tmp_path: Path):
    (tmp_path / "cgroup.procs").touch()
    command = [*entering(tmp_path), "cat", str(tmp_path / "cgroup.procs")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "0\n"


def test_docker_with_systemd_s_groups_is_told_what_to_change():
    assert docker_problem("cgroupfs") is None
    assert "native.cgroupdriver=cgroupfs" in (docker_problem("systemd") or "")
