"""What every instruction counter offers the measuring side, and what it hands over for one measured loop."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict

import patchperf

Backend = Literal["cirron", "perf", "qemu", "callgrind", "none"]

INPROCESS = Path(patchperf.__file__).parent / "inprocess" / "patchperf_inprocess.py"


class Count(BaseModel):
    """One measured loop's reading.

    ``value`` is in user-mode instructions; the times are nanoseconds the events were enabled and really on the
    hardware, summed over ``events``. A backend leaves out what it cannot tell. ``problem`` says why there is no value.
    Only simulators give the rest: ``constant`` is what the same region counted around a loop of no repetitions, already
    taken out of ``value``; ``parts`` are the loop's halves, (repetitions, instructions) each; ``processes`` how many
    processes the region started, whose instructions are not in ``value``; ``threaded`` whether more threads than one
    were counted.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    backend: Backend
    value: int | None
    time_enabled_ns: int | None
    time_running_ns: int | None
    events: int
    problem: str | None
    constant: int | None = None
    parts: tuple[tuple[int, int], ...] = ()
    processes: int | None = None
    threaded: bool | None = None


class Emulation(BaseModel):
    """What a simulator counts under: the emulator with its version, and the processor that a program sees.

    ``lacking`` are vector extensions that this machine has and the emulated processor has not, ``environment`` the
    variables that pin what the C library would otherwise choose by the machine.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    emulator: str
    cpu: str
    lacking: tuple[str, ...] = ()
    environment: dict[str, str] = {}


class Region(BaseModel):
    """One marked region: instructions of all threads of a process; the rest as in ``Count``, None where unknown."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    process: int
    instructions: int
    processes: int | None = None
    threaded: bool | None = None


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


@runtime_checkable
class Simulator(Counter, Protocol):
    """A counter that runs the program under an emulator: far slower, so wall time has to come from other runs.

    ``folder`` is what ``prepare`` returned.
    """

    def prepare(self, cache: Path, python: Path) -> Path:
        """A host folder with all that is needed to run programs under the emulator; raises MachineError."""
        ...

    @property
    def slowdown(self) -> float:
        """Time of a pure-Python loop under the emulator for one unit of time without it, roughly.

        A first guess, and the factor of the time-outs: floating-point functions can take ten times as much.
        """
        ...

    @property
    def environment(self) -> Mapping[str, str]:
        """Variables that pin what the C library would otherwise choose by the machine."""
        ...

    def emulation(self, folder: Path) -> Emulation:
        """What it counts under."""
        ...

    def words(self, folder: Path, out: str, layout: int) -> tuple[str, ...]:
        """What stands on a command line before the path of the program to run under the emulator.

        ``out`` is the folder (as the program sees it) where the counts go, ``layout`` the number that seeds whatever
        the emulator draws at random.
        """
        ...

    def regions(self, out: Path) -> list[Region]:
        """The counts left in ``out`` (as the host sees it) so far; untrusted code could write there too."""
        ...
