"""Which software does the work: versions as a record of a study carries them."""

from __future__ import annotations

import functools
import hashlib
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import patchperf

LIBRARIES = (
    "snakemake",
    "numpy",
    "pandas",
    "pyarrow",
    "scipy",
    "pingouin",
    "matplotlib",
    "docker",
    "lizard",
    "bandit",
)
"""Packages that schedule, count, test, draw or analyse patches."""


@functools.cache
def software() -> dict[str, str]:
    """Name to version of this program, its Python and the libraries it stands on; ``source`` is ``source_digest``."""
    found = {name: _version(name) for name in LIBRARIES}
    own = {"patchperf": patchperf.__version__, "source": source_digest(), "python": platform.python_version()}
    return own | {name: told for name, told in found.items() if told}


@functools.cache
def source_digest() -> str:
    """SHA-256 (hex) over the names and contents of this program's own Python files."""
    root = Path(patchperf.__file__).parent
    digest = hashlib.sha256()
    for file in sorted(root.rglob("*.py")):
        digest.update(f"{file.relative_to(root)}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
