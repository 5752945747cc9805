"""Folders that untrusted code wrote to: made harmless, or removed whatever is in them."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path


def erase(path: Path) -> None:
    """Remove a file or a whole folder, unwritable and endlessly nested ones too, without following links.

    Raises OSError if something stays.
    """
    if not os.path.lexists(path):
        return
    if path.is_dir() and not path.is_symlink() and os.geteuid() != 0:
        _run("chmod", "-R", "u+rwX", "--", str(path))
    said = _run("rm", "-rf", "--", str(path))
    if os.path.lexists(path):
        raise OSError(f"{path}: cannot be removed: {said}")


def keep_plain_files(folder: Path) -> None:
    """Remove every link, pipe, socket and device below a folder, so that reading what is left can do no harm."""
    pending = [folder]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                mode = entry.stat(follow_symlinks=False).st_mode
                if stat.S_ISDIR(mode):
                    os.chmod(entry.path, stat.S_IMODE(mode) | stat.S_IRWXU)  # noqa: PTH101
                    pending.append(Path(entry.path))
                elif not stat.S_ISREG(mode):
                    Path(entry.path).unlink()


def _run(*argv: str) -> str:
    done = subprocess.run(argv, check=False, stdin=subprocess.DEVNULL, capture_output=True, env={"LC_ALL": "C"})
    return done.stderr.decode(errors="replace").strip().partition("\n")[0]
