"""The state of a run: events in, each stage's numbers out. No clocks, no files: times come with the events."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from snakemake_logger_plugin_patchperf.estimate import Underway, seconds_left
from snakemake_logger_plugin_patchperf.events import Event, Failed, Finished, Interrupted, Planned, Started
from snakemake_logger_plugin_patchperf.stages import Stage, stage_of


@dataclass(frozen=True)
class Step:
    """How far a running job is by its own account: ``done`` of ``total``."""

    done: int
    total: int


@dataclass(frozen=True)
class Running:
    """A job that runs, and since when."""

    job: Started
    since: float

    @property
    def subject(self) -> str:
        """What the job is about, in few words."""
        return " ".join(self.job.wildcards.values()) or self.job.rule


@dataclass(frozen=True)
class StageView:
    """A stage's numbers at one moment.

    ``total`` is None where the number of jobs is not known. ``left`` is an estimate, None without one; ``seconds`` is
    the time since the stage's first job started, until its last one ended. ``steps``: subject and step of running jobs.
    """

    stage: Stage
    done: int
    failed: int
    running: int
    total: int | None
    left: float | None
    seconds: float
    steps: tuple[tuple[str, Step], ...] = ()

    @property
    def complete(self) -> bool:
        """Nothing runs, and nothing more is planned."""
        return not self.running and self.done + self.failed >= (self.total or 0)


@dataclass(frozen=True)
class Overall:
    """The whole run: jobs done, failed, known so far, and the checkpoints that will add to them (None: not known)."""

    done: int
    failed: int
    total: int
    open_checkpoints: tuple[str, ...] | None
    seconds: float


class Progress:
    """All stages of one run."""

    def __init__(self, start: float) -> None:
        self.start = start
        self.running: dict[int, Running] = {}
        self.failed: dict[int, Failed] = {}
        self.interrupted = False
        self._started: dict[int, Started] = {}
        self._planned: Counter[Stage] = Counter()
        self._open_checkpoints: tuple[str, ...] | None = None
        self._done: Counter[Stage] = Counter()
        self._busy: defaultdict[Stage, float] = defaultdict(float)
        self._spans: dict[Stage, tuple[float, float]] = {}

    def apply(self, event: Event, now: float) -> None:
        """Take an event into account that happened at ``now`` (seconds, of the same clock as ``start``)."""
        match event:
            case Planned(jobs, open_checkpoints):
                self._planned = Counter()
                for rule, count in jobs.items():
                    self._planned[stage_of(rule)] += count
                self._open_checkpoints = open_checkpoints
            case Started(job, rule, has_products=False):
                self._planned.pop(stage_of(rule), None)
            case Started(job, rule):
                self.failed.pop(job, None)
                self.running[job] = Running(event, now)
                self._started[job] = event
                self._widen(stage_of(rule), now)
            case Finished(job):
                self._finish(job, now)
            case Failed(job, rule):
                self.running.pop(job, None)
                self._widen(stage_of(rule), now)
                if not self.interrupted:
                    self.failed[job] = event
            case Interrupted():
                self.interrupted = True

    def wildcards(self, job: int) -> Mapping[str, str]:
        """The wildcards of a job that was started."""
        return self._started[job].wildcards if job in self._started else {}

    def overall(self, now: float) -> Overall:
        """The numbers of the whole run."""
        done = self._done.total()
        known = max(self._planned.total(), done + len(self.running) + len(self.failed))
        return Overall(done, len(self.failed), known, self._open_checkpoints, now - self.start)

    def stages(self, now: float, steps: Mapping[int, Step] | None = None) -> list[StageView]:
        """Every stage that has begun, in the order of beginning; ``steps`` is what running jobs say, by job."""
        return [self._view(stage, now, steps or {}) for stage in self._spans]

    def _finish(self, job: int, now: float) -> None:
        ended = self.running.pop(job, None)
        if ended is None:
            return
        stage = stage_of(ended.job.rule)
        self._done[stage] += 1
        self._busy[stage] += now - ended.since
        self._widen(stage, now)

    def _widen(self, stage: Stage, now: float) -> None:
        first, _ = self._spans.get(stage, (now, now))
        self._spans[stage] = first, now

    def _view(self, stage: Stage, now: float, steps: Mapping[int, Step]) -> StageView:
        running = {job: one for job, one in self.running.items() if stage_of(one.job.rule) == stage}
        failed = sum(stage_of(one.rule) == stage for one in self.failed.values())
        done = self._done[stage]
        seen = done + failed + len(running)
        total = max(self._planned[stage], seen) if stage in self._planned else None
        said = {job: steps[job] for job in running if job in steps and steps[job].total > 0}
        underway = [
            Underway(now - one.since, said[job].done / said[job].total if job in said else None)
            for job, one in running.items()
        ]
        first, last = self._spans[stage]
        return StageView(
            stage=stage,
            done=done,
            failed=failed,
            running=len(running),
            total=total,
            left=seconds_left(done, self._busy[stage], underway, (total or seen) - seen),
            seconds=(now if running else last) - first,
            steps=tuple((running[job].subject, step) for job, step in said.items()),
        )
