"""The journal of one pass over a case: every process that was run, on disk before the next one starts."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from patchperf.counters.protocol import Emulation
from patchperf.errors import InputError, MachineError
from patchperf.measure.conditions import Conditions
from patchperf.measure.self_report import Process, SelfReport, process_of

Stage = Literal["trial", "calibration", "warming", "replicate", "counting-trial", "counting"]
EMULATED = frozenset({"counting-trial", "counting"})
"""Stages whose processes run under an emulator."""


class Entry(BaseModel):
    """One process of a case: what it was for, how it ended, what it reported, and why it is void, if it is.

    A "replicate" is measured natively; where the counter is a simulator, its counts come from "counting", the same
    replicate under the emulator with fewer repetitions; ``emulation`` says which that was. Their number comes from
    "counting-trial"s. These two are in a journal of their own.

    ``digest`` is the case's. ``replicate``, ``order``, ``padding`` are those of the schedule's slot (None outside
    rounds). ``pid`` is this host's number of the process that reported, None where the kernel cannot tell. ``seconds``
    is the process's wall time; ``host_seconds`` what passed on our side since the process before. ``output_tail`` is
    kept of void runs only.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    digest: str
    stage: Stage
    solution: str
    attempt: int
    hash_seed: int
    padding: int
    replicate: int | None
    order: int | None
    repetitions: int | None
    started_at: datetime
    ended: str
    exit_code: int
    seconds: float
    host_seconds: float
    peak_memory_mb: float | None
    pid: int | None
    confinement: str
    isolation: str
    conditions: Conditions | None
    host: str
    emulation: Emulation | None
    void: str | None
    output_tail: str
    report: SelfReport | None

    @property
    def process(self) -> Process | None:
        """Which process reported, if one did."""
        return None if self.report is None else process_of(self.report, self.pid)

    def dropped(self, reason: str) -> Entry:
        """The entry as it stands where its solution was dropped for a reason: void, whatever it was before."""
        return self if self.void is not None else self.model_copy(update={"void": f"dropped: {reason}"})


class Journal:
    """The entries of one case so far; made by ``open_journal``."""

    def __init__(self, path: Path, descriptor: int, digest: str, entries: list[Entry]) -> None:
        self.path = path
        self.digest = digest
        self.entries = entries
        self._descriptor = descriptor

    def append(self, entry: Entry) -> None:
        """Add an entry and wait until it is on disk; raises MachineError if it cannot be: then nothing was added."""
        if entry.digest != self.digest:
            raise InputError(f"{self.path}: an entry of case {entry.digest} does not belong here")
        line = entry.model_dump_json().encode() + b"\n"
        length = os.fstat(self._descriptor).st_size
        try:
            written = 0
            while written < len(line):
                written += os.write(self._descriptor, line[written:])
            os.fsync(self._descriptor)
        except OSError as error:
            os.ftruncate(self._descriptor, length)
            raise MachineError(
                f"{self.path}: cannot write ({error.strerror}); mend that and run again, what is in it is kept"
            ) from None
        self.entries.append(entry)


@contextmanager
def open_journal(path: Path, digest: str) -> Iterator[Journal]:
    """The journal of a case, made if missing, for one process at a time.

    A last line that was cut off by a crash is removed. Raises InputError for entries of another case or another version
    of this program, MachineError if another process has it open.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise MachineError(f"{path}: another process is measuring this case; wait for it or end it") from None
        entries, sound = parse_entries(path.read_bytes(), digest, path)
        os.ftruncate(descriptor, sound)
        _sync_folder(path.parent)
        yield Journal(path, descriptor, digest, entries)
    finally:
        os.close(descriptor)


def read_journal(path: Path, digest: str) -> list[Entry]:
    """The entries of a finished or running case, for reading only; raises InputError as ``open_journal`` does."""
    return parse_entries(path.read_bytes(), digest, path)[0]


def parse_entries(content: bytes, digest: str, where: Path) -> tuple[list[Entry], int]:
    """Entries in a journal's bytes, and how many of these bytes are sound: all but a last line that was torn.

    Torn is a last line without its end, or one that is no JSON. Raises InputError, naming the line, for anything else
    that is not an entry of this case.
    """
    entries: list[Entry] = []
    sound = 0
    lines = content.splitlines(keepends=True)
    for number, line in enumerate(lines, start=1):
        last = number == len(lines)
        if last and not line.endswith(b"\n"):
            break
        try:
            value = json.loads(line)
        except ValueError:
            if last:
                break
            raise InputError(f"{where}, line {number}: not JSON; delete the file to measure the case anew") from None
        if not isinstance(value, dict) or value.get("digest") != digest:
            raise InputError(f"{where}, line {number}: not of case {digest}; delete the file to measure the case anew")
        try:
            entries.append(Entry.model_validate(value))
        except ValidationError:
            raise InputError(
                f"{where}, line {number}: written by another version; delete the file to measure the case anew"
            ) from None
        sound += len(line)
    return entries, sound


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
