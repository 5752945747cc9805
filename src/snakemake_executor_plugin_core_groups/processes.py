"""The processes of leased jobs: each a session of its own, which is ended as a whole."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Mapping
from concurrent.futures import CancelledError
from contextlib import suppress

REPORT = "PATCHPERF_REPORT"
"""Variable of a job: the descriptor that its Snakemake tells its errors to."""

STEPS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
"""What a cancelled job gets, one after the other as far as needed."""


class Processes:
    """Those that run now; after ``cancel`` none starts any more."""

    def __init__(self) -> None:
        self._change = threading.Condition()
        self._running: set[int] = set()
        self._cancelled = False

    @property
    def cancelled(self) -> bool:
        """Whether ``cancel`` was called."""
        return self._cancelled

    def pause(self, seconds: float) -> None:
        """Wait; raises CancelledError as soon as all is cancelled."""
        with self._change:
            if self._change.wait_for(lambda: self._cancelled, seconds):
                raise CancelledError

    def run(self, command: str, variables: Mapping[str, str], stdin: int, *others: int) -> int:
        """Run a shell command to its end and return its exit code, negative for a signal.

        It gets ``stdin`` and, under their own numbers, the other descriptors. What is left of its process group at its
        end is killed. Raises CancelledError if all is cancelled.
        """
        with self._change:
            if self._cancelled:
                raise CancelledError
            process = subprocess.Popen(
                command,
                shell=True,
                stdin=stdin,
                pass_fds=others,
                env={**os.environ, **variables},
                start_new_session=True,
            )
            self._running.add(process.pid)
        # As long as it is not reaped, its number is nobody else's.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        with self._change:
            _signal(process.pid, signal.SIGKILL)
            self._running.remove(process.pid)
            self._change.notify_all()
        return process.wait()

    def cancel(self, grace: float) -> None:
        """End all, waiting for each step of STEPS so many seconds; Ctrl-C during that kills at once."""
        with self._change:
            self._cancelled = True
            self._change.notify_all()
        with suppress(KeyboardInterrupt):
            for step in STEPS[:-1]:
                if self._end(step, grace):
                    return
        self._end(STEPS[-1], None)

    def _end(self, step: signal.Signals, seconds: float | None) -> bool:
        """Send a signal to all; whether they have ended in time."""
        with self._change:
            for pid in self._running:
                _signal(pid, step)
            return self._change.wait_for(lambda: not self._running, seconds)


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, number)
