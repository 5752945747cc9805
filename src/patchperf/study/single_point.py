"""The single point of an instance: the native command narrowed to its one F2P test, and its report."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from patchperf.sandbox.protocol import Completed
from patchperf.study import logs
from patchperf.study.commands import ShellCommand, single_point_command
from patchperf.study.identifiers import Target, find_target
from patchperf.study.instance import Instance
from patchperf.study.instrument import hidden_neighbours, hide, insert_decorator
from patchperf.study.workbench import Workbench


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
        file = tree / self.target.file
        source = file.read_bytes().decode("utf-8", "surrogateescape")
        edited = insert_decorator(source, self.target.qualname) if decorated else source
        file.write_bytes(hide(edited, self.hidden).encode("utf-8", "surrogateescape"))

    def failure(self, done: Completed, instance: Instance) -> str | None:
        """None if the runner reports exactly one test and that it passed; else what it reports instead.

        A test that did not fail but did not pass either (skipped) shows in its status alone. Other statuses in the
        output are not the test's: it may run a runner itself.
        """
        if done.ended != "exit":
            return f"stopped: {done.ended}"
        ran = logs.tests_run(done.output, self.target.runner)
        if ran != 1:
            return f"the runner reports {'no number of' if ran is None else ran} tests instead of 1"
        if done.exit_code != 0:
            return f"exit code {done.exit_code}"
        statuses = set(logs.parse_log(done.output, instance).values())
        if statuses and not statuses & {"PASSED", "XFAIL"}:
            return f"the runner reports {', '.join(sorted(statuses))}"
        return None


def find_single_point(bench: Workbench, tree: Path) -> SinglePoint:
    """The single point in a tree that holds the benchmark's tests; raises Underivable with what was tried."""
    (test,) = bench.instance.fail_to_pass
    target = find_target(bench.instance, test, tree)
    hidden: tuple[str, ...] = ()
    if target.runner == "sympy":
        hidden = hidden_neighbours((tree / target.file).read_text("utf-8", "surrogateescape"), target.qualname)
    return SinglePoint(
        test=test,
        target=target,
        shell=single_point_command(bench.instance, target, tree, bench.executables),
        hidden=hidden,
    )
