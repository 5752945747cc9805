"""Room on disk: what a command does on a full file system says nothing about the command."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from patchperf.errors import MachineError

LEAST_BYTES = 8 << 20
"""Room below which a file system counts as full."""


@contextmanager
def with_room(*folders: Path | None) -> Iterator[None]:
    """Do something that has to have room in these folders, before and after; raises MachineError where one is full."""
    require_room(*folders)
    yield
    require_room(*folders)


def require_room(*folders: Path | None) -> None:
    """Raise MachineError if the file system of one of these folders has no room left, or no more files to give."""
    for folder in folders:
        if folder is not None and not has_room(folder):
            raise MachineError(no_room(folder))


def has_room(folder: Path) -> bool:
    """Whether at least 8 MiB and one more file are free where a folder lies, counting root's reserve for root alone.

    True for a folder that does not exist: what is wrong with it is for others to say.
    """
    try:
        about = os.statvfs(folder)
    except FileNotFoundError:
        return True
    blocks, files = (about.f_bfree, about.f_ffree) if os.geteuid() == 0 else (about.f_bavail, about.f_favail)
    return blocks * about.f_frsize >= LEAST_BYTES and (files > 0 or about.f_files == 0)


def no_room(path: Path) -> str:
    """One line about the full file system that a path lies on."""
    return f"no space left on {_mount_point(path)}: free some and run the same command again, what is measured is kept"


def _mount_point(path: Path) -> Path:
    place = path.resolve()
    while not place.is_mount() and place != place.parent:
        place = place.parent
    return place
