"""Machines that nobody has to own, written down in a compact form, and as the kernel shows them.

    node 1 package 1: 0+1 2+3 ... 62+63
    offline: 5 7
    allowed: 0-3

Each line of the first kind is one last-level cache with its cores, each core with its siblings. What is not said of
``node``, ``package`` and ``kind`` is 0, and ``cache`` a number of its own; lines can say that it is one and the same,
named after its lowest CPU. Three dots continue the step between the two cores before them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path

from patchperf.isolation.topology import CORE_KINDS, Cpu, Topology, format_cpus, parse_cpus


def machine(text: str) -> Topology:
    """The topology that a text describes; every CPU is allowed if it does not say which."""
    cpus: dict[int, Cpu] = {}
    others: dict[str, frozenset[int]] = {}
    for line in filter(None, map(str.strip, text.strip().splitlines())):
        head, _, rest = line.partition(":")
        if head in ("offline", "allowed"):
            others[head] = frozenset(chain.from_iterable(map(parse_cpus, rest.split())))
            continue
        words = head.split()
        said = dict(zip(words[::2], map(int, words[1::2]), strict=True))
        cores = _cores(rest.split())
        said.setdefault("cache", min(chain.from_iterable(cores)))
        for siblings in cores:
            cpus |= {number: Cpu(number, siblings, **said) for number in siblings}
    return Topology(
        cpus=tuple(cpus[number] for number in sorted(cpus)),
        offline=others.get("offline", frozenset()),
        allowed=others.get("allowed", frozenset(cpus)),
    )


def _cores(words: list[str]) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = []
    for place, word in enumerate(words):
        if word != "...":
            found.append(tuple(map(int, word.split("+"))))
            continue
        step = found[-1][0] - found[-2][0]
        last = tuple(map(int, words[place + 1].split("+")))
        while (following := tuple(number + step for number in found[-1])) != last:
            assert following < last
            found.append(following)
    return found


def show(topology: Topology, root: Path, capacities: Mapping[int, int] | None = None) -> Path:
    """Make a folder that shows a machine the way the kernel does in /sys, and return it.

    Kinds of cores are shown as on x86, or by their capacities where those are given.
    """
    online = [cpu.number for cpu in topology.cpus]
    folder = root / "devices/system/cpu"
    _write(folder / "online", format_cpus(online))
    _write(folder / "offline", format_cpus(topology.offline))
    for number in topology.offline:
        _write(folder / f"cpu{number}/online", "0")
    for cpu in topology.cpus:
        own = folder / f"cpu{cpu.number}"
        _write(own / "topology/physical_package_id", str(cpu.package))
        _write(own / "topology/core_id", "0")
        _write(own / "topology/thread_siblings_list", format_cpus(cpu.siblings))
        sharing = [other.number for other in topology.cpus if other.cache == cpu.cache]
        _cache(own / "cache/index0", "1", "Data", cpu.siblings)
        _cache(own / "cache/index1", "1", "Instruction", cpu.siblings)
        _cache(own / "cache/index2", "2", "Unified", cpu.siblings)
        _cache(own / "cache/index3", "3", "Unified", sharing)
        if capacities:
            _write(own / "cpu_capacity", str(capacities[cpu.number]))
    for node in {cpu.node for cpu in topology.cpus}:
        members = [cpu.number for cpu in topology.cpus if cpu.node == node]
        _write(root / f"devices/system/node/node{node}/cpulist", format_cpus(members))
    _write(root / "devices/system/node/online", "0")
    kinds = {cpu.kind for cpu in topology.cpus}
    for kind in kinds if len(kinds) > 1 and not capacities else ():
        members = [cpu.number for cpu in topology.cpus if cpu.kind == kind]
        _write(root / "devices" / CORE_KINDS[kind] / "cpus", format_cpus(members))
    return root


def _cache(index: Path, level: str, kind: str, sharing: Sequence[int]) -> None:
    _write(index / "level", level)
    _write(index / "type", kind)
    _write(index / "shared_cpu_list", format_cpus(sharing))


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text + "\n", "ascii")
