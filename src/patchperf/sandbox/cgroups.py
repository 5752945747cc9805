"""Control groups: memory and process limits for the sum of a command's processes, on cgroup v1 and v2."""

from __future__ import annotations

import itertools
import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from patchperf.errors import MachineError
from patchperf.sandbox.descendants import start_time
from patchperf.sandbox.placement import Placement
from patchperf.sandbox.protocol import Limits

PREFIX = "patchperf"
_MEBIBYTE = 1024 * 1024
_REMOVAL_SECONDS = 2.0
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Home:
    """The groups below which this driver may create its own; on v2 both are the same folder."""

    version: Literal[1, 2]
    memory: Path
    pids: Path


@dataclass(frozen=True)
class Group:
    """One command's group: a folder per controller (one on v2)."""

    version: Literal[1, 2]
    memory: Path
    pids: Path

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders to remove in the end, each once."""
        return tuple(dict.fromkeys((self.memory, self.pids)))

    @property
    def joins(self) -> tuple[Path, ...]:
        """Files into which a process writes 0 to enter the group.

        On v1 these are the thread files: they spare the grace period (some 10 ms) of a whole process's move.
        """
        return tuple(folder / ("tasks" if self.version == 1 else "cgroup.procs") for folder in self.folders)

    def exceeded(self) -> Literal["memory", "processes"] | None:
        """The limit that the kernel has enforced so far, if any."""
        events = "memory.oom_control" if self.version == 1 else "memory.events"
        if _count(self.memory / events, "oom_kill") > 0:
            return "memory"
        if _count(self.pids / "pids.events", "max") > 0:
            return "processes"
        return None

    def processes(self) -> tuple[int, ...]:
        """The processes in the group now."""
        return tuple(map(int, (self.pids / "cgroup.procs").read_text().split()))

    def peak_memory_mb(self) -> float | None:
        """The most memory charged at once, in MiB, page cache and private temporary files included; None if unknown."""
        peak = self.memory / ("memory.max_usage_in_bytes" if self.version == 1 else "memory.peak")
        return int(peak.read_text()) / _MEBIBYTE if peak.exists() else None

    def remove(self) -> None:
        """Remove the emptied group; the kernel may need a moment after the last process is gone."""
        deadline = time.monotonic() + _REMOVAL_SECONDS
        for folder in self.folders:
            while not _removed(folder) and time.monotonic() < deadline:
                time.sleep(0.005)


def of_process(pid: int) -> Group | None:
    """The group that a process of this machine is in, made by whomever; None if it is gone or the group is not seen."""
    try:
        cgroup = Path(f"/proc/{pid}/cgroup").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    home = home_of(Path("/proc/self/mountinfo").read_text(), cgroup, lambda _: frozenset({"memory", "pids"}))
    group = None if home is None else Group(home.version, home.memory, home.pids)
    return group if group is not None and group.pids.is_dir() else None


def create(home: Home, limits: Limits, overhead: int) -> Group:
    """A new group under the limits; ``overhead`` is how many of our own processes live in it beside the command's.

    Raises MachineError where the kernel refuses.
    """
    name = f"{_owner(os.getpid())}-{next(_numbers)}"
    group = Group(home.version, home.memory / name, home.pids / name)
    try:
        for folder in group.folders:
            folder.mkdir()
        memory = str(limits.memory_mb * _MEBIBYTE)
        if group.version == 1:
            (group.memory / "memory.limit_in_bytes").write_text(memory)
            swap, bound = group.memory / "memory.memsw.limit_in_bytes", memory
        else:
            (group.memory / "memory.max").write_text(memory)
            (group.memory / "memory.oom.group").write_text("1")
            swap, bound = group.memory / "memory.swap.max", "0"
        if swap.exists():
            swap.write_text(bound)
        (group.pids / "pids.max").write_text(str(limits.processes + overhead))
    except OSError as error:
        group.remove()
        raise MachineError(f"{group.memory}: the control group cannot be made: {error.strerror}") from None
    return group


def entering(group: Group | None) -> list[str]:
    """A command prefix that enters the group first, so that no process of the command is ever outside of it."""
    if group is None:
        return []
    count = len(group.joins)
    enter = " && ".join(f'echo 0 >"${number}"' for number in range(1, count + 1))
    return ["/bin/sh", "-c", f'{enter} && shift {count} && exec "$@"', "sh", *map(str, group.joins)]


def home_for(placement: Placement) -> Home | None:
    """Where the groups of commands go that are placed so; None where this process can make none."""
    return usable_home() if placement.cgroup is None else Home(2, placement.cgroup, placement.cgroup)


def usable_home() -> Home | None:
    """Where this process can create groups and a child of it can enter them; tried for real, None if it cannot."""
    home = home_of(
        Path("/proc/self/mountinfo").read_text(), Path("/proc/self/cgroup").read_text(), _enabled_controllers
    )
    if home is None:
        return None
    try:
        group = create(home, Limits(), overhead=0)
    except MachineError:
        return None
    try:
        entered = subprocess.run(
            [*entering(group), "/bin/true"], check=False, capture_output=True, env=dict[str, str]()
        )
    finally:
        group.remove()
    return home if entered.returncode == 0 else None


def home_of(mountinfo: str, cgroup: str, enabled: Callable[[Path], frozenset[str]]) -> Home | None:
    """Where groups with a memory and a pids controller belong, told from /proc/self/mountinfo and /proc/self/cgroup.

    v1: below the process's own groups. v2: below the nearest group, upwards from the process's own, that hands both
    controllers to its children (``enabled``), since a group that holds processes cannot.
    """
    own = {}
    for line in cgroup.splitlines():
        _, controllers, path = line.split(":", 2)
        own.update(dict.fromkeys(controllers.split(","), path))
    v1: dict[str, Path] = {}
    v2: Path | None = None
    v2_top: Path | None = None
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        root, mount_point = before.split()[3:5]
        kind, _, options = after.split(maxsplit=2)
        if kind == "cgroup2" and "" in own:
            v2, v2_top = _below(mount_point, root, own[""]), Path(mount_point)
        elif kind == "cgroup":
            for controller in {"memory", "pids"} & set(options.split(",")) & set(own):
                if (folder := _below(mount_point, root, own[controller])) is not None:
                    v1[controller] = folder
    if {"memory", "pids"} <= set(v1):
        return Home(1, v1["memory"], v1["pids"])
    if v2 is not None and v2_top is not None:
        for folder in (v2, *v2.parents):
            if {"memory", "pids"} <= enabled(folder):
                return Home(2, folder, folder)
            if folder == v2_top:
                break
    return None


def remove_stale(home: Home) -> None:
    """Remove the empty groups of our drivers that have died; those of living drivers and of others stay."""
    for parent in {home.memory, home.pids}:
        for folder in parent.glob(f"{PREFIX}-*-*-*-*"):
            owner = folder.name.rpartition("-")[0]
            namespace, pid = owner.split("-")[1:3]
            if namespace == _pid_namespace() and pid.isdecimal() and owner != _owner(int(pid)):
                _removed(folder)


def _owner(pid: int) -> str:
    return f"{PREFIX}-{_pid_namespace()}-{pid}-{start_time(pid)}"


def _pid_namespace() -> str:
    return str(Path("/proc/self/ns/pid").stat().st_ino)


def _below(mount_point: str, root: str, path: str) -> Path | None:
    group = PurePosixPath(path)
    return Path(mount_point) / group.relative_to(root) if group.is_relative_to(root) else None


def _enabled_controllers(folder: Path) -> frozenset[str]:
    control = folder / "cgroup.subtree_control"
    return frozenset(control.read_text().split()) if control.exists() else frozenset()


def _count(file: Path, key: str) -> int:
    if not file.exists():
        return 0
    return sum(int(line.split()[1]) for line in file.read_text().splitlines() if line.split()[0] == key)


def _removed(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
