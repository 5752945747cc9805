"""Where the processes of a command run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Placement:
    """On which logical CPUs (any, if none are given), and below which control group (version 2; None: the usual)."""

    cpus: tuple[int, ...] = ()
    cgroup: Path | None = None

    @contextmanager
    def starting(self) -> Iterator[None]:
        """What this thread starts meanwhile runs on the CPUs, with all that it starts in turn."""
        if not self.cpus:
            yield
            return
        usual = os.sched_getaffinity(0)
        os.sched_setaffinity(0, self.cpus)
        try:
            yield
        finally:
            os.sched_setaffinity(0, usual)


ANYWHERE = Placement()
