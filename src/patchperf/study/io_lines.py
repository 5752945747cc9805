"""Which lines of the test lead to the system calls that decided: a second traced run, in which each line is marked."""

from __future__ import annotations

import secrets
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from patchperf.errors import MachineError
from patchperf.study import runs
from patchperf.study.decorated import Decorated, ProbedTest, run_decorated
from patchperf.study.runs import Run
from patchperf.study.syscalls import Kind
from patchperf.study.trace import WindowProblem, deciding_lines
from patchperf.study.witness import read_account

LINES_KEPT = 50
ARGUMENT_CHARACTERS = 200


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class IoLine(_Part):
    """A system call that does I/O, and the line of the benchmark's test file that led to it; 0 where none did."""

    line: int
    name: str
    kind: Kind
    arguments: str


class IoLines(_Part):
    """The first call of each line, name and kind, in their order, at most 50; ``note`` says why there are none."""

    lines: tuple[IoLine, ...] = ()
    note: str = ""
    run: Run | None = None


def find_io_lines(test: ProbedTest) -> IoLines:
    """Trace the decorated test once more, with marks; what goes wrong is a note, for the verdict is known without."""
    marker, trace = secrets.token_hex(16), test.bench.work / "lines.strace"
    mode = {"mode": "lines", "warmup": test.bench.config.warmup, "marker": marker}
    try:
        marked = run_decorated(test, mode, trace=trace)
    except MachineError as error:
        return IoLines(note=str(error))
    try:
        lines, note = _read(marked, trace, marker)
    finally:
        trace.unlink()
    return IoLines(
        lines=lines, note=note, run=runs.record("decorated, lines marked, traced", test.point.shell, marked.done)
    )


def _read(marked: Decorated, trace: Path, marker: str) -> tuple[tuple[IoLine, ...], str]:
    account = read_account(marked.results[0]) if len(marked.results) == 1 else f"{len(marked.results)} results"
    if isinstance(account, str):
        return (), f"the run with marked lines failed ({marked.done.ended}): {account}"
    if account.report.failed is not None:
        return (), f"the test fails when its lines are marked: {account.report.failed.error}"
    found = deciding_lines(trace, marker, account.report.import_path or ())
    if isinstance(found, WindowProblem):
        return (), f"{found.reason}: {found.detail}"
    if not found:
        return (), "no call decides when the lines are marked"
    first: dict[tuple[int, str, Kind], IoLine] = {}
    for line, call, kind in found:
        there = marked.original_line(line) if line else 0
        told = IoLine(line=there, name=call.name, kind=kind, arguments=call.arguments[:ARGUMENT_CHARACTERS])
        first.setdefault((there, call.name, kind), told)
    return tuple(first.values())[:LINES_KEPT], ""
