"""The single point of an instance: the native command narrowed to its one F2P test, and its report."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from patchperf.errors import InputError
from patchperf.sandbox.protocol import Completed
from patchperf.study import logs
from patchperf.study.commands import ShellCommand, single_point_command
from patchperf.study.derivation import Underivable
from patchperf.study.identifiers import Target, Undecided, find_target
from patchperf.study.instance import Instance
from patchperf.study.instrument import hidden_neighbours, hide, insert_decorator
from patchperf.study.listing import listing_command, settle
from patchperf.study.workbench import Workbench


class Report(NamedTuple):
    """What a run of a single point came to: ``tests`` is the runner's count, ``text`` empty or why it is no pass.

    ``kind``: the one test "passed"; it "failed" (or was skipped); the runner ran none or several, "not one"; the
    command was "stopped" at a limit.
    """

    kind: Literal["passed", "failed", "not one", "stopped"]
    tests: int | None
    text: str


class SinglePoint(BaseModel):
    """Which function the F2P test is, and the command that runs it alone.

    ``hidden`` are other test functions of the file that the runner would select as well (it matches substrings): they
    are deleted at the end of the module in every tree, decorated or not.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    test: str
    target: Target
    shell: ShellCommand
    hidden: tuple[str, ...] = ()

    def edit(self, tree: Path, *, decorated: bool) -> None:
        """Make the test file of a tree run this one test, wrapped in our decorator if asked for."""
        file = _inside(tree, self.target.file)
        source = _text(file.read_bytes())
        edited = insert_decorator(source, self.target.qualname) if decorated else source
        file.write_bytes(hide(edited, self.hidden).encode("utf-8", "surrogateescape"))

    @contextmanager
    def edited(self, tree: Path, *, decorated: bool) -> Iterator[tuple[str, str]]:
        """Edit as ``edit`` does, and put the file back in the end; gives its text before and after the edit.

        Where a run has taken the file away, it is not put back. Raises InputError where it is not there to begin with.
        """
        file = _inside(tree, self.target.file)
        before = file.read_bytes()
        self.edit(tree, decorated=decorated)
        try:
            yield _text(before), _text(file.read_bytes())
        finally:
            with suppress(InputError, OSError):
                _inside(tree, self.target.file).write_bytes(before)

    def report(self, done: Completed, instance: Instance) -> Report:
        """What came of the command, from its end and what its runner printed.

        A test that did not fail but did not pass either (skipped) shows in its status or in the runner's count. Other
        statuses in the output are not the test's: it may run a runner itself. pytest counts a test twice that fails and
        whose teardown fails as well, or that passes and whose teardown fails.
        """
        if done.ended != "exit":
            return Report("stopped", None, f"stopped: {done.ended}")
        ran = logs.tests_run(done.output, self.target.runner)
        statuses = logs.parse_log(done.output, instance)
        twice = ran == 2 and len(statuses) == 1 and done.exit_code != 0
        if ran != 1 and not twice:
            return Report("not one", ran, f"the runner reports {'no number of' if ran is None else ran} tests, not 1")
        if done.exit_code != 0:
            return Report("failed", ran, f"exit code {done.exit_code}")
        if statuses and not set(statuses.values()) & {"PASSED", "XFAIL"}:
            return Report("failed", ran, f"the runner reports {', '.join(sorted(set(statuses.values())))}")
        if logs.all_skipped(done.output, self.target.runner):
            return Report("failed", ran, "the runner reports that the test was skipped")
        return Report("passed", ran, "")

    def failure(self, done: Completed, instance: Instance) -> str | None:
        """None if the runner reports exactly one test and that it passed; else what it reports instead."""
        return self.report(done, instance).text or None


def _inside(tree: Path, file: str) -> Path:
    """A file of a tree in which untrusted code has run: never a link's target outside of it."""
    path = tree / file
    if not path.is_file() or not path.resolve().is_relative_to(tree.resolve()):
        raise InputError(f"{file}: no file inside {tree}")
    return path


def _text(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")


def find_single_point(bench: Workbench, tree: Path) -> SinglePoint:
    """The single point in a tree that holds ground truth and tests; raises Underivable with what was tried.

    Where the identifier alone does not settle which test it is, the runner is asked, which may leave something behind.
    """
    (test,) = bench.instance.fail_to_pass
    try:
        target = find_target(bench.instance, test, tree)
    except Undecided as question:
        listing = listing_command(bench.instance, question, tree, bench.executables)
        listed = bench.run(listing, tree, timeout=bench.config.timeouts.suite)
        if listed.ended != "exit":
            raise Underivable(f"{question}; what the runner lists is cut short: {listed.ended}") from None
        target = settle(bench.instance, test, question, tree, listed.output)
    hidden: tuple[str, ...] = ()
    if target.runner == "sympy":
        hidden = hidden_neighbours((tree / target.file).read_text("utf-8", "surrogateescape"), target.qualname)
    return SinglePoint(
        test=test,
        target=target,
        shell=single_point_command(bench.instance, target, tree, bench.executables),
        hidden=hidden,
    )
