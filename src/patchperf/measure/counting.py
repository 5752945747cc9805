"""The counting pass of a simulated backend: the rounds of the native pass once more, under the emulator."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from patchperf.counters.readings import STEADY, drift
from patchperf.errors import InputError
from patchperf.measure.calibration import counted, lengthened
from patchperf.measure.case import CasePlan, Progress
from patchperf.measure.coverage import kernel_share
from patchperf.measure.emulated import Emulated
from patchperf.measure.journal import Entry, open_journal
from patchperf.measure.records import Record, count_of
from patchperf.measure.result import CaseResult, UnmeasurableError
from patchperf.measure.schedule import order, padding
from patchperf.measure.self_report import SelfReport
from patchperf.measure.session import Job, Session
from patchperf.sandbox.protocol import Limits, Sandbox

_FIRST_SHARE = 0.1
"""Of the time that counted repetitions are to take, what the trial that finds the emulator's speed is meant to take."""


@dataclass(frozen=True)
class Native:
    """What the native pass found: N, its anchor, and by solution seconds per repetition (mean of valid replicates).

    ``kernel`` is the kernel's share of a replicate's processor time, by solution and replicate, None where unknown.
    """

    repetitions: int
    anchor: str
    seconds: Mapping[str, float]
    kernel: Mapping[tuple[str, int], float | None]

    @classmethod
    def of(cls, table: pd.DataFrame) -> Native | None:
        """Read from a case's records of the native pass; None if none of them is valid."""
        valid = table[(table.metric == "wall_ns") & ~table.void]
        if valid.empty:
            return None
        seconds = valid.value.div(valid.repetitions * 1e9).groupby(valid.solution).mean()
        shares = map(kernel_share, valid.user_seconds, valid.system_seconds)
        return cls(
            repetitions=int(valid.repetitions.iloc[0]),
            anchor=str(table.solution[table.anchor].iloc[0]) if table.anchor.any() else "",
            seconds={str(solution): float(value) for solution, value in seconds.items()},
            kernel=dict(zip(zip(valid.solution, valid.replicate, strict=True), shares, strict=True)),
        )


def count_case(
    plan: CasePlan,
    native: Native,
    sandbox: Sandbox,
    limits: Limits,
    journal_path: Path,
    *,
    progress: Callable[[Progress], None] = lambda _: None,
) -> CaseResult:
    """The counts of a case that was measured natively, made now or found in the pass's own journal.

    Order: trials of the slowest solution under the emulator, which find how many repetitions to count; then the same
    rounds as natively, without the solutions that were dropped there. A solution that cannot be counted is dropped;
    where that one is required, no count of the case is valid. Raises InputError where the plan's counter is no
    simulator; what ``open_journal`` and the sandbox raise.
    """
    if plan.emulated is None:
        raise InputError(f"{plan.instance_id}: {plan.counter.backend} is no simulator, it counts while time is taken")
    total = len(native.seconds) * plan.replicates + 2
    with (
        open_journal(journal_path, plan.digest) as journal,
        Session(plan, sandbox, limits, journal, progress=progress, total=total) as session,
    ):
        counting = _CountingPass(session, native, plan.emulated)
        counting.run()
        return CaseResult(counting.records(), counting.dropped)


class _CountingPass:
    """The emulated processes of a case, and the solutions dropped on the way."""

    def __init__(self, session: Session, native: Native, emulated: Emulated) -> None:
        self.session = session
        self.native = native
        self.slowdown = emulated.simulator.slowdown
        self.dropped: dict[str, UnmeasurableError] = {}
        self.jobs: list[Job] = []

    def run(self) -> None:
        plan = self.session.plan
        repetitions = self.repetitions()
        slots = order(list(self.session.solutions), plan.replicates, plan.seed, plan.instance_id)
        self.jobs = [
            Job.of_slot("counting", slot, repetitions) for slot in slots if slot.solution in self.native.seconds
        ]
        for job in self.jobs:
            self.obtain(job)

    def repetitions(self) -> int:
        """How many repetitions to count: found on the slowest solution that can be counted."""
        seconds = self.native.seconds
        for solution in sorted(seconds, key=seconds.__getitem__, reverse=True):
            found = self.found_on(solution)
            if found is not None:
                return found
        return 1

    def found_on(self, solution: str) -> int | None:
        """As many as take the time asked for, longer while later calls take other counts than earlier ones."""
        n, window = self.native.repetitions, self.session.plan.counting
        guess = self.native.seconds[solution] * self.slowdown
        report = self.trial(solution, counted(guess, n, window.min_seconds * _FIRST_SHARE))
        if report is None:
            return None
        count: int | None = counted(_seconds(report), n, window.min_seconds)
        while count is not None:
            report = self.trial(solution, count)
            if report is None or is_steady(report):
                return None if report is None else count
            found, count = count, lengthened(count, _seconds(report), n, window.max_seconds)
        return found

    def trial(self, solution: str, repetitions: int) -> SelfReport | None:
        layout = padding(self.session.plan.seed, 0)
        return self.obtain(Job("counting-trial", "replicate", solution, 0, layout, repetitions=repetitions))

    def obtain(self, job: Job) -> SelfReport | None:
        """The valid report of a job; None where its solution, or a required one, has none."""
        if job.solution in self.dropped or self.lost is not None:
            return None
        try:
            return self.session.obtain(job)
        except UnmeasurableError as error:
            logging.warning("%s", error)
            self.dropped[job.solution] = error
            return None

    @property
    def lost(self) -> UnmeasurableError | None:
        """Why a required solution, and with it the case, has no counts."""
        return next((error for name, error in self.dropped.items() if self.session.solutions[name].required), None)

    def records(self) -> list[Record]:
        """The rows of all rounds; none of those that the journal has of another number of repetitions."""
        return [
            count_of(
                self.voided(entry),
                plan=self.session.plan,
                anchor=self.native.anchor,
                repetitions=self.native.repetitions,
                kernel=self.native.kernel.get((job.solution, job.slot.replicate)) if job.slot else None,
            )
            for job in self.jobs
            for entry in self.session.journal.entries
            if job.is_entry(entry)
        ]

    def voided(self, entry: Entry) -> Entry:
        """The entry, void where its solution was dropped after it or its case has no counts."""
        dropped = self.dropped.get(entry.solution, self.lost)
        return entry if dropped is None else entry.dropped(dropped.reason)


def is_steady(report: SelfReport) -> bool:
    """Whether the calls of both halves of a counted loop took about the same."""
    moved = drift(report.counter) if report.counter else None
    return moved is not None and abs(moved) <= STEADY


def _seconds(report: SelfReport) -> float:
    """Per repetition, under the emulator."""
    return max(report.wall_ns or 0, 1) / 1e9 / report.repetitions
