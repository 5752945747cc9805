"""From the regions that an emulator counted to the reading of a measured loop."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from patchperf.counters.protocol import Backend, Count, Region

READ_LIMIT = 256 << 20


def loop_count(told: Count, regions: Sequence[Region]) -> Count:
    """The loop's reading, given what the measured process told and the regions counted.

    The process marks two: the same loop with no repetitions, then with all of them. What the first one counts (the
    marks, the call of the loop) is the constant part of the second.
    """
    if told.problem is not None:
        return told
    if not regions:
        return told.model_copy(update={"problem": "nothing was counted: the program did not run under the emulator"})
    if len(regions) != 2 or len({region.process for region in regions}) != 1:
        processes = len({region.process for region in regions})
        problem = f"{len(regions)} regions of {processes} processes were counted, not 2 of one"
        return told.model_copy(update={"problem": problem})
    empty, loop = regions
    return told.model_copy(
        update={
            "value": loop.instructions - empty.instructions,
            "constant": empty.instructions,
            "processes": loop.processes,
            "threaded": loop.threaded,
        }
    )


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
