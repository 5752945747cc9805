"""What earlier calls of a test left behind that makes a later one fail: inside the process, or outside of it?

Two experiments tell, the cheap one first:

1. The test undecorated, in a fresh process, in the tree that the failed run left. If it fails too, the residue lies in
   the tree.
2. The same number of calls, each in a child process of its own (forked from the one that the runner called). What a
   call leaves in memory goes with its child; files (also in HOME, TMPDIR and the test's own folders) and other
   processes stay. If a later child fails, the residue is outside; if all pass, it is inside.

What neither can tell: threads, and what they serve, go with a child as well, although they are no state of the test's
own code. So where calls leave threads behind and all children pass, it stays unknown; an address in use is a server's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from patchperf.errors import InputError
from patchperf.sandbox import trees
from patchperf.sandbox.git import git
from patchperf.study import runs
from patchperf.study.decorated import Decorated, ProbedTest, run_decorated
from patchperf.study.reused_tree import ReusedTree
from patchperf.study.runs import Run
from patchperf.study.single_point import Report
from patchperf.study.witness import Witness

FILES_KEPT = 20
SECONDS_MORE, TIMES_MORE = 20, 10
"""How long calls in children may take, measured by the run that failed: forking may leave a lock held for ever."""

Where = Literal["inside", "outside", "unknown"]


class Residue(BaseModel):
    """Where what made a call fail lies, as far as it can be told, and from what.

    ``inside``: state of the process (module globals, caches, rows of a database in memory). ``outside``: files,
    servers, other processes. ``files`` (at most 20, relative to the tree) are what the failed run changed in its tree;
    ``threads``, ``children`` and ``descriptors`` how many more of them the process had when it failed than before.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    where: Where
    evidence: str
    files: tuple[str, ...] = ()
    threads: int = 0
    children: int = 0
    descriptors: int = 0

    @property
    def summary(self) -> str:
        """One line for the ledger."""
        left = [f"{count} {name}" for name, count in self._left if count > 0]
        also = f"; left behind: {', '.join(left)}" if left else ""
        return f"residue {self.where}: {self.evidence}{also}"

    @property
    def _left(self) -> tuple[tuple[str, int], ...]:
        return (
            ("files in the tree", len(self.files)),
            ("threads", self.threads),
            ("child processes", self.children),
            ("descriptors", self.descriptors),
        )


class Found(NamedTuple):
    """A residue and the runs that told."""

    residue: Residue
    runs: tuple[Run, ...]


def find_residue(test: ProbedTest, failed: Decorated, call: int, witness: Witness) -> Found:
    """The residue that made a call (1-based) of a decorated run fail; the tree has to be as that run left it."""
    files = changed_files(test.fixed)
    where, evidence, told = _experiment(test, failed, call, witness)
    residue = Residue(
        where=where,
        evidence=evidence,
        files=files,
        threads=witness.grown("threads"),
        children=witness.grown("children"),
        descriptors=witness.grown("descriptors"),
    )
    return Found(residue, told)


def _experiment(test: ProbedTest, failed: Decorated, call: int, witness: Witness) -> tuple[Where, str, tuple[Run, ...]]:
    try:
        again, report = _run_undecorated(test)
    except InputError as error:
        return "outside", f"the run took the test away: {error}", ()
    if report.kind != "passed":
        return *judge_fresh(report), (again,)
    enough = SECONDS_MORE + TIMES_MORE * failed.done.seconds
    forked = run_decorated(test, {"mode": "forked", "calls": call}, timeout=enough)
    run = runs.record(f"decorated, {call} calls in a child process each", test.point.shell, forked.done)
    return *judge_children(forked.results, call, witness), (again, run)


def changed_files(fixed: ReusedTree) -> tuple[str, ...]:
    """The files that a run has changed in its tree, without caches; the first 20, or why git cannot tell."""
    try:
        now = trees.tree_digest(fixed.path)
    except InputError as error:
        return (str(error),)
    ours = trees.git_directory(fixed.path)
    raw = git(ours, "diff-tree", "-r", "-z", "--name-only", "--no-renames", fixed.digest, now)
    return tuple(name.decode("utf-8", "backslashreplace") for name in raw.split(b"\0")[:-1][:FILES_KEPT])


def judge_fresh(report: Report) -> tuple[Where, str]:
    """What the first experiment tells where the test did not pass in it."""
    where: Where = "outside" if report.kind == "failed" else "unknown"
    return where, f"in the tree that the run left the test fails in a fresh process too ({report.text})"


def judge_children(results: Sequence[Mapping[str, Any]], calls: int, witness: Witness) -> tuple[Where, str]:
    """What the second experiment tells, from the records of the children that failed and of their parent."""
    failed = next((one for one in results if one.get("failed")), None)
    if failed is not None:
        call, error = failed.get("call"), runs.plain(str(failed["failed"].get("error")))
        if not isinstance(call, int) or call < 2:
            return "unknown", f"in a child process even the first call fails: {error}"
        return "outside", f"call {call} fails also when each call has a child process of its own: {error}"
    if not any(one.get("children") == [0] * calls for one in results):
        return "unknown", "calls in child processes do not come to an end"
    if witness.raised is not None and witness.raised.errno == "EADDRINUSE":
        return "outside", "an address that an earlier call took is in use"
    if witness.grown("threads") > 0:
        return "unknown", "a call passes in a child process, but threads that earlier calls left may have held it up"
    return "inside", "a call passes when the earlier ones were made in child processes"


def _run_undecorated(test: ProbedTest) -> tuple[Run, Report]:
    bench, point = test.bench, test.point
    with point.edited(test.fixed.path, decorated=False):
        done = bench.run(point.shell, test.fixed.path, timeout=bench.config.timeouts.single_point)
    report = point.report(done, bench.instance)
    what = "ground truth, single point, in the tree that the decorated run left"
    return runs.record(what, point.shell, done, report.tests), report
