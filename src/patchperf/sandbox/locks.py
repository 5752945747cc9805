"""Locks between processes that share a cache folder."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def exclusive(path: Path) -> Iterator[int]:
    """Hold the lock file ``path`` alone, waiting for it as long as it takes; yields the descriptor that holds it.

    The kernel frees the lock when its last holder ends, however it ends. A child that must not outlive the lock gets
    the descriptor too (``pass_fds``): if we are killed, the next holder waits until the child is through. The file
    stays: if it were removed, two processes could hold the lock of one name.
    """
    with _locked(path, fcntl.LOCK_EX) as descriptor:
        yield descriptor


@contextmanager
def shared(path: Path) -> Iterator[int]:
    """Hold a lock file together with all who share it, and never while one has it exclusively."""
    with _locked(path, fcntl.LOCK_SH) as descriptor:
        yield descriptor


@contextmanager
def _locked(path: Path, kind: int) -> Iterator[int]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as stream:
        fcntl.flock(stream, kind)
        yield stream.fileno()
