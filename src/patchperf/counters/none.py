"""No instruction counter: only wall time is measured."""

from __future__ import annotations

from pathlib import Path

from patchperf.counters.protocol import Backend, Count


class NoCounter:
    """Counts nothing, and nothing is asked of it."""

    backend: Backend = "none"

    def prepare(self, cache: Path, python: Path) -> None:
        """Nothing is needed."""

    def distrust(self, count: Count) -> str | None:
        """A reading is as empty as promised, or comes from somewhere else."""
        return (
            None
            if count.backend == self.backend
            else f"wrong-backend: counted by {count.backend}, not by {self.backend}"
        )
