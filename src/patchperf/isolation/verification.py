"""Whether a replicate had what it was promised: by what its process saw of itself, and the host of the CPUs meanwhile.

What is promised at each level, in the order in which it is looked at:

==========  ===================================================================================================
none        nothing
affinity    the process may run on the group's CPUs only (``cpus-outside``)
partition   that; its control group is below the leaf (``cgroup-outside``) and the partition valid
            (``partition-invalid``); memory of the group's node (``memory-nodes``), no more than the limit
            (``memory-limit``), no swap (``swap``); the siblings idle (``sibling-busy``), no time taken by a
            hypervisor (``steal``), neither a quota nor heat that slows the CPUs down (``throttled``)
==========  ===================================================================================================

What a promise needs and was not told breaks it (``not-told``); of throttling and steal, what cannot be read is 0.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from patchperf.isolation.cgroups import Tree, group_in
from patchperf.isolation.partitions import TOP, Kind, leaf_of
from patchperf.isolation.plan import Group, Level
from patchperf.isolation.topology import format_cpus, parse_cpus

TOLERATED_SHARE = 0.01
TOLERATED_TICKS = 2
"""What the kernel's own threads and timers of a CPU may take on an idle sibling; the share is of the elapsed time. Of
steal, as much is tolerated on each CPU in use."""

_MEBIBYTE = 1024 * 1024
_MEMBER = "member"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Promise(_Part):
    """What a case was given: CPUs in use, siblings to stay idle, memory node, and control group with its limits."""

    level: Level
    cpus: tuple[int, ...] = ()
    idle: tuple[int, ...] = ()
    node: int | None = None
    kind: Kind | None = None
    leaf: str = ""
    memory_mb: int | None = None


class Seen(_Part):
    """What one process was under; None where it was not told.

    ``cpus_allowed`` and ``mems_allowed`` are the lists of /proc/self/status; ``cgroup`` is the path of version 2 on the
    host, without the slash it begins with. ``partition`` is the state of the nearest partition at or above it;
    ``memory_max`` (bytes) and ``swap_max`` (bytes) are the smallest limits at or above it, "max" where there is none.
    """

    cpus_allowed: str | None = None
    mems_allowed: str | None = None
    cgroup: str | None = None
    partition: str | None = None
    memory_max: str | None = None
    swap_max: str | None = None


class HostSample(_Part):
    """The CPUs of a group at one moment.

    ``at`` is in seconds of the monotonic clock; ``busy`` and ``steal`` are clock ticks since boot by CPU (user, system
    and interrupts; taken by a hypervisor); ``quota`` is how often the leaf was stopped by a CPU quota, ``heat`` how
    often a CPU's core was slowed down for its temperature.
    """

    at: float
    ticks_per_second: int
    busy: dict[int, int]
    steal: dict[int, int]
    quota: int = 0
    heat: dict[int, int] = {}


def promise_of(group: Group, level: Level, kind: Kind | None = None, memory_mb: int | None = None) -> Promise:
    """What a lease of a group promises; ``kind`` and ``memory_mb`` are those of the partitions that are up."""
    if level != "partition":
        return Promise(level=level, cpus=group.cpus, idle=group.idle, node=group.node)
    return Promise(
        level=level,
        cpus=group.cpus,
        idle=group.idle,
        node=group.node,
        kind=kind,
        leaf=leaf_of(group),
        memory_mb=memory_mb,
    )


def broken(promise: Promise, seen: Seen, before: HostSample, after: HostSample) -> str | None:
    """The first promise that was not kept, as ``code: detail``; None if all were."""
    if promise.level == "none":
        return None
    looks = [_cpus(promise, seen)]
    if promise.level == "partition":
        looks += [_place(promise, seen), _memory(promise, seen), _siblings(promise, before, after)]
        looks += [_steal(promise, before, after), _throttling(before, after)]
    return next((said for look in looks for said in look), None)


def observe(process: int | str = "self", tree: Tree | None = None) -> Seen:
    """What a process of this host is under now, as the host sees it; nothing of one that has ended."""
    proc = Path(f"/proc/{process}")
    try:
        status = dict(line.split(":", 1) for line in (proc / "status").read_text("utf-8", "replace").splitlines())
        cgroup = group_in((proc / "cgroup").read_text())
    except OSError:
        return Seen()
    found = _limits(tree or Tree(), cgroup)
    return Seen(
        cpus_allowed=status["Cpus_allowed_list"].strip(),
        mems_allowed=status["Mems_allowed_list"].strip(),
        cgroup=cgroup,
        partition=found["cpuset.cpus.partition"],
        memory_max=found["memory.max"],
        swap_max=found["memory.swap.max"],
    )


def sample(
    group: Group, leaf: Path | None = None, proc: Path = Path("/proc"), sysfs: Path = Path("/sys")
) -> HostSample:
    """The CPUs of a group now; ``leaf`` is the folder of its control group, None where it has none."""
    cpus = {*group.cpus, *group.idle}
    busy, steal = {}, {}
    for line in (proc / "stat").read_text("ascii").splitlines():
        name, *fields = line.split()
        if name.startswith("cpu") and name[3:].isdecimal() and int(name[3:]) in cpus:
            user, nice, system, _, _, interrupts, soft, stolen = map(int, fields[:8])
            busy[int(name[3:])] = user + nice + system + interrupts + soft
            steal[int(name[3:])] = stolen
    heat = {}
    for cpu in cpus:
        with suppress(OSError):
            folder = sysfs / f"devices/system/cpu/cpu{cpu}/thermal_throttle"
            heat[cpu] = int((folder / "core_throttle_count").read_text("ascii"))
    return HostSample(
        at=time.monotonic(),
        ticks_per_second=os.sysconf("SC_CLK_TCK"),
        busy=busy,
        steal=steal,
        quota=0 if leaf is None else _throttled(leaf / "cpu.stat"),
        heat=heat,
    )


def busy_seconds(before: HostSample, after: HostSample) -> dict[int, float]:
    """For how long each CPU of the group ran something between two samples."""
    return {cpu: (ticks - before.busy.get(cpu, 0)) / after.ticks_per_second for cpu, ticks in after.busy.items()}


def _cpus(promise: Promise, seen: Seen) -> Iterator[str]:
    if seen.cpus_allowed is None:
        yield "not-told: the CPUs that the process may run on"
    elif not parse_cpus(seen.cpus_allowed) <= set(promise.cpus):
        yield f"cpus-outside: the process may run on {seen.cpus_allowed}, {format_cpus(promise.cpus)} was promised"


def _place(promise: Promise, seen: Seen) -> Iterator[str]:
    if seen.cgroup is None:
        yield "not-told: the control group of the process"
    elif seen.cgroup != promise.leaf and not seen.cgroup.startswith(f"{promise.leaf}/"):
        yield f"cgroup-outside: the process is in /{seen.cgroup}, not below /{promise.leaf}"
    if seen.partition != promise.kind:
        yield f"partition-invalid: the kernel says {seen.partition!r} where {promise.kind!r} was promised"


def _memory(promise: Promise, seen: Seen) -> Iterator[str]:
    if seen.mems_allowed is None:
        yield "not-told: the memory nodes of the process"
    elif promise.node is not None and seen.mems_allowed != str(promise.node):
        yield f"memory-nodes: the process may use {seen.mems_allowed}, {promise.node} was promised"
    if promise.memory_mb is not None and _bytes(seen.memory_max) > promise.memory_mb * _MEBIBYTE:
        yield f"memory-limit: it is {seen.memory_max or 'unknown'}, {promise.memory_mb} MB was promised"
    if _bytes(seen.swap_max) > 0:
        yield f"swap: {seen.swap_max or 'an unknown amount'} of it may be used, none was promised"


def _siblings(promise: Promise, before: HostSample, after: HostSample) -> Iterator[str]:
    elapsed = after.at - before.at
    tolerated = TOLERATED_SHARE * elapsed + TOLERATED_TICKS / after.ticks_per_second
    busy = busy_seconds(before, after)
    for cpu in promise.idle:
        if cpu not in busy:
            yield f"not-told: the load of CPU {cpu}"
        elif busy[cpu] > tolerated:
            yield f"sibling-busy: CPU {cpu} ran for {busy[cpu]:.2f} s of {elapsed:.2f} s, and should be idle"


def _steal(promise: Promise, before: HostSample, after: HostSample) -> Iterator[str]:
    elapsed = after.at - before.at
    for cpu in promise.cpus:
        stolen = (after.steal.get(cpu, 0) - before.steal.get(cpu, 0)) / after.ticks_per_second
        if stolen > TOLERATED_SHARE * elapsed + TOLERATED_TICKS / after.ticks_per_second:
            yield f"steal: a hypervisor took {stolen:.2f} s of {elapsed:.2f} s from CPU {cpu}"


def _throttling(before: HostSample, after: HostSample) -> Iterator[str]:
    if after.quota > before.quota:
        yield f"throttled: a CPU quota stopped the group {after.quota - before.quota} times"
    for cpu, times in sorted(after.heat.items()):
        if times > before.heat.get(cpu, times):
            yield f"throttled: CPU {cpu} was slowed down for heat {times - before.heat[cpu]} times"


def _limits(tree: Tree, cgroup: str) -> dict[str, str | None]:
    """The nearest state of a partition and the smallest limits at or above a group; None where nothing is told.

    The partition that holds our groups' is none of them: a group that is no partition of its own is a member.
    """
    files = ("cpuset.cpus.partition", "memory.max", "memory.swap.max")
    found: dict[str, str | None] = dict.fromkeys(files)
    place = Path(cgroup)
    for group in (place, *place.parents):
        for file in files:
            with suppress(OSError):
                told = tree.read(str(group), file)
                best = found[file]
                if file == "cpuset.cpus.partition":
                    found[file] = told if best in (None, _MEMBER) and str(group) != TOP else best
                elif best is None or _bytes(told) < _bytes(best):
                    found[file] = told
    return found


def _throttled(file: Path) -> int:
    """How often a quota stopped a group; 0 where it has none."""
    with suppress(OSError):
        told = dict(line.split() for line in file.read_text("ascii").splitlines())
        return int(told.get("nr_throttled", 0))
    return 0


def _bytes(limit: str | None) -> float:
    return float("inf") if limit is None or limit == "max" else int(limit)
