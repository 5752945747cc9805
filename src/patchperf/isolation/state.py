"""What is up, and what was before: written down before anything is changed, so that all of it can be undone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from patchperf.errors import MachineError
from patchperf.isolation.partitions import Kind
from patchperf.isolation.plan import Plan

FOLDER = Path("/run/patchperf")
_NAME = "isolation.json"
_BOOT = Path("/proc/sys/kernel/random/boot_id")


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Tuning(_Part):
    """Settings of the whole machine; None leaves one as it is.

    ``turbo`` tells whether processors may go beyond their base frequency. ``aslr``: whether processes have their
    addresses at random ("on", all of them) or not ("off").
    """

    governor: str | None = None
    turbo: bool | None = None
    aslr: Literal["off", "on"] | None = None


class Confined(_Part):
    """A group of others, the CPUs it is kept to, and what it was kept to before (in the kernel's list format).

    ``unit_before`` is what systemd was told of its unit before, None where it is not systemd's; ``drop_in`` tells that
    this was for this boot only, as it is now.
    """

    group: str
    cpus: str
    before: str
    unit_before: str | None = None
    drop_in: bool = False


class Affinity(_Part):
    """A thread with CPUs of its own choice, which it loses when those of its group change (Linux before 6.2)."""

    thread: int
    start_ticks: int
    cpus: str


class Tuned(_Part):
    """A setting of the machine, and what it was before."""

    file: str
    text: str
    before: str


class State(_Part):
    """What ``up`` has made or is about to make.

    ``finished`` tells that it came to its end, ``by_hand`` that it stays up when no workflow uses it any more.
    ``allowed`` are the CPUs that the plan was made of; a process on the reserve cannot tell them any more.
    ``controllers`` are those that the root did not hand on before.
    """

    boot: str
    finished: bool
    by_hand: bool
    kind: Kind
    memory_mb: int
    plan: Plan
    allowed: tuple[int, ...]
    controllers: tuple[str, ...]
    confined: tuple[Confined, ...]
    affinities: tuple[Affinity, ...]
    tuning: Tuning
    tuned: tuple[Tuned, ...]
    notes: tuple[str, ...] = ()


def read_state(folder: Path = FOLDER) -> State | None:
    """What is up; None if nothing is, or if that was before the machine was started the last time.

    Raises MachineError if the file cannot be understood.
    """
    file = folder / _NAME
    try:
        state = State.model_validate_json(file.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise MachineError(f"{file}: {error.strerror}") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise MachineError(
            f"{file} is not what this version writes ({'.'.join(map(str, first['loc']))}: {first['msg']}): run "
            f"`patchperf isolate down` of the version that wrote it"
        ) from None
    return state if state.boot == boot() else None


def write_state(state: State, folder: Path = FOLDER) -> None:
    """Write it down, all or nothing; raises MachineError where that cannot be."""
    file = folder / _NAME
    half = file.with_suffix(".new")
    try:
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        with half.open("w", encoding="ascii") as stream:
            stream.write(state.model_dump_json())
            stream.flush()
            os.fsync(stream.fileno())
        half.replace(file)
    except OSError as error:
        raise MachineError(
            f"{file}: what was before cannot be noted down, so nothing is changed: {error.strerror}"
        ) from None


def forget_state(folder: Path = FOLDER) -> None:
    """All is as it was before."""
    (folder / _NAME).unlink(missing_ok=True)


def boot() -> str:
    """What tells this start of the machine from others."""
    return _BOOT.read_text("ascii").strip()
