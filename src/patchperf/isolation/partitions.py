"""What is to be made of control groups for a plan, and who is confined where: decisions, which take values only.

    patchperf                    all measuring CPUs; a partition of its own, which gives all of them to the groups
      group-0 …                  the partition of a group: all logical CPUs of its cores, its memory node
        leaf                     one CPU of each core, the case's memory, no swap; what is measured runs below
    patchperf-system             what was in the machine's root: the system's and the spare CPUs
    patchperf-daemon             of that, container daemons: their own CPUs

The kernel wants the parent of a partition to be one, or the root. A partition with its CPUs all given away holds no
processes, and costs nothing. A leaf hands its controllers on: containers (``--cgroup-parent``) and the sandbox make
groups of their own below it, so that whatever is started there, then or later, has at most the leaf's CPUs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Literal

from patchperf.isolation.cgroups import CONTROLLERS
from patchperf.isolation.plan import Group, Plan
from patchperf.isolation.topology import format_cpus

Kind = Literal["isolated", "root"]
"""The kernel's words for a partition without and with load balancing among its CPUs."""

TOP = "patchperf"
SYSTEM, DAEMON = "patchperf-system", "patchperf-daemon"
OWN = (TOP, SYSTEM, DAEMON)
DAEMONS = ("dockerd", "containerd")
"""Processes that the daemon's reserve is for."""

_ON = " ".join(f"+{name}" for name in CONTROLLERS)
_MEBIBYTE = 1024 * 1024


@dataclass(frozen=True)
class Write:
    """A text for a file of a control group, as the kernel shows it afterwards (controllers: with what else is on)."""

    group: str
    file: str
    text: str


@dataclass(frozen=True)
class Confinement:
    """The CPUs that a group of others is to be kept to."""

    group: str
    cpus: tuple[int, ...]


def partition_of(group: Group) -> str:
    """The control group that is a group's partition."""
    return f"{TOP}/group-{group.index}"


def leaf_of(group: Group) -> str:
    """The control group below which a group's case is measured."""
    return f"{partition_of(group)}/leaf"


def logical(group: Group) -> tuple[int, ...]:
    """All CPUs of a group's cores."""
    return tuple(sorted(group.cpus + group.idle))


def reserve_writes(plan: Plan) -> Iterator[Write]:
    """What keeps the processes that were in the machine's root to the reserve."""
    yield Write(SYSTEM, "cpuset.cpus", format_cpus(plan.system + plan.spare))
    if plan.daemon:
        yield Write(DAEMON, "cpuset.cpus", format_cpus(plan.daemon))


def partition_writes(plan: Plan, kind: Kind, memory_mb: int) -> Iterator[Write]:
    """What makes the partitions and the limits in them, in this order."""
    yield Write(TOP, "cpuset.cpus", format_cpus(cpu for group in plan.groups for cpu in logical(group)))
    yield Write(TOP, "cpuset.cpus.partition", "root")
    yield Write(TOP, "cgroup.subtree_control", _ON)
    for group in plan.groups:
        partition, leaf = partition_of(group), leaf_of(group)
        yield Write(partition, "cpuset.cpus", format_cpus(logical(group)))
        if group.node is not None:
            yield Write(partition, "cpuset.mems", str(group.node))
        yield Write(partition, "cpuset.cpus.partition", kind)
        yield Write(partition, "cgroup.subtree_control", _ON)
        yield Write(leaf, "cpuset.cpus", format_cpus(group.cpus))
        yield Write(leaf, "memory.max", str(memory_mb * _MEBIBYTE))
        yield Write(leaf, "memory.swap.max", "0")
        yield Write(leaf, "cgroup.subtree_control", _ON)


def confinements(
    plan: Plan, daemons: Collection[str], children: Callable[[str], Collection[str]], above: str = ""
) -> Iterator[Confinement]:
    """Where the groups of others are kept: what is not ours to the system's and the spare CPUs, daemons to theirs.

    ``daemons`` are the groups that they are in, ``children`` tells the groups below one. A group with a daemon
    somewhere below it has all of the reserve, as nobody has more than those he is in.
    """
    for group in children(above):
        if group in OWN:
            continue
        if group in daemons:
            yield Confinement(group, plan.daemon or plan.housekeeping)
        elif any(one.startswith(f"{group}/") for one in daemons):
            yield Confinement(group, plan.housekeeping)
            yield from confinements(plan, daemons, children, group)
        else:
            yield Confinement(group, tuple(sorted(plan.system + plan.spare)))


def holds(write: Write, told: str) -> bool:
    """Whether a file that tells this is as written."""
    if write.file == "cgroup.subtree_control":
        return {name.removeprefix("+") for name in write.text.split()} <= set(told.split())
    return told == write.text
