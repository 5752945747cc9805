"""What /proc tells about a process and those below it; every reading tolerates processes that end meanwhile."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")
_MEBIBYTE = 1024 * 1024


@dataclass(frozen=True)
class Usage:
    """What a set of processes holds at one moment; ``tasks`` counts threads, as the kernel's own limits do."""

    tasks: int
    resident_mb: float


def children(pid: int) -> tuple[int, ...]:
    """The direct children of all threads of a process; empty if it is gone."""
    found: list[int] = []
    for task in _tasks(pid):
        try:
            found += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text().split())
        except (FileNotFoundError, ProcessLookupError):
            continue
    return tuple(found)


def descendants(pid: int) -> tuple[int, ...]:
    """All processes below a process, itself excluded, parents before their children."""
    found = list(children(pid))
    for below in found:
        found += children(below)
    return tuple(found)


def usage(pids: Iterable[int]) -> Usage:
    """Threads and resident memory of the processes; memory that they share counts for each of them."""
    tasks = 0
    pages = 0
    for pid in pids:
        tasks += len(_tasks(pid))
        try:
            pages += int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
    return Usage(tasks, pages * _PAGE / _MEBIBYTE)


def proportional_mb(pids: Iterable[int]) -> float:
    """Memory of the processes in MiB, shared pages divided among their users: exact, but it stops each for a moment."""
    kibibytes = 0
    for pid in pids:
        try:
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        kibibytes += sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))
    return kibibytes / 1024


def start_time(pid: int) -> str:
    """When a process started, in clock ticks since boot: with its pid it names it for good; empty if it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return stat.rpartition(")")[2].split()[19]


def _tasks(pid: int) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/task")  # noqa: PTH208
    except (FileNotFoundError, ProcessLookupError):
        return []
