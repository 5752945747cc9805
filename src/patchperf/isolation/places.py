"""Where a case is measured at each level of isolation, for those who start its containers and commands.

- "partition": below the group's leaf. A container gets it as its parent, the sandbox makes its groups in it, another
  command is put into a group of its own. So init, later execs, threads and children have its CPUs from the start.
- "affinity": on the group's CPUs by the processes' own affinity, which they could change, and which keeps nobody off.
- "none": anywhere.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from patchperf.errors import MachineError
from patchperf.isolation.cgroups import ROOT, Tree
from patchperf.isolation.partitions import leaf_of
from patchperf.isolation.plan import Group, Level
from patchperf.isolation.state import FOLDER
from patchperf.isolation.switch import state_of
from patchperf.isolation.topology import format_cpus

_REMOVAL_SECONDS = 5.0


@dataclass(frozen=True)
class Place:
    """Where the case of a group is measured; ``leaf`` is the folder of its control group, None at weaker levels."""

    group: Group
    level: Level
    leaf: Path | None = None

    @property
    def container_options(self) -> tuple[str, ...]:
        """Options of ``docker run``; with a leaf there must be no ``--cpuset-cpus``, as Docker refuses those CPUs."""
        if self.leaf is not None:
            return (f"--cgroup-parent=/{self.leaf.relative_to(ROOT)}",)
        if self.level == "affinity":
            return (f"--cpuset-cpus={format_cpus(self.group.cpus)}",)
        return ()

    @property
    def prefix(self) -> tuple[str, ...]:
        """Words before a command that keep it to the group's CPUs; none where its control group does."""
        if self.level == "affinity":
            return ("taskset", "--cpu-list", format_cpus(self.group.cpus))
        return ()


def place_of(group: Group, level: Level, folder: Path = FOLDER) -> Place:
    """Where to measure on a leased group; raises MachineError if its partition is promised and not up."""
    if level != "partition":
        return Place(group, level)
    state = state_of(folder)
    groups = () if state is None else state.plan.groups
    known = next((one for one in groups if one.cpus == group.cpus), None)
    if known is None:
        raise MachineError(
            f"core group {group.index} (CPUs {format_cpus(group.cpus)}) is no partition now: run with --executor "
            "core-groups, or run `patchperf isolate up` before"
        )
    return Place(known, level, ROOT / leaf_of(known))


def docker_problem(cgroup_driver: str) -> str | None:
    """Why containers of a Docker cannot be started in a leaf, by what `docker info` tells of its cgroup driver."""
    if cgroup_driver == "systemd":
        return (
            "Docker makes its control groups by systemd, which takes no parents but slices: start dockerd with "
            "--exec-opt native.cgroupdriver=cgroupfs"
        )
    return None


@contextmanager
def command_group(leaf: Path, name: str) -> Iterator[Path]:
    """A control group in a leaf for one command; what is left in it is killed, and it is removed, in the end.

    A command enters it with ``entering``. Raises MachineError where there is one of that name.
    """
    tree = Tree(leaf)
    tree.make(name)
    try:
        yield leaf / name
    finally:
        tree.write(name, "cgroup.kill", "1")
        deadline = time.monotonic() + _REMOVAL_SECONDS
        while (leaf / name).exists() and time.monotonic() < deadline:
            with suppress(OSError):
                (leaf / name).rmdir()
                break
            time.sleep(0.005)


def entering(cgroup: Path) -> tuple[str, ...]:
    """Words before a command that enter a control group first, so that nothing of the command is ever outside of it."""
    return ("/bin/sh", "-c", 'echo 0 >"$1" && shift && exec "$@"', "sh", str(cgroup / "cgroup.procs"))
