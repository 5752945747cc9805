"""What every instruction counter offers the measuring side, and what it hands over for one measured loop."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Protocol

from pydantic import BaseModel, ConfigDict

import patchperf

Backend = Literal["cirron", "perf", "none"]

INPROCESS = Path(patchperf.__file__).parent / "inprocess" / "patchperf_inprocess.py"


class Count(BaseModel):
    """One measured loop's reading as the measured process reports it.

    ``value`` is in user-mode instructions; the times are nanoseconds the events were enabled and really on the
    hardware, summed over ``events``. A backend leaves out what it cannot tell. ``problem`` says why there is no value.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    backend: Backend
    value: int | None
    time_enabled_ns: int | None
    time_running_ns: int | None
    events: int
    problem: str | None


class Counter(Protocol):
    """A way to count the instructions of the measured loop."""

    @property
    def backend(self) -> Backend:
        """The name that stands in every row counted this way."""
        ...

    def prepare(self, cache: Path, python: Path) -> Path | None:
        """A host folder that the measured Python has to be able to read, or None; raises MachineError."""
        ...

    def distrust(self, count: Count) -> str | None:
        """Why a reading must not be used, or None."""
        ...
