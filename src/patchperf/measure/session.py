"""One session on a case: runs its processes one by one, each fresh, each in the journal before the next one starts."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from patchperf.counters.none import NoCounter
from patchperf.counters.protocol import Counter
from patchperf.measure.case import CasePlan, Progress
from patchperf.measure.emulated import Emulated
from patchperf.measure.identity import SOCKET, awaited_caller
from patchperf.measure.journal import EMULATED, Entry, Journal, Stage
from patchperf.measure.result import UnmeasurableError
from patchperf.measure.schedule import Slot, environment, padding
from patchperf.measure.self_report import Mode, SelfReport
from patchperf.measure.tools import RESULT, read_results, write_tools
from patchperf.measure.verdict import Promise, judge
from patchperf.sandbox.files import erase
from patchperf.sandbox.protocol import Command, Limits, Sandbox

TAIL_CHARACTERS = 4000


@dataclass(frozen=True)
class Job:
    """One process to run until it gives a value that counts."""

    stage: Stage
    mode: Mode
    solution: str
    hash_seed: int
    padding: int
    slot: Slot | None = None
    repetitions: int | None = None

    @classmethod
    def of_slot(cls, stage: Stage, slot: Slot, repetitions: int) -> Job:
        """A replicate of the schedule."""
        return cls(stage, "replicate", slot.solution, slot.hash_seed, slot.padding, slot, repetitions)

    @property
    def is_emulated(self) -> bool:
        """Whether the process runs under the emulator."""
        return self.stage in EMULATED

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return f"{self.stage} {self.slot.replicate}" if self.slot else self.stage

    def is_entry(self, entry: Entry) -> bool:
        """Whether an entry of the journal is of this job."""
        mine = (self.stage, self.solution, self.slot.replicate if self.slot else None, self.repetitions)
        return (entry.stage, entry.solution, entry.replicate, entry.repetitions) == mine


class Session:
    """The journal, a scratch folder, and what has run since the session began.

    Solutions whose tree has not run in it are run once, natively, before their next replicate, so that their bytecode
    caches are warm; that run is in the journal too. ``total`` is the number of jobs that are needed.
    """

    def __init__(
        self,
        plan: CasePlan,
        sandbox: Sandbox,
        limits: Limits,
        journal: Journal,
        *,
        progress: Callable[[Progress], None],
        total: int,
    ) -> None:
        self.plan = plan
        self.sandbox = sandbox
        self.limits = limits
        self.journal = journal
        self.progress = progress
        self.total = total
        self.emulated = plan.emulated
        self.solutions = {solution.id: solution for solution in plan.solutions}
        self.done = 0
        self.warm: set[str] = set()
        self.idle_since = time.perf_counter()
        self.work = (plan.work or journal.path.with_suffix(".work")).absolute()

    def __enter__(self) -> Session:
        erase(self.work)
        self.work.mkdir()
        return self

    def __exit__(self, *_: object) -> None:
        erase(self.work)

    def obtain(self, job: Job) -> SelfReport:
        """The valid report of a job, from the journal or by running it; raises UnmeasurableError."""
        report = self._valid(job)
        tries = sum(job.is_entry(entry) for entry in self.journal.entries)
        while report is None and tries < self.plan.attempts:
            tries += 1
            if job.mode == "replicate" and job.solution not in self.warm:
                self._attempt(Job("warming", "trial", job.solution, 0, padding(self.plan.seed, 0)), 1)
            self._attempt(job, tries)
            report = self._valid(job)
        if report is None:
            raise self._unmeasurable(job)
        self.done += 1
        return report

    def _valid(self, job: Job) -> SelfReport | None:
        """The report of a job that the journal already has."""
        reports = (entry.report for entry in self.journal.entries if job.is_entry(entry) and entry.void is None)
        return next(reports, None)

    def _unmeasurable(self, job: Job) -> UnmeasurableError:
        voids = [entry.void for entry in self.journal.entries if job.is_entry(entry) and entry.void]
        evidence = f"{job.name} is void after {len(voids)} of {self.plan.attempts} attempts: {voids[-1]}"
        code = f"{job.stage}-{voids[-1].partition(':')[0]}"
        return UnmeasurableError(self.plan.instance_id, job.solution, code, evidence, self.journal.path)

    def _attempt(self, job: Job, number: int) -> None:
        """Run a job's process once and put it into the journal."""
        promise = self._promise(job)
        tools, out = self.work / "tools", self.work / "out"
        for folder in (tools, out):
            erase(folder)
            folder.mkdir()
        write_tools(tools, self._spec(job, promise))
        command = self._command(job, tools, out)
        started = datetime.now(UTC)
        with ExitStack() as stack:
            watch = stack.enter_context(self.plan.ground.watched()) if self.plan.ground else None
            caller = stack.enter_context(awaited_caller(out, watch.look if watch else None))
            completed = self.sandbox.run(command, self.limits)
            pid = caller.pid()
        results, not_passed = read_results(out / RESULT), self.plan.passed(completed)
        emulated = self._emulator(job)
        regions = emulated.simulator.regions(out) if emulated else None
        report, void = judge(promise, completed, results, pid=pid, not_passed=not_passed, regions=regions)
        if void is None and watch is not None and report is not None:
            void = watch.broken(report)
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
            conditions=watch.conditions if watch else None,
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

    def _emulator(self, job: Job) -> Emulated | None:
        return self.emulated if job.is_emulated else None

    def _command(self, job: Job, tools: Path, out: Path) -> Command:
        """What is run for a job, under the emulator where it counts; ``tools`` may get more to run it with."""
        plan = self.plan
        folder = None if self.emulated else plan.counter_folder
        native = Command(
            argv=plan.argv,
            tree=self.solutions[job.solution].tree,
            environment=environment(plan.environment, job.hash_seed, job.padding),
            out=out,
            tools=tools,
            readable=(*plan.readable, *([folder] if folder else [])),
            timeout=plan.timeout,
        )
        emulated = self._emulator(job)
        if emulated is None:
            return native
        return emulated.command(native, tools, self.sandbox.layout, job.slot.replicate if job.slot else 0)

    def _counter(self, job: Job) -> Counter:
        """What counts in a replicate's process: nothing where the counting is a pass of its own."""
        return NoCounter() if self.emulated is not None and not job.is_emulated else self.plan.counter

    def _promise(self, job: Job) -> Promise:
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
            counter=self._counter(job) if job.mode == "replicate" else None,
            like=same_round[0] if same_round else None,
            processes=frozenset(entry.process for entry in entries if entry.process is not None),
        )

    def _spec(self, job: Job, promise: Promise) -> dict[str, Any]:
        """What the process is told: the same bytes for every solution of a round."""
        common = {
            "mode": job.mode,
            "token": promise.token,
            "warmup": self.plan.warmup,
            "collector": self.plan.garbage_collector,
            "out": f"{self.sandbox.layout.out}/{RESULT}",
            "socket": SOCKET,
            "attended": self.plan.ground is not None,
        }
        if job.mode == "replicate":
            folder = self.plan.counter_folder
            return common | {
                "repetitions": job.repetitions,
                "counter": self._counter(job).backend,
                "counter_folder": str(folder) if folder else None,
            }
        window = self.plan.window
        return common | window.model_dump() | {"trial_seconds": window.trial_seconds}


def _token(digest: str, job: Job) -> str:
    """Binds a result to its run without telling one solution from another."""
    return hashlib.sha256(f"{digest} {job.name} {job.repetitions}".encode()).hexdigest()[:16]
