"""Root file systems of Debian releases, made once from packages and kept in the user's cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from debian_packages import had, run

from patchperf.sandbox.locks import exclusive

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "patchperf-tests"
ALONE = ("bwrap", "--dev-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "--die-with-parent")
"""Nothing that a command starts or mounts outlives it, and it does not outlive us, however we end."""

KEPT_SECONDS = 7 * 24 * 3600


@dataclass(frozen=True)
class Recipe:
    """What makes a root: a release, a processor architecture, packages, and whether they are set up or only unpacked.

    A root for another processor can only be unpacked.
    """

    suite: str
    architecture: str
    variant: str
    packages: tuple[str, ...]


def made_once(name: str, recipe: Recipe, convert: Callable[[Path, Path], None]) -> Path:
    """The folder that ``convert(tar, folder)`` fills from a recipe's root; made once for a recipe and the code."""
    code = Path(convert.__code__.co_filename).read_bytes() + Path(__file__).read_bytes()
    folder = CACHE / f"{name}-{hashlib.sha256(repr(recipe).encode() + code).hexdigest()[:12]}"
    with exclusive(CACHE / f"{name}.lock"):
        for left in (*CACHE.glob(f"{name}.unfinished-*"), *_unused(name)):
            shutil.rmtree(left)
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=CACHE, prefix=f"{name}.unfinished-") as scratch:
                half = Path(scratch) / "folder"
                half.mkdir()
                convert(_root(recipe, Path(scratch)), half)
                half.rename(folder)
        os.utime(folder)
    return folder


def _unused(name: str) -> list[Path]:
    """What other versions of the code made and have not used for long."""
    return [path for path in CACHE.glob(f"{name}-*") if time.time() - path.stat().st_mtime > KEPT_SECONDS]


def unpacked(tar: Path, folder: Path) -> None:
    """A root as a folder, without its devices."""
    with tarfile.open(tar) as archive:
        members = [member for member in archive if not member.isdev()]
        archive.extractall(folder, members, filter="tar")


def _root(recipe: Recipe, scratch: Path) -> Path:
    """The root as a tar file."""
    tar = scratch / "root.tar"
    options = [f"--variant={recipe.variant}", f"--architectures={recipe.architecture}"]
    options += [f"--include={','.join(recipe.packages)}", "--dpkgopt=force-unsafe-io"]
    options += ['--aptopt=Acquire::Retries "3"', '--aptopt=Acquire::http::Timeout "20"']
    alone = (*ALONE, "--cap-add", "ALL", "--setenv", "TMPDIR", str(scratch)) if os.geteuid() == 0 else ()
    had((*alone, "mmdebstrap", *options, recipe.suite, str(tar), *_mirror()), f"cannot make a {recipe.suite} root")
    return tar


def _mirror() -> list[str]:
    """Where this machine has its own Debian packages from; none where it is no Debian, which leaves the default."""
    if shutil.which("apt-get") is None:
        return []
    told = run(("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Label: Debian"), 30)
    return told.stdout.split()[:1]
