"""What a replicate was promised about its CPUs and memory, what it got, and how that is found out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from patchperf.isolation import leases
from patchperf.isolation.places import place_of
from patchperf.isolation.plan import Group, Plan
from patchperf.isolation.sharing import whole_topology
from patchperf.isolation.switch import state_of
from patchperf.isolation.topology import Topology
from patchperf.isolation.verification import (
    HostSample,
    Promise,
    Seen,
    broken,
    busy_seconds,
    observe,
    promise_of,
    sample,
)
from patchperf.measure.self_report import SelfReport
from patchperf.sandbox.placement import Placement


class Conditions(BaseModel):
    """What a process was under, as the host saw it when it had reported, and what happened around it meanwhile.

    Seconds are summed over the CPUs: ``sibling_busy_seconds`` of those that were to stay idle, ``steal_seconds`` (taken
    by a hypervisor) of those in use. ``throttled`` is how often a quota or heat slowed one of them down.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    core_group: int
    seen: Seen
    sibling_busy_seconds: float
    steal_seconds: float
    throttled: int


@dataclass(frozen=True)
class Ground:
    """A core group with what is promised about it; ``leaf`` is the folder of its control group, if it has one."""

    group: Group
    promise: Promise
    leaf: Path | None = None

    @property
    def placement(self) -> Placement:
        """For a sandbox: on the group's CPUs at least, in its control group where it has one."""
        cpus = self.group.cpus if self.promise.level == "affinity" else ()
        return Placement(cpus, self.leaf)

    @contextmanager
    def watched(self) -> Iterator[Watch]:
        """Watch the group while a process is measured on it."""
        watch = Watch(self, sample(self.group, self.leaf))
        yield watch
        watch.after = sample(self.group, self.leaf)


@contextmanager
def leased_ground(plan: Callable[[Topology], Plan], tell: leases.Tell) -> Iterator[Ground]:
    """A core group of this machine, leased to this job or by it, with what is promised about it.

    ``plan`` is asked only where the job was started without a lease, ``tell`` hears of the wait for one. Raises
    MachineError where partitions are promised and not up, or the lease is none.
    """
    with leases.held(whole_topology(), plan, tell) as lease:
        place = place_of(lease.group, lease.level)
        state = state_of() if place.leaf else None
        promise = promise_of(
            place.group, place.level, state.kind if state else None, state.memory_mb if state else None
        )
        yield Ground(place.group, promise, place.leaf)


@dataclass
class Watch:
    """One process on a ground, from before it starts to after it ended; ``look`` is to be called while it lives."""

    ground: Ground
    before: HostSample
    after: HostSample | None = None
    seen: Seen = field(default_factory=Seen)

    def look(self, pid: int) -> None:
        """See what a process of this host is under."""
        self.seen = observe(pid)

    def broken(self, report: SelfReport) -> str | None:
        """The first promise that was not kept, as ``code: detail``; None if all were.

        CPUs and memory nodes are those that the process itself saw before and after its loop, as far as it could.
        """
        told = [snapshot for snapshot in (report.before, report.after) if snapshot is not None]
        seen = [
            self.seen.model_copy(
                update={
                    "cpus_allowed": one.cpus_allowed or self.seen.cpus_allowed,
                    "mems_allowed": one.mems_allowed or self.seen.mems_allowed,
                }
            )
            for one in told
        ]
        after = self.after or self.before
        found = (broken(self.ground.promise, one, self.before, after) for one in seen)
        return next(filter(None, found), None)

    @property
    def conditions(self) -> Conditions:
        """For the record."""
        before, after, group = self.before, self.after or self.before, self.ground.group
        busy = busy_seconds(before, after)
        stolen = sum(after.steal.get(cpu, 0) - before.steal.get(cpu, 0) for cpu in group.cpus)
        heat = sum(times - before.heat.get(cpu, times) for cpu, times in after.heat.items())
        return Conditions(
            core_group=group.index,
            seen=self.seen,
            sibling_busy_seconds=sum(busy.get(cpu, 0.0) for cpu in group.idle),
            steal_seconds=stolen / after.ticks_per_second,
            throttled=after.quota - before.quota + heat,
        )
