"""A case: its distinct solutions, and all that decides how they are measured."""

from __future__ import annotations

import functools
import platform
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from patchperf.counters.none import NoCounter
from patchperf.counters.programs import HOST, Programs
from patchperf.counters.protocol import Counter
from patchperf.isolation.plan import Level
from patchperf.measure.calibration import CountingWindow, Window
from patchperf.measure.collector import Collector
from patchperf.measure.conditions import Ground
from patchperf.measure.emulated import Emulated
from patchperf.measure.journal import Stage
from patchperf.sandbox.protocol import Completed


@dataclass(frozen=True)
class Solution:
    """One distinct correct patch, as a prepared tree with the decorated test in it.

    Where one that is ``required`` cannot be measured, its case cannot; any other one is dropped from the case alone.
    """

    id: str
    sources: tuple[str, ...]
    tree: Path
    tree_digest: str
    required: bool = True


@dataclass(frozen=True)
class CasePlan:
    """All that decides a case's measurement.

    ``digest`` covers everything here that can change a value: under another digest all is measured again.
    ``environment`` is whole but for hash seed and layout, and has PYTHONPATH with the sandbox's tools folder on it;
    ``passed`` gives None if the test's runner reported exactly one passed test, else what it reported.
    ``counter_folder`` is what ``counter.prepare`` returned; ``counting`` is how long a simulator counts.
    ``work`` is a scratch folder to make and remove, by default one beside the journal. ``programs`` are those that the
    sandbox shows on PATH.
    ``timeout`` is for each native process, in seconds; ``attempts`` the number of runs that a single replicate, trial
    or calibration may take. ``ground`` is the core group to measure on, with what is promised about it; without one,
    nothing is.
    """

    instance_id: str
    digest: str
    solutions: tuple[Solution, ...]
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    passed: Callable[[Completed], str | None]
    warmup: int
    window: Window
    replicates: int
    attempts: int
    seed: int
    timeout: float
    readable: tuple[Path, ...] = ()
    garbage_collector: Collector = "untouched"
    counter: Counter = field(default_factory=NoCounter)
    counter_folder: Path | None = None
    counting: CountingWindow = field(default_factory=CountingWindow)
    ground: Ground | None = None
    host: str = field(default_factory=platform.node)
    work: Path | None = None
    programs: Programs = HOST

    @property
    def isolation(self) -> Level:
        """What is promised."""
        return "none" if self.ground is None else self.ground.promise.level

    @functools.cached_property
    def emulated(self) -> Emulated | None:
        """How the case is run under its counter, if that is a simulator."""
        return Emulated.prepared(self.counter, self.counter_folder, self.programs)


@dataclass(frozen=True)
class Progress:
    """A process of the case has ended: ``done`` of ``total`` that are needed; ``void`` if it has to be repeated."""

    instance_id: str
    stage: Stage
    solution: str
    done: int
    total: int
    void: str | None
