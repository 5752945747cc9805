"""Memory and process limits for a sum of processes where no control group enforces them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from patchperf.sandbox.descendants import proportional_mb, usage
from patchperf.sandbox.protocol import Limits


class Watchdog:
    """Looks at a command's processes whenever asked and remembers the most memory seen; it is asked as a Group is.

    A look costs some 30 microseconds per process. Only where resident memory, which counts shared pages twice,
    passes the limit is the exact and dearer figure read.
    """

    def __init__(self, processes: Callable[[], Iterable[int]], limits: Limits) -> None:
        self._processes = processes
        self._limits = limits
        self._peak_mb = 0.0

    def exceeded(self) -> Literal["memory", "processes"] | None:
        """The limit that the processes' sum passes at this moment, if any."""
        pids = tuple(self._processes())
        now = usage(pids)
        resident = now.resident_mb
        if resident > self._limits.memory_mb:
            resident = proportional_mb(pids)
        self._peak_mb = max(resident, self._peak_mb)
        if resident > self._limits.memory_mb:
            return "memory"
        return "processes" if now.tasks > self._limits.processes else None

    def peak_memory_mb(self) -> float | None:
        """The most memory seen in MiB; None if no look came in time."""
        return self._peak_mb or None
