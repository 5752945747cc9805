"""What an emulated machine prints."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from debian_roots import ALONE

STARTS = 4
START_SECONDS = 120
_POLL_SECONDS = 0.5


def printed_by(argv: Sequence[str | Path], seconds: float, alive: Path | None = None) -> str:
    """Everything that an emulator printed until its machine was turned off, or for so long, and then says so.

    The kernel of a machine of 64 CPUs, emulated by two, hangs in one of eight starts. ``alive`` is a file in which
    something is as soon as it has come up: the machine is started again where that takes too long.
    """
    for _ in range(STARTS):
        with tempfile.TemporaryFile() as printed:
            end = _run(argv, seconds, alive, printed.fileno())
            printed.seek(0)
            text = printed.read().decode("utf-8", "replace") + end
        if alive is None or _has_text(alive):
            break
    return text


def _run(argv: Sequence[str | Path], seconds: float, alive: Path | None, printed: int) -> str:
    """Run an emulator; how it had to be ended, or nothing."""
    started = time.monotonic()
    with subprocess.Popen(
        [*ALONE, *argv], stdin=subprocess.DEVNULL, stdout=printed, stderr=subprocess.STDOUT
    ) as emulator:
        while emulator.poll() is None:
            passed = time.monotonic() - started
            late = passed > START_SECONDS and alive is not None and not _has_text(alive)
            if late or passed > seconds:
                emulator.kill()
                return f"\nstill running after {passed:.0f} s" + late * ", and not up"
            time.sleep(_POLL_SECONDS)
    return ""


def _has_text(file: Path) -> bool:
    return file.exists() and file.stat().st_size > 0
