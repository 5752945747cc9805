"""Folders that a container sees at fixed places: what a command may see is moved in for its run, then back."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from patchperf.errors import MachineError
from patchperf.sandbox.files import erase


class Exchange:
    """Empty host folders, one for each place inside, mounted once; a mount shows whatever is moved in later.

    Entries are renamed, so trees keep their file times and caches, a socket in ``out`` keeps listening, and no folder
    that is not the command's own can be seen. Trees and ``out`` have to lie on the file system of ``home``; tools,
    which may be anybody's, are copied.
    """

    def __init__(self, home: Path) -> None:
        self.tree, self.tools, self.out, self.control = (
            home.absolute() / name for name in ("tree", "tools", "out", "control")
        )
        for place in (self.tree, self.tools, self.out, self.control):
            erase(place)
            place.mkdir(parents=True)
            place.chmod(0o755)

    @contextmanager
    def lent(self, tree: Path, tools: Path | None, out: Path | None) -> Iterator[None]:
        """Have the contents of these folders at their places; raises MachineError from another file system."""
        pairs = [(tree, self.tree)]
        pairs += [(out, self.out)] if out is not None else []
        moved: list[tuple[Path, Path]] = []
        try:
            if tools is not None:
                shutil.copytree(tools, self.tools, dirs_exist_ok=True)
            for source, place in pairs:
                moved.append((source, place))
                _move_entries(source, place)
            yield
        finally:
            for source, place in reversed(moved):
                _move_entries(place, source)
            for entry in self.tools.iterdir():
                erase(entry)


def _move_entries(source: Path, target: Path) -> None:
    """Rename all that is in a folder into another one; untrusted code may have left anything in it."""
    source.chmod(stat.S_IMODE(source.lstat().st_mode) | stat.S_IRWXU)
    for name in os.listdir(os.fsencode(source)):  # noqa: PTH208
        old, new = (os.path.join(os.fsencode(folder), name) for folder in (source, target))  # noqa: PTH118
        try:
            _rename(old, new)
        except OSError as error:
            if error.errno == errno.EXDEV:
                raise MachineError(
                    f"{source}: not on the file system of {target}, where containers see it: set scratch to a folder "
                    "on the study's file system"
                ) from None
            raise MachineError(f"{os.fsdecode(old)}: cannot be moved to {target}: {error.strerror}") from None


def _rename(old: bytes, new: bytes) -> None:
    try:
        os.rename(old, new)  # noqa: PTH104
    except PermissionError:
        mode = os.lstat(old).st_mode
        if not stat.S_ISDIR(mode):
            raise
        os.chmod(old, stat.S_IMODE(mode) | stat.S_IRWXU)  # noqa: PTH101 - a folder in need of it to get a new parent
        os.rename(old, new)  # noqa: PTH104
