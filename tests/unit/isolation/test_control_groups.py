from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from patchperf.errors import MachineError
from patchperf.isolation import cgroups
from patchperf.isolation.cgroups import Facts, Tree, group_in, groups_of, is_kernel_thread, problem

GOOD = Facts(
    user=0, mount=("cgroup2", "rw", "nsdelegate"), whole=True, controllers=frozenset(("cpuset", "memory", "pids"))
)


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (GOOD, None),
        (
            replace(GOOD, mount=("tmpfs", "rw")),
            "this machine has control groups of version 1 (/sys/fs/cgroup is tmpfs):",
        ),
        (replace(GOOD, mount=("cgroup", "rw")), "this machine has control groups of version 1"),
        (replace(GOOD, mount=()), "no control groups of version 2 are mounted on /sys/fs/cgroup: mount -t cgroup2"),
        (replace(GOOD, whole=False), "/sys/fs/cgroup is that of a container"),
        (
            replace(GOOD, controllers=frozenset(("cpu", "pids"))),
            "control groups of version 2 lack cpuset, memory, which",
        ),
        (replace(GOOD, mount=("cgroup2", "ro")), "/sys/fs/cgroup is mounted read-only"),
        (replace(GOOD, user=1000), "only root may partition the machine: run as root"),
        (replace(GOOD, user=1000, mount=("tmpfs", "rw")), "this machine has control groups of version 1"),
    ],
)
def test_the_first_obstacle_is_told(facts: Facts, reason: str | None):
    told = problem(facts)
    assert told is None if reason is None else told is not None and told.startswith(reason)


def test_the_mount_that_counts_is_the_last_one_with_both_kinds_of_options():
    mountinfo = (
        "25 1 0:22 / /sys/fs/cgroup ro,nosuid shared:9 - tmpfs tmpfs ro,mode=755\n"
        "31 1 0:27 / /sys/fs/cgroup rw,relatime shared:9 - cgroup2 cgroup2 ro,nsdelegate\n"
        "32 1 0:28 / /sys/fs/cgroup/other rw - cgroup cgroup rw,cpuset\n"
    )
    assert cgroups._mount(mountinfo, "/sys/fs/cgroup") == ("cgroup2", "rw", "relatime", "ro", "nsdelegate")
    assert cgroups._mount(mountinfo, "/elsewhere") == ()


def test_the_kernel_s_own_threads_are_told_from_processes():
    assert is_kernel_thread(2**22 + 1)
    assert not is_kernel_thread(0)
    assert not is_kernel_thread(1)


def test_the_group_of_version_2_is_found_among_others():
    assert group_in("4:cpuset:/a\n0::/system.slice/docker.service\n") == "system.slice/docker.service"
    assert group_in("4:cpuset:/a\n") == ""


def test_processes_are_found_by_name(tmp_path: Path):
    for pid, name in ((1, "init"), (7, "dockerd"), (8, "dockerd")):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "comm").write_text(f"{name}\n")
        (tmp_path / str(pid) / "cgroup").write_text(f"0::/of {pid}\n")
    (tmp_path / "8/cgroup").unlink()
    assert groups_of(("dockerd", "containerd"), tmp_path) == {7: "of 7"}


def test_what_the_kernel_refuses_is_told_with_its_file(tmp_path: Path):
    with pytest.raises(
        MachineError, match=rf"^{tmp_path}/a/cpuset.cpus: cannot write '0-3': No such file or directory$"
    ):
        Tree(tmp_path).write("a", "cpuset.cpus", "0-3")
