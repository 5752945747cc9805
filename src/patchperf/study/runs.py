"""The record of one command that was run: enough to repeat it by hand and to see how it ended."""

from __future__ import annotations

import shlex

from pydantic import BaseModel, ConfigDict

from patchperf.sandbox.protocol import Completed
from patchperf.study.commands import ShellCommand

TAIL_CHARACTERS = 4000


class Run(BaseModel):
    """What ran, how long (seconds), how it ended, and the last of what it printed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    what: str
    command: str
    ended: str
    exit_code: int
    seconds: float
    tests_run: int | None = None
    tail: str = ""

    @property
    def summary(self) -> str:
        """One line for a ledger or an error."""
        end = f"exit code {self.exit_code}" if self.ended == "exit" else f"stopped: {self.ended}"
        return f"{self.what}: {end} after {self.seconds:.1f} s"


def record(what: str, shell: ShellCommand, done: Completed, tests_run: int | None = None) -> Run:
    """The record of a finished command."""
    assignments = [f"{name}={shlex.quote(value)}" for name, value in shell.environment.items()]
    return Run(
        what=what,
        command=" ".join([*assignments, shlex.join(shell.argv)]),
        ended=done.ended,
        exit_code=done.exit_code,
        seconds=round(done.seconds, 3),
        tests_run=tests_run,
        tail=done.output[-TAIL_CHARACTERS:],
    )
