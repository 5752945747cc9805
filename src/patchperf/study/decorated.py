"""Running the decorated single point on the ground truth, each time in an unchanged tree, and what comes back."""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from patchperf.errors import MachineError
from patchperf.measure.tools import RESULT, read_results, write_tools
from patchperf.sandbox.files import erase
from patchperf.sandbox.protocol import Completed
from patchperf.study.instrument import original_line
from patchperf.study.reused_tree import ReusedTree
from patchperf.study.single_point import SinglePoint
from patchperf.study.workbench import Workbench

TRACE = "trace"
PROGRESS = "progress"


@dataclass(frozen=True)
class ProbedTest:
    """A single point, the workbench it is run on, and the ground truth's tree that it is run in."""

    bench: Workbench
    point: SinglePoint
    fixed: ReusedTree


@dataclass(frozen=True)
class Decorated:
    """A run of the decorated test and its records.

    ``begun`` is how many calls of the test were begun (modes "probe" and "lines"); ``source`` and ``edited`` are the
    test file without and with our edit.
    """

    done: Completed
    results: tuple[dict[str, Any], ...]
    begun: int
    source: str
    edited: str

    def original_line(self, line: int) -> int:
        """The line of the benchmark's test file that a line of the decorated one is."""
        return original_line(self.source, self.edited, line)


def run_decorated(
    test: ProbedTest, mode: Mapping[str, Any], *, trace: Path | None = None, timeout: float = math.inf
) -> Decorated:
    """Run the decorated test in a mode of the in-process module (the keys of its docstring, without files).

    The tree is left as the run left it, without the decorator. With ``trace``, under strace, whose log is put there.
    ``timeout`` (seconds) can only shorten that of probes. Raises Underivable where the decorator cannot be put in,
    MachineError where strace leaves no log.
    """
    bench, point = test.bench, test.point
    tools, out, layout = bench.work / "tools", bench.work / "out", bench.sandbox.layout
    write_tools(tools, {**mode, "out": f"{layout.out}/{RESULT}", "progress": f"{layout.out}/{PROGRESS}"})
    erase(out)
    out.mkdir()
    shell = point.shell
    if trace is not None:
        shell = bench.traced(shell, f"{layout.out}/{TRACE}")
    tree = test.fixed.fresh()
    with point.edited(tree, decorated=True) as (source, edited):
        seconds = min(timeout, bench.config.timeouts.probe)
        command = bench.command(shell, tree, timeout=seconds, tools=tools, out=out)
        done = bench.sandbox.run(command, bench.config.sandbox.limits)
    if trace is not None:
        _keep_trace(bench, done, out / TRACE, trace)
    progress = out / PROGRESS
    begun = progress.stat().st_size if progress.is_file() else 0
    return Decorated(done, tuple(read_results(out / RESULT)), begun, source, edited)


def _keep_trace(bench: Workbench, done: Completed, log: Path, trace: Path) -> None:
    if not log.is_file() or log.is_symlink():
        said = done.output.strip().splitlines()[:1]
        raise MachineError(f"{bench.instance.instance_id}: strace left no log: {said[0] if said else done.ended}")
    shutil.move(log, trace)
