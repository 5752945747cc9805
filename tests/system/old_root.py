"""An older release as a tar file: what a benchmark's image is made of."""

from __future__ import annotations

import shutil
from pathlib import Path

from debian_roots import Recipe, made_once

OLD = Recipe("bullseye", "amd64", "minbase", ("python3", "python3-venv", "git"))
"""An older release with Python 3.9."""


def old_root() -> Path:
    """The older release as a tar file, made once."""
    return made_once("testbed-root", OLD, _as_it_is) / "root.tar"


def _as_it_is(tar: Path, folder: Path) -> None:
    shutil.copyfile(tar, folder / "root.tar")
