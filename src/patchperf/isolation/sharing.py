"""Partitions that workflows share: the first one brings them up, the last one takes them down."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

from patchperf.errors import MachineError
from patchperf.isolation.cgroups import facts, problem
from patchperf.isolation.partitions import Kind
from patchperf.isolation.plan import Plan
from patchperf.isolation.state import FOLDER, Tuning
from patchperf.isolation.switch import USERS, Wanted, down, state_of, up
from patchperf.isolation.topology import Topology, read_topology

PlanOf = Callable[[Topology, str | None], Plan]
"""The plan for a topology, and for a reason why there can be no partitions (None: there can)."""


class Use:
    """This process's part in the partitions that are up, until ``end`` or its own end, however it ends.

    ``plan`` is what it may count on. At another level than "partition" nothing was brought up for it.
    """

    def __init__(self, plan: Plan, descriptor: int | None = None, folder: Path = FOLDER) -> None:
        self.plan = plan
        self._descriptor = descriptor
        self._folder = folder

    def end(self) -> bool:
        """Need them no more; whether they were taken down for it: not if others use them, or if `up` was run by hand.

        Raises MachineError where something cannot be undone. A second time does nothing.
        """
        if self._descriptor is None:
            return False
        os.close(self._descriptor)
        self._descriptor = None
        return down(self._folder, only_unused=True)


def use(plan_of: PlanOf, kind: Kind, memory_mb: int, tuning: Tuning, folder: Path = FOLDER) -> Use:
    """Have what ``plan_of`` wants for this machine, partitions brought up if it is those and they are not.

    Raises MachineError where it does not take less than can be had.
    """
    obstacle = problem(facts())
    topology = whole_topology(folder)
    plan = plan_of(topology, obstacle)
    if plan.level != "partition":
        return Use(plan_of(read_topology(), obstacle))
    descriptor = None
    try:
        descriptor = _shared(folder / USERS)
        up(Wanted(plan, kind, memory_mb, tuple(sorted(topology.allowed)), tuning), by_hand=False, folder=folder)
    except MachineError as error:
        if descriptor is not None:
            os.close(descriptor)
        return Use(plan_of(read_topology(), str(error)))
    return Use(plan, descriptor, folder)


def whole_topology(folder: Path = FOLDER) -> Topology:
    """The topology with the CPUs that partitions were made of, if any are up: this process may not see them itself."""
    state = state_of(folder)
    return read_topology(allowed=None if state is None else state.allowed)


def _shared(file: Path) -> int:
    try:
        file.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise MachineError(f"{file}: {error.strerror}") from None
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor
