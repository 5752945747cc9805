"""A bound on what one command writes to a file system that it shares with others."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

_MEBIBYTE = 1024 * 1024
_BLOCK = 512
_CLOCK_SECONDS = 0.1
"""File times may lag behind the clock by a tick."""

MOST_FILES = 1_000_000


class DiskWatch:
    """Asked again and again, tells whether a command has written too much below some folders of one file system.

    Only where the file system has lost as much room since the start, to whomever, are the folders looked through: what
    counts is the space of files that have changed since then, and their number, with those that the command's
    ``processes`` (asked for their pids) hold open under no name any more.
    """

    def __init__(self, folders: Sequence[Path], limit_mb: int, processes: Callable[[], Iterable[int]]) -> None:
        self._folders = tuple(folders)
        self._limit = limit_mb * _MEBIBYTE
        self._processes = processes
        self._since = time.time() - _CLOCK_SECONDS
        self._free, self._files = self._left()

    def exceeded(self) -> Literal["disk"] | None:
        """Whether the bound is passed at this moment."""
        free, files = self._left()
        if self._free - free <= self._limit and self._files - files <= MOST_FILES:
            return None
        written, count = 0, 0
        for size in itertools.chain(self._nameless(), self._changed()):
            written, count = written + size, count + 1
            if written > self._limit or count > MOST_FILES:
                return "disk"
        return None

    def _left(self) -> tuple[int, int]:
        about = os.statvfs(self._folders[0])
        return about.f_bfree * about.f_frsize, about.f_ffree

    def _changed(self) -> Iterator[int]:
        """The space in bytes of every file and folder whose inode has changed since the start.

        A folder that nobody may look into counts as all that is allowed.
        """
        pending = [os.fsencode(folder) for folder in self._folders]
        while pending:
            try:
                with os.scandir(pending.pop()) as entries:
                    for entry in entries:
                        if entry.is_dir(follow_symlinks=False):
                            pending.append(entry.path)
                        status = entry.stat(follow_symlinks=False)
                        if status.st_ctime >= self._since:
                            yield status.st_blocks * _BLOCK
            except PermissionError:
                yield self._limit + 1
            except OSError:  # what was listed is gone or something else by now
                continue

    def _nameless(self) -> Iterator[int]:
        """The space in bytes of the files that only open descriptors keep, each once."""
        device = self._folders[0].stat().st_dev
        seen: set[int] = set()
        for pid in self._processes():
            folder = f"/proc/{pid}/fd"
            try:
                numbers = os.listdir(folder)  # noqa: PTH208
            except OSError:
                continue
            for number in numbers:
                try:
                    status = os.stat(f"{folder}/{number}")  # noqa: PTH116
                except OSError:
                    continue
                if status.st_dev == device and status.st_nlink == 0 and status.st_ino not in seen:
                    seen.add(status.st_ino)
                    yield status.st_blocks * _BLOCK
