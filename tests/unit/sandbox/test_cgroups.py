"""Where control groups are made, on machines of all kinds, and that none is left."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from patchperf.errors import MachineError
from patchperf.sandbox import cgroups
from patchperf.sandbox.protocol import Limits

HYBRID = """\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
40 31 0:37 / /sys/fs/cgroup/pids rw,relatime shared:7 - cgroup cgroup rw,pids
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
"""
UNIFIED = "30 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"


def enabled(*folders: str) -> Callable[[Path], frozenset[str]]:
    def of(folder: Path) -> frozenset[str]:
        return frozenset({"cpu", "memory", "pids"} if str(folder) in folders else {"cpuset"})

    return of


def test_on_v1_groups_are_made_below_the_processes_own() -> None:
    home = cgroups.home_of(HYBRID, "4:memory:/user/a\n8:pids:/\n0::/\n", enabled())
    assert home == cgroups.Home(1, Path("/sys/fs/cgroup/memory/user/a"), Path("/sys/fs/cgroup/pids"))


def test_on_v1_in_a_container_the_mounts_root_is_taken_off() -> None:
    mounts = """\
50 40 0:30 /docker/abc /sys/fs/cgroup/memory ro,nosuid - cgroup cgroup rw,memory
51 40 0:31 /docker/abc /sys/fs/cgroup/pids ro,nosuid - cgroup cgroup rw,pids
"""
    home = cgroups.home_of(mounts, "4:memory:/docker/abc\n8:pids:/docker/abc/x\n", enabled())
    assert home == cgroups.Home(1, Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup/pids/x"))


def test_on_v2_groups_are_made_below_the_nearest_that_hands_down_its_controllers() -> None:
    session = "0::/user.slice/user-0.slice/session-3.scope\n"
    slices = ("/sys/fs/cgroup", "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup/user.slice/user-0.slice")
    home = cgroups.home_of(UNIFIED, session, enabled(*slices))
    assert home == cgroups.Home(2, Path(slices[2]), Path(slices[2]))
    home = cgroups.home_of(UNIFIED, session, enabled("/sys/fs/cgroup"))
    assert home == cgroups.Home(2, Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup"))


def test_no_place_is_found_where_no_group_hands_down_its_controllers() -> None:
    assert cgroups.home_of(UNIFIED, "0::/user.slice\n", enabled("/sys/fs", "/")) is None
    assert cgroups.home_of("", "0::/\n", enabled("/")) is None
    assert cgroups.home_of(HYBRID, "4:memory:/\n0::/\n", enabled()) is None


def test_a_group_outside_of_what_is_mounted_is_no_place() -> None:
    mounts = "30 23 0:26 /other /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
    assert cgroups.home_of(mounts, "0::/mine\n", enabled("/sys/fs/cgroup")) is None


def fake_home(folder: Path) -> cgroups.Home:
    return cgroups.Home(2, folder, folder)


def test_groups_of_dead_drivers_are_removed_and_all_others_stay(tmp_path: Path) -> None:
    namespace = Path("/proc/self/ns/pid").stat().st_ino
    ended = subprocess.Popen(["/bin/true"])
    ended.wait()
    mine = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    stale = [f"patchperf-{namespace}-{ended.pid}-12345-1", f"patchperf-{namespace}-{os.getpid()}-1-7"]
    kept = [
        f"patchperf-{namespace}-{os.getpid()}-{mine}-1",
        f"patchperf-{namespace + 1}-{ended.pid}-12345-1",
        "patchperf-elsewhere",
        f"other-{namespace}-{ended.pid}-12345-1",
    ]
    for name in (*stale, *kept):
        (tmp_path / name).mkdir()
    cgroups.remove_stale(fake_home(tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == set(kept)


def test_on_v2_the_limits_are_written_as_the_kernel_wants_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Path.mkdir

    def with_swap_file(folder: Path) -> None:
        real(folder)
        (folder / "memory.swap.max").touch()

    monkeypatch.setattr(Path, "mkdir", with_swap_file)
    group = cgroups.create(fake_home(tmp_path), Limits(memory_mb=3, processes=7), overhead=2)
    written = {file.name: file.read_text() for file in group.memory.iterdir()}
    assert written == {"memory.max": "3145728", "memory.oom.group": "1", "memory.swap.max": "0", "pids.max": "9"}
    assert group.joins == (group.memory / "cgroup.procs",)


@pytest.mark.parametrize(
    ("memory", "pids", "passed"),
    [
        ("low 0\nhigh 0\nmax 5\noom 0\noom_kill 0\n", "max 0\n", None),
        ("max 5\noom 1\noom_kill 1\n", "max 3\n", "memory"),
        ("oom_kill 0\n", "max 3\n", "processes"),
    ],
)
def test_a_passed_limit_is_read_from_the_kernels_events(
    tmp_path: Path, memory: str, pids: str, passed: str | None
) -> None:
    (tmp_path / "memory.events").write_text(memory)
    (tmp_path / "pids.events").write_text(pids)
    (tmp_path / "memory.peak").write_text("3145728\n")
    group = cgroups.Group(2, tmp_path, tmp_path)
    assert group.exceeded() == passed
    assert group.peak_memory_mb() == 3.0


def test_a_group_that_cannot_be_made_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match=r"absent/.*: the control group cannot be made: No such file or directory$"):
        cgroups.create(fake_home(tmp_path / "absent"), Limits(), overhead=0)
