"""The native pass over a case: trials, calibration, and all its replicates, interleaved; wall time comes from here."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from patchperf.errors import InputError
from patchperf.measure.calibration import beyond, fastest
from patchperf.measure.case import CasePlan, Progress
from patchperf.measure.journal import Entry, open_journal
from patchperf.measure.records import Record, records_of
from patchperf.measure.result import CaseResult, UnmeasurableError
from patchperf.measure.schedule import order, padding
from patchperf.measure.self_report import SelfReport
from patchperf.measure.session import Job, Session
from patchperf.sandbox.protocol import Limits, Sandbox


def measure_case(
    plan: CasePlan,
    sandbox: Sandbox,
    limits: Limits,
    journal_path: Path,
    progress: Callable[[Progress], None] = lambda _: None,
) -> CaseResult:
    """A case's records, measured now or found in its journal, and the solutions that had to be dropped.

    Order: a trial of every solution; N calibrated on the fastest; then the rounds of the schedule. A killed run
    continues behind the last entry of its journal, with the N it had.

    A solution that gives no valid value in ``plan.attempts`` runs, or whose loop would outlast the time-out, is
    dropped; raises UnmeasurableError if it is required. Raises InputError for a plan without solutions or with two of
    one name; what ``open_journal`` and the sandbox raise.
    """
    names = [solution.id for solution in plan.solutions]
    if not names or len(set(names)) != len(names):
        raise InputError(f"{plan.instance_id}: needs solutions with distinct names, got {', '.join(names) or 'none'}")
    total = len(names) * (1 + plan.replicates) + 1
    with (
        open_journal(journal_path, plan.digest) as journal,
        Session(plan, sandbox, limits, journal, progress=progress, total=total) as session,
    ):
        native = _NativePass(session)
        try:
            native.run()
        except UnmeasurableError as error:
            error.records = native.records()
            raise
        return CaseResult(native.records(), native.dropped)


class _NativePass:
    """The native processes of a case, and the solutions dropped on the way."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.plan = session.plan
        self.dropped: dict[str, UnmeasurableError] = {}

    def run(self) -> None:
        plan, journal = self.plan, self.session.journal.path
        layout = padding(plan.seed, 0)
        trials = self.trials(layout)
        repetitions = self.calibrated(trials, layout)
        for solution, seconds in beyond(trials, repetitions, plan.timeout).items():
            needs = f"{repetitions} repetitions need about {seconds:.0f} s, a replicate may take {plan.timeout:.0f} s"
            self.drop(UnmeasurableError(plan.instance_id, solution, "loop-exceeds-timeout", needs, journal))
        for slot in order(list(self.session.solutions), plan.replicates, plan.seed, plan.instance_id):
            self.obtain_or_drop(Job.of_slot("replicate", slot, repetitions))

    def trials(self, layout: int) -> dict[str, float]:
        """Seconds per repetition of every solution that can be run."""
        reports = {
            solution: self.obtain_or_drop(Job("trial", "trial", solution, 0, layout))
            for solution in self.session.solutions
        }
        return {
            solution: report.seconds_per_repetition
            for solution, report in reports.items()
            if report is not None and report.seconds_per_repetition is not None
        }

    def calibrated(self, trials: dict[str, float], layout: int) -> int:
        """N from the fastest solution of those that have not been dropped."""
        while left := {solution: seconds for solution, seconds in trials.items() if solution not in self.dropped}:
            report = self.obtain_or_drop(Job("calibration", "calibrate", fastest(left), 0, layout))
            if report is not None:
                return report.repetitions
        raise next(reversed(self.dropped.values()))

    def obtain_or_drop(self, job: Job) -> SelfReport | None:
        """The valid report of a job; None if its solution is dropped, by this job or before."""
        if job.solution in self.dropped:
            return None
        try:
            return self.session.obtain(job)
        except UnmeasurableError as error:
            self.drop(error)
            return None

    def drop(self, error: UnmeasurableError) -> None:
        """Go on without a solution; raises the error if that one is required."""
        if self.session.solutions[error.solution].required:
            raise error
        self.dropped[error.solution] = error
        logging.warning("%s", error)

    def records(self) -> list[Record]:
        entries = self.session.journal.entries
        rows = [entry for entry in entries if entry.stage == "replicate"]
        if not rows:
            return []
        calibration = next(entry for entry in entries if entry.stage == "calibration" and entry.void is None)
        return [
            record
            for entry in rows
            for record in records_of(
                self.voided(entry),
                plan=self.plan,
                anchor=calibration.solution,
                clock=calibration.report.clock if calibration.report else "",
            )
        ]

    def voided(self, entry: Entry) -> Entry:
        """The entry, void where its solution was dropped after it."""
        dropped = self.dropped.get(entry.solution)
        return entry if dropped is None else entry.dropped(dropped.reason)
