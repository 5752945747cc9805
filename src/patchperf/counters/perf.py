"""The kernel's own instruction counter (perf_event_open), read inside the measured process.

User mode, over all threads and child processes of the measured process, pinned to the hardware.
"""

from __future__ import annotations

from pathlib import Path

from patchperf.counters.protocol import Backend, Count


class Perf:
    """Reads with enabled and running times, so that a multiplexed count is seen."""

    backend: Backend = "perf"

    def prepare(self, cache: Path, python: Path) -> None:
        """Nothing is needed but the kernel."""

    def distrust(self, count: Count) -> str | None:
        """Not read, nothing counted, or not on the hardware all the time."""
        if count.backend != self.backend:
            return f"wrong-backend: counted by {count.backend}, not by {self.backend}"
        if count.problem is not None or count.value is None:
            return f"counter-unreadable: {count.problem or 'no value'}"
        if count.time_running_ns != count.time_enabled_ns:
            return f"counter-multiplexed: running {count.time_running_ns} of {count.time_enabled_ns} ns enabled"
        if count.value <= 0:
            return "counter-unreadable: counted nothing"
        return None
