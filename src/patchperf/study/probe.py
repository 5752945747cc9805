"""The probe: is the one F2P test a single point, does it repeat within one process, does it do I/O?

Order of the questions: can the test be found and run alone; does it fail on the base and pass on the ground truth;
does the decorated test survive its warm-up and one call more; which system calls does that last call make.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from patchperf.errors import MachineError
from patchperf.measure.self_report import parse_report
from patchperf.measure.tools import RESULT, read_results, write_tools
from patchperf.sandbox.protocol import Completed
from patchperf.study.derivation import Underivable
from patchperf.study.reproduction import Reproduction
from patchperf.study.runs import Run, record
from patchperf.study.single_point import SinglePoint, find_single_point
from patchperf.study.syscalls import IoVerdict, judge
from patchperf.study.trace import WindowProblem, read_window
from patchperf.study.workbench import Workbench

KEPT_CALLS = 200
TRACE = "trace"
STRACE = ("strace", "-f", "-y", "-s", "256", "-o")
Stage = Literal["repeatability", "io", "corpus"]


class Probe(BaseModel):
    """The verdict on one single-test instance: the stage it reached, and why it was excluded there, if it was."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    instance_id: str
    spec: str
    stage: Stage
    reason: str
    evidence: str
    single_point: SinglePoint | None = None
    runs: tuple[Run, ...] = ()
    io: IoVerdict | None = None
    confinement: str

    @property
    def kept(self) -> bool:
        """Whether the instance belongs to the corpus."""
        return self.stage == "corpus"


class _ExcludedError(Exception):
    def __init__(self, stage: Stage, reason: str, evidence: str) -> None:
        self.stage, self.reason, self.evidence = stage, reason, evidence


def probe(bench: Workbench, reproduction: Reproduction, spec: str, trace: Path) -> Probe:
    """Ask the questions in their order; ``trace`` is where the log of system calls is kept as evidence."""
    story = _Story()
    try:
        _ask(bench, reproduction, trace, story)
        stage, reason, evidence = "corpus", "", "one repeatable test without I/O"
    except _ExcludedError as verdict:
        stage, reason, evidence = verdict.stage, verdict.reason, verdict.evidence
    return Probe.model_validate(
        {
            "instance_id": bench.instance.instance_id,
            "spec": spec,
            "stage": stage,
            "reason": reason,
            "evidence": evidence,
            "single_point": story.single_point,
            "runs": story.runs,
            "io": story.io,
            "confinement": bench.sandbox.confinement,
        }
    )


class _Marked(NamedTuple):
    """What the reader of a trace needs to know of the marked call."""

    marker: str
    import_path: tuple[str, ...]


class _Story:
    """What is known so far, kept also when the next question ends the probe."""

    def __init__(self) -> None:
        self.single_point: SinglePoint | None = None
        self.runs: list[Run] = []
        self.io: IoVerdict | None = None


def _ask(bench: Workbench, reproduction: Reproduction, trace: Path, story: _Story) -> None:
    if not reproduction.stable:
        raise _ExcludedError("repeatability", reproduction.reason, reproduction.evidence)
    fixed = bench.tree("ground-truth", bench.instance.patch)
    try:
        point = find_single_point(bench, fixed)
    except Underivable as error:
        raise _ExcludedError("repeatability", "cannot-derive", str(error)) from None
    story.single_point = point
    _runs_alone(bench, point, fixed, story)
    _does_no_io(trace, _repeats(bench, point, trace, story), story)


def _runs_alone(bench: Workbench, point: SinglePoint, fixed: Path, story: _Story) -> None:
    base = bench.tree("base", None)
    for what, tree, should_pass in (("ground truth", fixed, True), ("base", base, False)):
        point.edit(tree, decorated=False)
        done = bench.run(point.shell, tree, timeout=bench.config.timeouts.single_point)
        run = record(f"{what}, single point", point.shell, done)
        story.runs.append(run)
        failure = point.failure(done, bench.instance)
        if should_pass and failure is not None:
            raise _ExcludedError("repeatability", "not-single-point", f"{run.summary}: {failure}")
        if not should_pass and failure is None:
            raise _ExcludedError("repeatability", "base-passes", f"{run.summary}: the test passes without the patch")


def _repeats(bench: Workbench, point: SinglePoint, trace: Path, story: _Story) -> _Marked:
    """Run the decorated test under strace; returns what brackets its last call in the trace."""
    tree = bench.tree("decorated", bench.instance.patch)
    point.edit(tree, decorated=True)
    marker = secrets.token_hex(16)
    calls = bench.config.warmup + 1
    done = _traced(bench, point, tree, marker, trace)
    run = record(f"decorated, {calls} calls, traced", point.shell, done)
    story.runs.append(run)
    results = read_results(bench.work / "out" / RESULT)
    if len(results) != 1:
        evidence = f"{run.summary}: the decorated function was called {len(results)} times"
        raise _ExcludedError("repeatability", "not-wrapped", evidence)
    report = parse_report(results[0])
    if isinstance(report, str):
        raise _ExcludedError("repeatability", "not-wrapped", f"{run.summary}: unreadable result: {report}")
    if report.failed is not None:
        reason = "not-repeatable" if report.failed.call > 1 else "not-wrapped"
        raise _ExcludedError("repeatability", reason, f"call {report.failed.call} of {calls}: {report.failed.error}")
    failure = point.failure(done, bench.instance)
    if failure is not None:
        raise _ExcludedError("repeatability", "not-repeatable", f"{run.summary}: {failure}")
    return _Marked(marker, report.import_path or ())


def _traced(bench: Workbench, point: SinglePoint, tree: Path, marker: str, trace: Path) -> Completed:
    tools, out, layout = bench.work / "tools", bench.work / "out", bench.sandbox.layout
    spec = {"mode": "probe", "warmup": bench.config.warmup, "marker": marker, "out": f"{layout.out}/{RESULT}"}
    write_tools(tools, spec)
    out.mkdir(exist_ok=True)
    traced = point.shell.model_copy(update={"argv": (*STRACE, f"{layout.out}/{TRACE}", *point.shell.argv)})
    command = bench.command(traced, tree, timeout=bench.config.timeouts.probe, tools=tools, out=out)
    done = bench.sandbox.run(command, bench.config.sandbox.limits)
    if not (out / TRACE).is_file() or (out / TRACE).is_symlink():
        said = done.output.strip().splitlines()[:1]
        raise MachineError(f"{bench.instance.instance_id}: strace left no log: {said[0] if said else done.ended}")
    shutil.move(out / TRACE, trace)
    return done


def _does_no_io(trace: Path, marked: _Marked, story: _Story) -> None:
    window = read_window(trace, marked.marker, KEPT_CALLS, marked.import_path)
    if isinstance(window, WindowProblem):
        raise _ExcludedError("repeatability", "no-window", f"{window.reason}: {window.detail}")
    story.io = judge(window)
    if story.io.io:
        first = story.io.deciding[0]
        raise _ExcludedError(
            "io", "io", f"{first.kind}: {first.name}({first.arguments[:200]}) at line {first.line} of {trace}"
        )


def read_probes(paths: Iterable[str | Path]) -> dict[str, Probe]:
    """Probes by instance id."""
    probes = (Probe.model_validate_json(Path(path).read_bytes()) for path in paths)
    return {probe.instance_id: probe for probe in probes}
