"""Reading the logs of jobs: their last lines, and how far a running job says it is."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

from snakemake_logger_plugin_patchperf.progress import Step

STEP = re.compile(r"\bdone=(\d+), total=(\d+)\b")
"""What a job writes into its log to say how far it is."""

TAIL_BYTES = 64 * 1024
STEP_BYTES = 4 * 1024


def last_lines(path: str, lines: int) -> list[str]:
    """The last lines of a log, as far as they are among its last 64 kB; says so if there is nothing to read."""
    try:
        text = _tail(path, TAIL_BYTES)
    except OSError as error:
        return [f"(cannot be read: {error.strerror})"]
    return text.splitlines()[-lines:] or ["(empty)"]


def last_step(path: str, seconds: float) -> Step | None:
    """What the log of a job that runs for so long said last about how far it is; None if it did not, or not yet.

    A job that still waits for its turn has the log of an earlier run.
    """
    try:
        if time.time() - Path(path).stat().st_mtime > seconds:
            return None
        text = _tail(path, STEP_BYTES)
    except OSError:
        return None
    found = STEP.findall(text)
    return Step(*map(int, found[-1])) if found else None


def _tail(path: str, size: int) -> str:
    with Path(path).open("rb") as log:
        log.seek(max(os.fstat(log.fileno()).st_size - size, 0))
        return log.read().decode("utf-8", errors="replace")
