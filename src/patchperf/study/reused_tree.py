"""A tree that serves many runs: as it was made whenever it is asked for, made anew only if a run has changed it."""

from __future__ import annotations

import functools
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from patchperf.errors import InputError
from patchperf.sandbox import trees
from patchperf.study.workbench import Workbench


class ReusedTree:
    """The tree of one patch on a workbench. What stays in it from run to run is bytecode and tools' caches."""

    def __init__(self, bench: Workbench, name: str, patch: str | None) -> None:
        self._make = functools.partial(bench.tree, name, patch)
        self.path = self._make()
        self._remember()

    def fresh(self) -> Path:
        """The tree, as it was made; raises what ``Workbench.tree`` raises."""
        if not self._is_fresh():
            self.path = self._make()
            self._remember()
        return self.path

    def _remember(self) -> None:
        self.digest = trees.tree_digest(self.path)
        self._others = _others(self.path)

    def _is_fresh(self) -> bool:
        try:
            return _others(self.path) == self._others and trees.tree_digest(self.path) == self.digest
        except InputError:
            return False


def _others(tree: Path) -> frozenset[bytes]:
    """What a digest of a tree passes over, except caches: folders with their modes, and neither files nor links."""
    found: set[bytes] = set()
    for folder, folders, files in os.walk(os.fsencode(tree)):
        folders[:] = [name for name in folders if name not in trees.CACHE_FOLDERS]
        found.update(b"%s %o" % (path, os.lstat(path).st_mode) for path in _joined(folder, folders))
        found.update(path for path in _joined(folder, files) if _is_special(path))
    return frozenset(found)


def _joined(folder: bytes, names: Iterable[bytes]) -> Iterator[bytes]:
    return (os.path.join(folder, name) for name in names)  # noqa: PTH118


def _is_special(path: bytes) -> bool:
    mode = os.lstat(path).st_mode
    return not stat.S_ISREG(mode) and not stat.S_ISLNK(mode)
