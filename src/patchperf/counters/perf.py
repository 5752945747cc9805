"""The kernel's own instruction counter (perf_event_open), read inside the measured process.

User mode, over all threads and child processes of the measured process.
"""

from __future__ import annotations

from pathlib import Path

from patchperf.counters.hardware import distrust_hardware
from patchperf.counters.protocol import Backend, Count


class Perf:
    """Reads with enabled and running times, so that a multiplexed count is seen."""

    backend: Backend = "perf"

    def prepare(self, cache: Path, python: Path) -> None:
        """Nothing is needed but the kernel."""

    def distrust(self, count: Count) -> str | None:
        """Not read, nothing counted, or not on the hardware all the time."""
        return distrust_hardware(self.backend, count)
