"""The record of one command that was run: enough to repeat it by hand, and to see how it ended, if it ran at all."""

from __future__ import annotations

import re
import shlex

from pydantic import BaseModel, ConfigDict

from patchperf.sandbox.protocol import Completed
from patchperf.study.commands import ShellCommand

TAIL_CHARACTERS = 4000
LINE_CHARACTERS = 200

_KILLED = {-9: "SIGKILL", -15: "SIGTERM"}
_NOT_RUN = (126, 127)
_OUT_OF_RESOURCES = re.compile(
    r"^(?:E +)?((?:MemoryError|RuntimeError: can't start new thread|OSError: \[Errno (?:12|24|28)\]"
    r"|BlockingIOError: \[Errno 11\]).*)$",
    re.MULTILINE,
)


class Run(BaseModel):
    """What ran, how long (seconds), how it ended, how many tests its runner reports, the last of what it printed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    what: str
    command: str
    ended: str
    exit_code: int
    seconds: float
    tests_run: int | None = None
    tail: str = ""

    @property
    def end(self) -> str:
        """How it ended, in a few words."""
        return f"exit code {self.exit_code}" if self.ended == "exit" else f"stopped: {self.ended}"

    @property
    def summary(self) -> str:
        """One line for a ledger or an error."""
        return f"{self.what}: {self.end} after {self.seconds:.1f} s"


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


def infrastructure_failure(done: Completed, *, reported: bool) -> str | None:
    """In one line why a finished command says nothing about tests, and not for want of time; None if it may.

    ``reported`` is whether its test runner printed a report. Ours are: a limit of the sandbox, a kill from outside,
    and a runner that ended, not well, before it could report anything (no interpreter, a missing package).
    """
    if done.ended == "timeout":
        return None
    if done.ended != "exit":
        return f"the limit on {done.ended} was passed"
    if done.exit_code in _KILLED:
        return f"killed by {_KILLED[done.exit_code]}"
    if reported or done.exit_code == 0:
        return None
    what = "could not be started" if done.exit_code in _NOT_RUN else "ended before its report"
    return f"the test runner {what} (exit code {done.exit_code}): {_complaint(done.output)}"


def _complaint(output: str) -> str:
    """The last line that says "error: " in any case, else the last line."""
    complaints = [line for line in plain(output).split("\n") if re.search(r"\berror: |Error: ", line, re.IGNORECASE)]
    return complaints[-1].strip()[:LINE_CHARACTERS] if complaints else last_line(output)


def exhausted(output: str) -> str | None:
    """The first uncaught exception in an output that tells of used-up memory, threads, descriptors or disk."""
    found = _OUT_OF_RESOURCES.search(plain(output))
    return found[1].strip()[:LINE_CHARACTERS] if found else None


def last_line(output: str) -> str:
    """The last line with anything on it, cut to 200 characters; a word instead where nothing was printed."""
    lines = plain(output).split("\n")
    return next((line.strip()[:LINE_CHARACTERS] for line in reversed(lines) if line.strip()), "no output")


def plain(text: str) -> str:
    """A text without a terminal's colours and without control characters but line ends and tabs."""
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", "", re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", text))
