"""The probe: is the one F2P test a single point, does it repeat within one process, does it do I/O?

Order of the questions: can the test be found and run alone; does it fail on the base and pass on the ground truth;
does the decorated test survive its warm-up and one call more; which system calls does that last call make. Where the
answer excludes, one more is asked: where the residue lies that a later call stumbles over, which lines do the I/O.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from patchperf.study import runs
from patchperf.study.decorated import Decorated, ProbedTest, run_decorated
from patchperf.study.derivation import Underivable
from patchperf.study.io_lines import IoLine, find_io_lines
from patchperf.study.repeatability import judge_calls
from patchperf.study.reproduction import Reproduction
from patchperf.study.residue import Residue, find_residue
from patchperf.study.reused_tree import ReusedTree
from patchperf.study.runs import Run
from patchperf.study.single_point import Report, SinglePoint, find_single_point
from patchperf.study.syscalls import IoVerdict, judge
from patchperf.study.trace import Window, WindowProblem, read_window
from patchperf.study.witness import Account, read_account
from patchperf.study.workbench import BrokenInstance, Workbench

KEPT_CALLS = 200
ALONE = {
    "failed": "depends-on-other-tests",
    "not one": "not-single-point",
    "stopped": "single-point-stopped",
}
"""Why a single point is none, by what came of it on the ground truth, which passes when all tests run."""

Stage = Literal["repeatability", "io", "corpus"]


class Probe(BaseModel):
    """The verdict on one single-test instance: the stage it reached, and why it was excluded there, if it was.

    ``residue`` is set where a later call failed. ``io_lines`` are lines of the benchmark's test file with the calls
    that decided on I/O; where they could not be found, ``io_lines_note`` says why.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    instance_id: str
    spec: str
    stage: Stage
    reason: str
    evidence: str
    single_point: SinglePoint | None = None
    runs: tuple[Run, ...] = ()
    residue: Residue | None = None
    io: IoVerdict | None = None
    io_lines: tuple[IoLine, ...] = ()
    io_lines_note: str = ""
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
    stage: Stage
    try:
        _ask(bench, reproduction, trace, story)
        stage, reason, evidence = "corpus", "", "one repeatable test without I/O"
    except _ExcludedError as verdict:
        stage, reason, evidence = verdict.stage, verdict.reason, verdict.evidence
    except Underivable as error:
        stage, reason, evidence = "repeatability", "cannot-derive", str(error)
    except BrokenInstance as error:
        stage, reason, evidence = "repeatability", error.reason, error.detail
    return Probe(
        instance_id=bench.instance.instance_id,
        spec=spec,
        stage=stage,
        reason=reason,
        evidence=evidence,
        single_point=story.single_point,
        runs=tuple(story.runs),
        residue=story.residue,
        io=story.io,
        io_lines=story.io_lines,
        io_lines_note=story.io_lines_note,
        confinement=bench.sandbox.confinement,
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
        self.residue: Residue | None = None
        self.io: IoVerdict | None = None
        self.io_lines: tuple[IoLine, ...] = ()
        self.io_lines_note = ""


def _ask(bench: Workbench, reproduction: Reproduction, trace: Path, story: _Story) -> None:
    if not reproduction.stable:
        raise _ExcludedError("repeatability", reproduction.reason, reproduction.evidence)
    fixed = ReusedTree(bench, "ground-truth", bench.instance.patch)
    point = find_single_point(bench, fixed.path)
    story.single_point = point
    test = ProbedTest(bench, point, fixed)
    _runs_alone(test, story)
    _does_no_io(test, trace, _repeats(test, trace, story), story)


def _runs_alone(test: ProbedTest, story: _Story) -> None:
    run, report = _alone(test, "ground truth", test.fixed.fresh())
    story.runs.append(run)
    if report.kind != "passed":
        alone = f"{run.what}: {report.text}; last line: {runs.last_line(run.tail)}"
        raise _ExcludedError("repeatability", ALONE[report.kind], alone)
    run, report = _alone(test, "base", test.bench.tree("base", None))
    story.runs.append(run)
    if report.kind == "passed":
        raise _ExcludedError("repeatability", "base-passes", f"{run.summary}: the test passes without the patch")


def _alone(test: ProbedTest, what: str, tree: Path) -> tuple[Run, Report]:
    bench, point = test.bench, test.point
    with point.edited(tree, decorated=False):
        done = bench.run(point.shell, tree, timeout=bench.config.timeouts.single_point)
    report = point.report(done, bench.instance)
    return runs.record(f"{what}, single point", point.shell, done, report.tests), report


def _repeats(test: ProbedTest, trace: Path, story: _Story) -> _Marked:
    """Run the decorated test under strace; returns what brackets its last call in the trace."""
    bench, point = test.bench, test.point
    marker, calls = secrets.token_hex(16), bench.config.warmup + 1
    mode = {"mode": "probe", "warmup": bench.config.warmup, "marker": marker}
    decorated = run_decorated(test, mode, trace=trace)
    report = point.report(decorated.done, bench.instance)
    run = runs.record(f"decorated, {calls} calls, traced", point.shell, decorated.done, report.tests)
    story.runs.append(run)
    accounts = [read_account(result) for result in decorated.results]
    reason, evidence = judge_calls(accounts, report, calls, decorated.begun)
    first = accounts[0] if accounts else ""
    if isinstance(first, Account):
        marked = _Marked(marker, first.report.import_path or ())
        if not reason:
            return marked
        if reason == "probe-stopped" and not isinstance(_window(trace, marked), WindowProblem):
            _does_no_io(test, trace, marked, story)
    if isinstance(first, Account) and first.report.failed is not None:
        evidence += _where(point, decorated, first)
        if reason == "not-repeatable" and first.report.failed.call > 1:
            story.residue, told = find_residue(test, decorated, first.report.failed.call, first.witness)
            story.runs += told
            evidence += f"; {story.residue.summary}"
    else:
        evidence += f"; last line: {runs.last_line(decorated.done.output)}"
    raise _ExcludedError("repeatability", reason, evidence)


def _where(point: SinglePoint, decorated: Decorated, account: Account) -> str:
    """Where a call failed: the line of the test, and that of the code where it was raised, if elsewhere."""
    raised = account.witness.raised
    if raised is None or raised.test_line is None:
        return ""
    here = f", from line {decorated.original_line(raised.test_line)} of {point.target.file}"
    if raised.place is None:
        return here
    file, line, function = raised.place
    if line == raised.test_line and file.endswith(point.target.file):
        return here
    return f"{here}, in {function} ({file}:{line})"


def _window(trace: Path, marked: _Marked) -> Window | WindowProblem:
    return read_window(trace, marked.marker, KEPT_CALLS, marked.import_path)


def _does_no_io(test: ProbedTest, trace: Path, marked: _Marked, story: _Story) -> None:
    window = _window(trace, marked)
    if isinstance(window, WindowProblem):
        raise _ExcludedError("repeatability", "no-window", f"{window.reason}: {window.detail}")
    story.io = judge(window)
    telling = story.io.telling
    if telling is None:
        return
    found = find_io_lines(test)
    story.runs += [found.run] if found.run else []
    story.io_lines, story.io_lines_note = found.lines, found.note
    like = (telling.name, telling.kind)
    line = next((one.line for one in found.lines if one.line and (one.name, one.kind) == like), 0)
    from_where = f" from line {line} of {test.point.target.file}," if line else ""
    raise _ExcludedError(
        "io",
        "io",
        f"{telling.kind}: {telling.name}({telling.arguments[:200]}){from_where} at line {telling.line} of {trace}",
    )


def read_probes(paths: Iterable[str | Path]) -> dict[str, Probe]:
    """Probes by instance id."""
    probes = (Probe.model_validate_json(Path(path).read_bytes()) for path in paths)
    return {probe.instance_id: probe for probe in probes}
