"""Measuring one case: trials, calibration, and all its replicates, each a fresh process, each in the journal."""

from __future__ import annotations

import hashlib
import logging
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from patchperf.counters.none import NoCounter
from patchperf.counters.protocol import Counter, Simulator
from patchperf.errors import InputError, PatchperfError
from patchperf.measure import counting
from patchperf.measure.calibration import Window, beyond, counted, fastest
from patchperf.measure.counting import Counting
from patchperf.measure.identity import SOCKET, awaited_caller
from patchperf.measure.journal import Entry, Journal, Stage, open_journal
from patchperf.measure.records import Record, records_of
from patchperf.measure.schedule import Slot, environment, order, padding
from patchperf.measure.self_report import Mode, SelfReport
from patchperf.measure.tools import RESULT, read_results, write_tools
from patchperf.measure.verdict import Promise, judge
from patchperf.sandbox.files import erase
from patchperf.sandbox.protocol import Command, Completed, Limits, Sandbox

TAIL_CHARACTERS = 4000
_FIRST_SHARE = 0.1
"""Of the time that counted repetitions are to take, what the trial that finds their number is meant to take."""


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
    ``counter_folder`` is what ``counter.prepare`` returned.
    ``timeout`` is for each process, in seconds; ``attempts`` the number of runs that a single replicate, trial or
    calibration may take. With a simulator, ``counting_seconds`` is what its repetitions are to take under the emulator.
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
    counter: Counter = field(default_factory=NoCounter)
    counter_folder: Path | None = None
    counting_seconds: float = counting.SECONDS
    isolation: str = "none"
    host: str = field(default_factory=platform.node)

    @property
    def counting(self) -> Counting | None:
        """The counting pass, if the counter is a simulator."""
        if not isinstance(self.counter, Simulator) or self.counter_folder is None:
            return None
        return Counting.prepared(self.counter, self.counter_folder)


@dataclass(frozen=True)
class Progress:
    """A process of the case has ended: ``done`` of ``total`` that are needed; ``void`` if it has to be repeated."""

    instance_id: str
    stage: Stage
    solution: str
    done: int
    total: int
    void: str | None


@dataclass(frozen=True)
class CaseResult:
    """What came of a case: all records, void ones included, and why solutions were dropped from it, by their id.

    Whatever was measured of a dropped solution is void: a part of its rounds would be no fair sample. ``uncounted`` are
    those that have wall time but could not be counted under the emulator; where one of them is required, no solution of
    the case has a count.
    """

    records: list[Record]
    dropped: dict[str, UnmeasurableError]
    uncounted: dict[str, UnmeasurableError] = field(default_factory=dict)


class UnmeasurableError(PatchperfError):
    """A solution, and with a required one its case, that cannot be measured: the others go on.

    ``reason`` is a short code for the ledger, ``evidence`` one line, ``records`` what was measured of the case so far,
    void or not.
    """

    def __init__(self, instance_id: str, solution: str, reason: str, evidence: str, journal: Path) -> None:
        super().__init__(
            f"{instance_id}: solution {solution} cannot be measured: {evidence}; delete {journal} to try again"
        )
        self.instance_id = instance_id
        self.solution = solution
        self.reason = reason
        self.evidence = evidence
        self.records: list[Record] = []


@dataclass(frozen=True)
class _Job:
    """One process to run until it gives a value that counts."""

    stage: Stage
    mode: Mode
    solution: str
    hash_seed: int
    padding: int
    slot: Slot | None = None
    repetitions: int | None = None

    @property
    def is_native(self) -> bool:
        """Whether the process runs without an emulator."""
        return self.stage not in ("counting", "counting-trial")

    def is_entry(self, entry: Entry) -> bool:
        replicate = self.slot.replicate if self.slot else None
        return (entry.stage, entry.solution, entry.replicate) == (self.stage, self.solution, replicate)

    @property
    def name(self) -> str:
        return f"{self.stage} {self.slot.replicate}" if self.slot else self.stage


def measure_case(
    plan: CasePlan,
    sandbox: Sandbox,
    limits: Limits,
    journal_path: Path,
    progress: Callable[[Progress], None] = lambda _: None,
) -> CaseResult:
    """A case's records, measured now or found in its journal, and the solutions that had to be dropped.

    Order: a trial of every solution; N calibrated on the fastest; then the rounds of the schedule, and with a simulator
    a trial and the same rounds once more under the emulator. A killed run continues behind the last entry of its
    journal, with the N it had. Solutions whose tree has not run in this session are run once before their next
    replicate, so that their bytecode caches are warm; that run is in the journal too.

    A solution that gives no valid value in ``plan.attempts`` runs, or whose loop would outlast the time-out, is
    dropped; raises UnmeasurableError if it is required. Raises InputError for a plan without solutions or with two of
    one name; what ``open_journal`` and the sandbox raise.
    """
    names = [solution.id for solution in plan.solutions]
    if not names or len(set(names)) != len(names):
        raise InputError(f"{plan.instance_id}: needs solutions with distinct names, got {', '.join(names) or 'none'}")
    with open_journal(journal_path, plan.digest) as journal:
        run = _CaseRun(plan, sandbox, limits, journal, progress)
        try:
            run.measure()
        except UnmeasurableError as error:
            error.records = run.records()
            raise
        finally:
            run.close()
        return CaseResult(run.records(), run.dropped, run.uncounted)


class _CaseRun:
    """One session on one case: the journal, a scratch folder, and what has run in it so far."""

    def __init__(
        self,
        plan: CasePlan,
        sandbox: Sandbox,
        limits: Limits,
        journal: Journal,
        progress: Callable[[Progress], None],
    ) -> None:
        self.plan = plan
        self.sandbox = sandbox
        self.limits = limits
        self.journal = journal
        self.progress = progress
        self.solutions = {solution.id: solution for solution in plan.solutions}
        self.counting = plan.counting
        passes = 1 if self.counting is None else 2
        self.total = len(plan.solutions) * (1 + passes * plan.replicates) + passes
        self.done = 0
        self.dropped: dict[str, UnmeasurableError] = {}
        self.uncounted: dict[str, UnmeasurableError] = {}
        self.warm: set[str] = set()
        self.idle_since = time.perf_counter()
        self.work = journal.path.with_suffix(".work").absolute()
        self.close()
        self.work.mkdir()

    def close(self) -> None:
        """Remove the scratch folder, also one that a killed session left."""
        erase(self.work)

    def measure(self) -> None:
        plan = self.plan
        first_layout = padding(plan.seed, 0)
        trials = self.trials(first_layout)
        repetitions = self.calibrated(trials, first_layout)
        for solution, seconds in beyond(trials, repetitions, plan.timeout).items():
            needs = f"{repetitions} repetitions need about {seconds:.0f} s, a replicate may take {plan.timeout:.0f} s"
            self.drop(UnmeasurableError(plan.instance_id, solution, "loop-exceeds-timeout", needs, self.journal.path))
        slots = order(list(self.solutions), plan.replicates, plan.seed, plan.instance_id)
        for slot in slots:
            job = _Job("replicate", "replicate", slot.solution, slot.hash_seed, slot.padding, slot, repetitions)
            self.obtain_or_drop(job)
        if self.counting is not None:
            self.count(self.counting, slots, trials, repetitions)

    def count(self, counting: Counting, slots: tuple[Slot, ...], trials: Mapping[str, float], repetitions: int) -> None:
        """The rounds under the emulator; ends early when a required solution cannot be counted."""
        fewer = self.counted_repetitions(counting, trials, repetitions)
        for slot in slots:
            self.obtain_count(_Job("counting", "replicate", slot.solution, slot.hash_seed, slot.padding, slot, fewer))

    def counted_repetitions(self, counting: Counting, trials: Mapping[str, float], repetitions: int) -> int:
        """How many repetitions to count, from a short run of the slowest solution under the emulator."""
        seconds, layout = self.plan.counting_seconds, padding(self.plan.seed, 0)
        for solution in sorted(trials, key=trials.__getitem__, reverse=True):
            few = counted(trials[solution] * counting.simulator.slowdown, repetitions, seconds * _FIRST_SHARE)
            job = _Job("counting-trial", "replicate", solution, 0, layout, repetitions=few)
            report = self.obtain_count(job)
            if report is not None and report.wall_ns:
                return counted(report.wall_ns / 1e9 / few, repetitions, seconds)
        return 1

    def obtain_count(self, job: _Job) -> SelfReport | None:
        """The valid report of a job under the emulator; None where its solution, or a required one, has none."""
        required = any(self.solutions[name].required for name in self.uncounted)
        if required or job.solution in self.dropped or job.solution in self.uncounted:
            return None
        try:
            return self.obtain(job)
        except UnmeasurableError as error:
            logging.warning("%s", error)
            self.uncounted[job.solution] = error
            return None

    def trials(self, layout: int) -> dict[str, float]:
        """Seconds per repetition of every solution that can be run."""
        reports = {
            solution: self.obtain_or_drop(_Job("trial", "trial", solution, 0, layout)) for solution in self.solutions
        }
        return {
            solution: report.seconds_per_repetition
            for solution, report in reports.items()
            if report is not None and report.seconds_per_repetition is not None
        }

    def calibrated(self, trials: Mapping[str, float], layout: int) -> int:
        """N from the fastest solution of those that have not been dropped."""
        while left := {solution: seconds for solution, seconds in trials.items() if solution not in self.dropped}:
            report = self.obtain_or_drop(_Job("calibration", "calibrate", fastest(left), 0, layout))
            if report is not None:
                return report.repetitions
        raise next(reversed(self.dropped.values()))

    def obtain_or_drop(self, job: _Job) -> SelfReport | None:
        """The valid report of a job; None if its solution is dropped, by this job or before."""
        if job.solution in self.dropped:
            return None
        try:
            return self.obtain(job)
        except UnmeasurableError as error:
            self.drop(error)
            return None

    def drop(self, error: UnmeasurableError) -> None:
        """Go on without a solution; raises the error if that one is required."""
        if self.solutions[error.solution].required:
            raise error
        self.dropped[error.solution] = error
        logging.warning("%s", error)

    def valid(self, job: _Job) -> SelfReport | None:
        """The report of a job that the journal already has."""
        reports = (entry.report for entry in self.journal.entries if job.is_entry(entry) and entry.void is None)
        return next(reports, None)

    def obtain(self, job: _Job) -> SelfReport:
        """The valid report of a job, from the journal or by running it; raises UnmeasurableError."""
        report = self.valid(job)
        tries = sum(job.is_entry(entry) for entry in self.journal.entries)
        while report is None and tries < self.plan.attempts:
            tries += 1
            if job.mode == "replicate" and job.solution not in self.warm:
                self.attempt(_Job("warming", "trial", job.solution, 0, padding(self.plan.seed, 0)), 1)
            self.attempt(job, tries)
            report = self.valid(job)
        if report is None:
            raise self.unmeasurable(job)
        self.done += 1
        return report

    def unmeasurable(self, job: _Job) -> UnmeasurableError:
        voids = [entry.void for entry in self.journal.entries if job.is_entry(entry) and entry.void]
        evidence = f"{job.name} is void after {len(voids)} of {self.plan.attempts} attempts: {voids[-1]}"
        code = f"{job.stage}-{voids[-1].partition(':')[0]}"
        return UnmeasurableError(self.plan.instance_id, job.solution, code, evidence, self.journal.path)

    def attempt(self, job: _Job, number: int) -> None:
        """Run a job's process once and put it into the journal."""
        promise = self.promise(job)
        tools, out = self.work / "tools", self.work / "out"
        for folder in (tools, out):
            erase(folder)
            folder.mkdir()
        write_tools(tools, self.spec(job, promise))
        command = self.command(job, tools, out)
        started = datetime.now(UTC)
        with awaited_caller(out) as caller:
            completed = self.sandbox.run(command, self.limits)
            pid = caller.pid()
        results, not_passed = read_results(out / RESULT), self.plan.passed(completed)
        emulated = None if job.is_native else self.counting
        regions = emulated.simulator.regions(out) if emulated else None
        report, void = judge(promise, completed, results, pid=pid, not_passed=not_passed, regions=regions)
        now = time.perf_counter()
        host_seconds, self.idle_since = now - self.idle_since - completed.seconds, now
        entry = Entry(
            digest=self.plan.digest,
            stage=job.stage,
            solution=job.solution,
            attempt=number,
            hash_seed=job.hash_seed,
            padding=job.padding,
            replicate=job.slot.replicate if job.slot else None,
            order=job.slot.order if job.slot else None,
            repetitions=job.repetitions,
            started_at=started,
            ended=completed.ended,
            exit_code=completed.exit_code,
            seconds=completed.seconds,
            host_seconds=max(0.0, host_seconds),
            peak_memory_mb=completed.peak_memory_mb,
            pid=pid,
            confinement=self.sandbox.confinement,
            isolation=self.plan.isolation,
            host=self.plan.host,
            emulation=emulated.emulation if emulated else None,
            void=void,
            output_tail=completed.output[-TAIL_CHARACTERS:] if void else "",
            report=report,
        )
        self.journal.append(entry)
        self.warm.add(job.solution)
        done = self.done + (void is None and job.stage != "warming")
        self.progress(Progress(self.plan.instance_id, job.stage, job.solution, done, self.total, void))

    def command(self, job: _Job, tools: Path, out: Path) -> Command:
        """What is run for a job, under the emulator where it counts; ``tools`` may get more to run it with."""
        plan = self.plan
        folder = None if self.counting else plan.counter_folder
        native = Command(
            argv=plan.argv,
            tree=self.solutions[job.solution].tree,
            environment=environment(plan.environment, job.hash_seed, job.padding),
            out=out,
            tools=tools,
            readable=(*plan.readable, *([folder] if folder else [])),
            timeout=plan.timeout,
        )
        if job.is_native or self.counting is None:
            return native
        return self.counting.command(native, tools, self.sandbox.layout, job.slot.replicate if job.slot else 0)

    def counter(self, job: _Job) -> Counter:
        """What counts in a replicate's process: nothing where the counting is a pass of its own."""
        return NoCounter() if self.counting is not None and job.is_native else self.plan.counter

    def promise(self, job: _Job) -> Promise:
        entries = self.journal.entries
        same_round = [
            entry.report
            for entry in entries
            if job.slot
            and (entry.stage, entry.replicate) == (job.stage, job.slot.replicate)
            and entry.void is None
            and entry.report
        ]
        return Promise(
            mode=job.mode,
            token=_token(self.plan.digest, job),
            warmup=self.plan.warmup,
            hash_seed=job.hash_seed,
            repetitions=job.repetitions,
            counter=self.counter(job) if job.mode == "replicate" else None,
            like=same_round[0] if same_round else None,
            processes=frozenset(entry.process for entry in entries if entry.process is not None),
        )

    def spec(self, job: _Job, promise: Promise) -> dict[str, Any]:
        """What the process is told: the same bytes for every solution of a round."""
        common = {
            "mode": job.mode,
            "token": promise.token,
            "warmup": self.plan.warmup,
            "out": f"{self.sandbox.layout.out}/{RESULT}",
            "socket": SOCKET,
        }
        if job.mode == "replicate":
            folder = self.plan.counter_folder
            return common | {
                "repetitions": job.repetitions,
                "counter": self.counter(job).backend,
                "counter_folder": str(folder) if folder else None,
            }
        window = self.plan.window
        return common | window.model_dump() | {"trial_seconds": window.trial_seconds}

    def records(self) -> list[Record]:
        entries = self.journal.entries
        rows = [entry for entry in entries if entry.stage in ("replicate", "counting")]
        if not rows:
            return []
        calibration = next(entry for entry in entries if entry.stage == "calibration" and entry.void is None)
        clock = calibration.report.clock if calibration.report else ""
        native = {
            (entry.solution, entry.replicate): entry.report
            for entry in entries
            if entry.stage == "replicate" and entry.void is None
        }
        return [
            record
            for entry in rows
            for record in records_of(
                self.voided(entry),
                instance_id=self.plan.instance_id,
                sources=self.solutions[entry.solution].sources,
                tree_digest=self.solutions[entry.solution].tree_digest,
                window=self.plan.window,
                anchor=calibration.solution,
                backend="none" if self.counting and entry.stage == "replicate" else self.plan.counter.backend,
                clock=clock,
                repetitions=calibration.report.repetitions if calibration.report else 0,
                native=native.get((entry.solution, entry.replicate)) if entry.stage == "counting" else None,
            )
        ]

    def voided(self, entry: Entry) -> Entry:
        """The entry, void where its solution was dropped after it, or its count where that is not wanted any more."""
        dropped = self.dropped.get(entry.solution)
        if dropped is None and entry.stage == "counting":
            required = [error for name, error in self.uncounted.items() if self.solutions[name].required]
            dropped = self.uncounted.get(entry.solution, *required[:1])
        if dropped is None or entry.void is not None:
            return entry
        return entry.model_copy(update={"void": f"dropped: {dropped.reason}"})


def _token(digest: str, job: _Job) -> str:
    """Binds a result to its run without telling one solution from another."""
    return hashlib.sha256(f"{digest} {job.name} {job.repetitions}".encode()).hexdigest()[:16]
