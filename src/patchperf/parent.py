"""A process that does not outlive the one that started it."""

from __future__ import annotations

import ctypes
import os
import signal

PR_SET_PDEATHSIG = 1


def end_with_parent(parent: int | None = None) -> None:
    """Have the kernel kill this process when the thread that started it ends.

    Ends it at once if that has happened already: ``parent`` is the process that is meant to be there (None: any but
    init).
    """
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent if parent else os.getppid() == 1:
        raise SystemExit("error: the workflow that started this process is gone")
