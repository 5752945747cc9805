"""Which cores measure, which are kept for the container daemon and the system, and which are left over.

Deciding is here and takes values only, so it can be asked about machines that nobody has; ``topology`` reads ours.

Which cores are kept, and why:

- The system gets the core with the lowest CPU number. Where that is CPU 0, it is the one that boots, keeps time and
  takes the interrupts that are not directed elsewhere, whatever is asked of it.
- What else is kept comes, as far as possible, from cores that no group could use, because the cores of their place
  (of one kind, in one NUMA node, under one cache) do not divide into groups. Of these, the slowest kind first, then the
  node of the system's core, then the lowest number. No other choice leaves more groups.
- From the rest of each place, groups are cut from its lowest number on; what is left at its end is spare.

The machine of the paper (32 cores, siblings 0-1, 2-3, …) keeps 0-5, has seven groups from 6,8,10,12 to 54,56,58,60, and
62-63 to spare.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Literal

from pydantic import BaseModel, ConfigDict, NonNegativeInt, PositiveInt

from patchperf.errors import MachineError
from patchperf.isolation.topology import Cpu, Topology, format_cpus

Level = Literal["none", "affinity", "partition"]
"""What keeps others off a measuring core: nothing; that all we start is sent elsewhere; the kernel."""


class Sizes(BaseModel):
    """Physical cores of each group, and those kept for the container daemon and for the system."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    group_cores: PositiveInt = 4
    daemon_cores: NonNegativeInt = 2
    system_cores: PositiveInt = 1


@dataclass(frozen=True)
class Group:
    """Cores that one case at a time is measured on.

    ``cpus`` are in use, one for each core; ``idle`` are their siblings, which nothing may run on. ``node`` is the NUMA
    node of all of them, None where they are of several or it is not known.
    """

    index: int
    cpus: tuple[int, ...]
    idle: tuple[int, ...] = ()
    node: int | None = None


@dataclass(frozen=True)
class Plan:
    """What each usable CPU of the machine is for.

    ``system``, ``daemon`` and ``spare`` are logical CPUs, siblings included. At level "none" there is one group, the
    whole machine, nothing is kept free, and only one case at a time is measured. ``notes`` are what a user should
    know of a machine that is not as one would wish.
    """

    level: Level
    groups: tuple[Group, ...]
    system: tuple[int, ...] = ()
    daemon: tuple[int, ...] = ()
    spare: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def housekeeping(self) -> tuple[int, ...]:
        """Where all that is not measured runs; empty at level "none"."""
        return tuple(sorted(self.system + self.daemon + self.spare))


@dataclass(frozen=True)
class _Core:
    """The usable CPUs of a core, its other online CPUs, and where it is."""

    usable: tuple[int, ...]
    foreign: tuple[int, ...]
    kind: int
    node: int
    package: int
    cache: int | None


@dataclass
class _Place:
    """Cores among which a group may be formed, by number."""

    kind: int
    node: int
    cores: list[_Core] = field(default_factory=list)


def choose(
    topology: Topology,
    sizes: Sizes,
    level: Level,
    weaker: Literal["refuse", "allow"],
    no_partitions: str | None = None,
) -> Plan:
    """The plan for the isolation that is asked for; ``no_partitions`` says why the machine cannot be partitioned.

    Where the machine cannot give it: raises MachineError, or, with ``weaker`` "allow", takes the next weaker level that
    it can give, with the reason in the notes. At level "none" the whole machine is one group.
    """
    if level == "none":
        return whole_machine(topology)
    try:
        if level == "partition" and no_partitions is not None:
            raise MachineError(no_partitions)
        return plan(topology, sizes, level)
    except MachineError as error:
        if weaker == "refuse":
            raise MachineError(f"isolation {level}: {error}; isolation.weaker: allow does with less") from None
        if level == "partition" and no_partitions is not None:
            less = choose(topology, sizes, "affinity", weaker)
        else:
            less = whole_machine(topology)
        return replace(less, notes=(f"isolation {less.level} instead of {level}: {error}", *less.notes))


def plan(topology: Topology, sizes: Sizes, level: Level = "affinity") -> Plan:
    """Core groups, each of physical cores of one kind in one socket, one NUMA node and, if it can be, under one cache.

    Raises MachineError where there are not enough cores for one group beside those that are kept.
    """
    cores = _cores(topology)
    kept = sizes.system_cores + sizes.daemon_cores
    usable = format_cpus(chain.from_iterable(core.usable for core in cores))
    if len(cores) < kept + sizes.group_cores:
        raise MachineError(
            f"{_count(len(cores), 'core')} usable (CPUs {usable}), {kept + sizes.group_cores} needed: {_wanted(sizes)}"
        )
    places, notes = _places(cores, sizes.group_cores)
    reserve = _take_reserve(places, kept, sizes.group_cores)
    groups: list[Group] = []
    spare: list[_Core] = []
    for place in places:
        end = len(place.cores) - len(place.cores) % sizes.group_cores
        for start in range(0, end, sizes.group_cores):
            groups.append(_group(len(groups), place.cores[start : start + sizes.group_cores]))
        spare += place.cores[end:]
    if not groups:
        raise MachineError(
            f"no {_count(sizes.group_cores, 'core')} of one kind in one NUMA node are left of CPUs {usable} beside the "
            f"{kept} kept: {_wanted(sizes)}"
        )
    return Plan(
        level=level,
        groups=tuple(groups),
        system=_logical(reserve[: sizes.system_cores]),
        daemon=_logical(reserve[sizes.system_cores :]),
        spare=_logical(spare),
        notes=(*notes, *_warnings(places, sizes.group_cores)),
    )


def whole_machine(topology: Topology) -> Plan:
    """One group of all usable CPUs, and nothing kept off them."""
    cpus = [cpu for cpu in topology.cpus if cpu.number in topology.allowed]
    nodes = {cpu.node for cpu in cpus}
    group = Group(0, tuple(cpu.number for cpu in cpus), node=nodes.pop() if len(nodes) == 1 else None)
    return Plan("none", (group,))


def pretended(groups: int) -> Plan:
    """So many groups without CPUs of their own, to try how jobs are shared among them on any machine."""
    return Plan("none", tuple(Group(index, ()) for index in range(groups)))


def group_of(topology: Topology, index: int, cpus: Sequence[int]) -> Group:
    """The group that measures on ``cpus``; its idle siblings and node are the machine's, whoever may use them."""
    known = {cpu.number: cpu for cpu in topology.cpus}
    nodes = {known[cpu].node for cpu in cpus if cpu in known}
    siblings = {sibling for cpu in cpus if cpu in known for sibling in known[cpu].siblings}
    return Group(index, tuple(cpus), tuple(sorted(siblings.difference(cpus))), nodes.pop() if len(nodes) == 1 else None)


def _cores(topology: Topology) -> list[_Core]:
    """The cores with usable CPUs, by their lowest one."""
    first: dict[tuple[int, ...], Cpu] = {}
    for cpu in topology.cpus:
        if cpu.number in topology.allowed:
            first.setdefault(cpu.siblings, cpu)
    return [
        _Core(
            usable=tuple(number for number in cpu.siblings if number in topology.allowed),
            foreign=tuple(number for number in cpu.siblings if number not in topology.allowed),
            kind=cpu.kind,
            node=cpu.node,
            package=cpu.package,
            cache=cpu.cache,
        )
        for cpu in first.values()
    ]


def _places(cores: Iterable[_Core], group_cores: int) -> tuple[list[_Place], list[str]]:
    """Where groups may be formed, the fastest kind first; and what is to be said of it.

    Caches divide a node if at least one of them has the cores of a group.
    """
    nodes: dict[tuple[int, int, int], list[_Core]] = {}
    for core in cores:
        nodes.setdefault((core.kind, core.node, core.package), []).append(core)
    places: list[_Place] = []
    notes: list[str] = []
    for (kind, node, _), members in sorted(nodes.items()):
        caches: dict[int | None, list[_Core]] = {}
        for core in members:
            caches.setdefault(core.cache, []).append(core)
        largest = max(map(len, caches.values()))
        if len(caches) > 1 and largest < group_cores <= len(members):
            notes.append(
                f"groups in NUMA node {node} share no last-level cache: each has {_count(largest, 'core')} at most"
            )
            caches = {None: members}
        places += [_Place(kind, node, under) for under in caches.values()]
    return places, notes


def _take_reserve(places: list[_Place], count: int, group_cores: int) -> list[_Core]:
    """Takes so many cores out of the places, the system's first."""
    home = min(places, key=lambda place: place.cores[0].usable)
    reserve = [home.cores.pop(0)]
    while len(reserve) < count:
        chosen = min(
            (place for place in places if place.cores),
            key=lambda place: (
                len(place.cores) % group_cores == 0,
                -place.kind,
                place.node != home.node,
                place.cores[0].usable,
            ),
        )
        reserve.append(chosen.cores.pop(0))
    return reserve


def _group(index: int, cores: Sequence[_Core]) -> Group:
    idle = (number for core in cores for number in core.usable[1:] + core.foreign)
    return Group(index, tuple(core.usable[0] for core in cores), tuple(sorted(idle)), cores[0].node)


def _warnings(places: Iterable[_Place], group_cores: int) -> list[str]:
    """What a user should know of the cores that measure."""
    measuring = [core for place in places for core in place.cores[: len(place.cores) // group_cores * group_cores]]
    said = []
    foreign = format_cpus(number for core in measuring for number in core.foreign)
    if foreign:
        said.append(f"CPUs {foreign} share cores with measuring ones and are not ours to keep idle")
    if len({core.kind for core in measuring}) > 1:
        slower = format_cpus(core.usable[0] for core in measuring if core.kind > measuring[0].kind)
        said.append(f"CPUs {slower} measure on a slower kind of core")
    return said


def _logical(cores: Iterable[_Core]) -> tuple[int, ...]:
    return tuple(sorted(number for core in cores for number in core.usable))


def _wanted(sizes: Sizes) -> str:
    return (
        f"{sizes.group_cores} for a group (isolation.group_cores), {sizes.daemon_cores} for the container daemon "
        f"(isolation.daemon_cores), {sizes.system_cores} for the system (isolation.system_cores)"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
