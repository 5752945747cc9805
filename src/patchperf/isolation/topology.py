"""What the machine has: logical CPUs, the cores, caches, NUMA nodes and sockets they belong to, and which are ours.

Reading is here, deciding is in ``plan``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from patchperf.errors import MachineError

SYSFS = Path("/sys")
CORE_KINDS = ("cpu_core", "cpu_atom", "cpu_lowpower")
"""Devices that list the CPUs of a hybrid x86 processor by kind of core, the fastest kind first."""


@dataclass(frozen=True)
class Cpu:
    """A logical CPU that is online.

    ``siblings`` are the online CPUs of its core, itself included, in order. ``package`` is the socket; ``node`` the
    NUMA node; ``cache`` the lowest CPU that shares its last-level cache (None: the kernel does not tell); ``kind`` is 0
    for the fastest kind of core that the machine has, 1 for the next.
    """

    number: int
    siblings: tuple[int, ...]
    package: int = 0
    node: int = 0
    cache: int | None = None
    kind: int = 0


@dataclass(frozen=True)
class Topology:
    """The online CPUs of a machine by number, the offline ones, and those of all that this process may use."""

    cpus: tuple[Cpu, ...]
    offline: frozenset[int]
    allowed: frozenset[int]


def read_topology(sysfs: Path = SYSFS, allowed: Collection[int] | None = None) -> Topology:
    """The topology that the kernel tells in ``sysfs``; ``allowed`` is, by default, the affinity of this process.

    Raises MachineError where the kernel does not tell which CPUs are online.
    """
    folder = sysfs / "devices/system/cpu"
    online = _cpus(folder / "online")
    if not online:
        raise MachineError(
            f"{folder / 'online'} does not tell which CPUs this machine has: mount sysfs, or run without isolation"
        )
    nodes = _nodes(sysfs / "devices/system/node")
    kinds = _kinds(sysfs / "devices", online)
    return Topology(
        cpus=tuple(_cpu(folder, number, online, nodes, kinds) for number in sorted(online)),
        offline=_cpus(folder / "offline"),
        allowed=frozenset(os.sched_getaffinity(0) if allowed is None else allowed),
    )


def parse_cpus(text: str) -> frozenset[int]:
    """The numbers in the kernel's list format, such as ``0-3,8``; raises ValueError for anything else."""
    found: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


def format_cpus(numbers: Iterable[int]) -> str:
    """Numbers in the kernel's list format."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ",".join("-".join(map(str, run)) for run in runs)


def _cpu(folder: Path, number: int, online: frozenset[int], nodes: Mapping[int, int], kinds: Mapping[int, int]) -> Cpu:
    own = folder / f"cpu{number}"
    siblings = _cpus(own / "topology/core_cpus_list") or _cpus(own / "topology/thread_siblings_list")
    return Cpu(
        number=number,
        siblings=tuple(sorted(siblings & online | {number})),
        package=max(_number(own / "topology/physical_package_id"), 0),
        node=nodes.get(number, 0),
        cache=_last_level_cache(own / "cache"),
        kind=kinds.get(number, 0),
    )


def _nodes(folder: Path) -> dict[int, int]:
    """NUMA nodes by CPU; empty for a kernel without NUMA, where all CPUs are of one node."""
    return {
        cpu: int(node.name.removeprefix("node"))
        for node in folder.glob("node*")
        if re.fullmatch(r"node\d+", node.name)
        for cpu in _cpus(node / "cpulist")
    }


def _last_level_cache(folder: Path) -> int | None:
    levels = [
        (_number(index / "level"), min(shared))
        for index in folder.glob("index*")
        if _text(index / "type") != "Instruction" and (shared := _cpus(index / "shared_cpu_list"))
    ]
    return max(levels)[1] if levels else None


def _kinds(devices: Path, online: Collection[int]) -> dict[int, int]:
    """Ranks of the CPUs' kinds of core, 0 for the fastest; empty where all are of one kind.

    On x86 the kinds are devices. Capacities are looked at only where there are none: among fast x86 cores they differ
    slightly too, since the best of a kind are told apart for the scheduler.
    """
    kinds = [cpus for name in CORE_KINDS if (cpus := _cpus(devices / name / "cpus"))]
    if not kinds:
        capacities = {number: _number(devices / f"system/cpu/cpu{number}/cpu_capacity") for number in online}
        kinds = [
            frozenset(number for number in online if capacities[number] == capacity)
            for capacity in sorted(set(capacities.values()), reverse=True)
        ]
    return {number: rank for rank, cpus in enumerate(kinds) for number in cpus}


def _cpus(file: Path) -> frozenset[int]:
    return parse_cpus(_text(file))


def _number(file: Path) -> int:
    return int(_text(file) or 0)


def _text(file: Path) -> str:
    """A file's text; empty where this kernel or processor has no such file."""
    try:
        return file.read_text("ascii").strip()
    except (FileNotFoundError, NotADirectoryError):
        return ""
