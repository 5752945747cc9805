"""From the regions that an emulator counted to the reading of a measured loop."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from patchperf.counters.protocol import Backend, Count, Region

READ_LIMIT = 256 << 20


STEADY = 0.01
"""Largest difference between the calls of a counted loop's halves that goes unsaid."""


def loop_count(told: Count, regions: Sequence[Region], repetitions: Sequence[int]) -> Count:
    """The loop's reading, given what the measured process told and the regions counted.

    The process marks the loop with no repetitions, then its parts, of ``repetitions`` each. What the first one counts
    (the marks, the call of the loop) is the constant part of every other.
    """
    if told.problem is not None:
        return told
    if not regions:
        return told.model_copy(update={"problem": "nothing was counted: the program did not run under the emulator"})
    processes = len({region.process for region in regions})
    if len(regions) != 1 + len(repetitions) or processes != 1:
        problem = f"{len(regions)} regions of {processes} processes were counted, not {1 + len(repetitions)} of one"
        return told.model_copy(update={"problem": problem})
    empty, *loop = regions
    values = [part.instructions - empty.instructions for part in loop]
    started = [part.processes for part in loop]
    return told.model_copy(
        update={
            "value": sum(values),
            "parts": tuple(zip(repetitions, values, strict=True)),
            "constant": empty.instructions,
            "processes": None if None in started else sum(filter(None, started)),
            "threaded": any(part.threaded for part in loop) if loop[0].threaded is not None else None,
        }
    )


def drift(count: Count) -> float | None:
    """By what share a call in the second half of a counted loop takes more than one in the first; None if unknown."""
    if len(count.parts) != 2 or count.parts[0][1] <= 0:
        return None
    (first, early), (second, late) = count.parts
    return late / second / (early / first) - 1


def distrust_simulated(backend: Backend, count: Count) -> str | None:
    """Not read, nothing counted, or by another backend."""
    if count.backend != backend:
        return f"wrong-backend: counted by {count.backend}, not by {backend}"
    if count.problem is not None or count.value is None:
        return f"counter-unreadable: {count.problem or 'no value'}"
    if count.value <= 0:
        return "counter-unreadable: counted nothing"
    return None


def read_plain(path: Path) -> bytes:
    """A file that untrusted code could have put there: no link is followed, nothing but a regular file is read.

    Empty where there is no such file, or more than 256 MiB.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > READ_LIMIT:
            return b""
        return file.read(READ_LIMIT)
