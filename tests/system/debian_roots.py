"""Root file systems of Debian releases, made once from packages and kept in the user's cache; and the tools for it."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from patchperf.sandbox.locks import exclusive

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "patchperf-tests"
ALONE = ("bwrap", "--dev-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "--die-with-parent")
"""Nothing that a command starts or mounts outlives it, and it does not outlive us, however we end."""

BUILD_SECONDS = 600
KEPT_SECONDS = 7 * 24 * 3600
_APT = ("-o", "Acquire::Retries=3", "-o", "Acquire::http::Timeout=20", "-o", "DPkg::Lock::Timeout=120")
_NO_NETWORK = re.compile(
    r"^.*(?:Temporary failure resolving|Could not resolve|Could not connect|Network is unreachable).*$", re.MULTILINE
)


@dataclass(frozen=True)
class Recipe:
    """What makes a root: a release, a processor architecture, packages, and whether they are set up or only unpacked.

    A root for another processor can only be unpacked.
    """

    suite: str
    architecture: str
    variant: str
    packages: tuple[str, ...]


def need(tools: Mapping[str, str]) -> None:
    """Have programs, given with their packages (several with blanks between): installs what is missing.

    Ends the test where that cannot be: fails it saying what to install, and skips it where nothing could help.
    """
    if platform.machine() != "x86_64":
        pytest.skip(f"guests are made on x86_64, this is {platform.machine()}")
    missing = " ".join(packages for program, packages in tools.items() if shutil.which(program) is None)
    if not missing:
        return
    if shutil.which("apt-get") is None:
        pytest.skip(f"guests are made from Debian's packages, and there is no apt here to install {missing}")
    root = () if os.geteuid() == 0 else ("sudo", "-n")
    if root and (shutil.which("sudo") is None or _run((*root, "true"), 10).returncode != 0):
        pytest.fail(f"install {missing} and run the tests again (only root may)", pytrace=False)
    update = ("apt-get", "update", "-q", *_APT)
    install = ("apt-get", "install", "-q", "-y", "--no-install-recommends", *_APT, *missing.split())
    both = f"{shlex.join(update)}; {shlex.join(install)}"
    _had((*root, "env", "DEBIAN_FRONTEND=noninteractive", "sh", "-c", both), f"cannot install {missing}")


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
    _had((*alone, "mmdebstrap", *options, recipe.suite, str(tar), *_mirror()), f"cannot make a {recipe.suite} root")
    return tar


def _mirror() -> list[str]:
    """Where this machine has its own Debian packages from; none where it is no Debian, which leaves the default."""
    if shutil.which("apt-get") is None:
        return []
    told = _run(("apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Label: Debian"), 30)
    return told.stdout.split()[:1]


def _had(argv: Sequence[str], problem: str) -> None:
    """Run what may need the network: skips the test where there is none, fails it where something else is wrong."""
    try:
        done = _run(argv, BUILD_SECONDS)
    except subprocess.TimeoutExpired:
        pytest.fail(f"{problem}: {argv[0]} took more than {BUILD_SECONDS} s", pytrace=False)
    if done.returncode == 0:
        return
    offline = _NO_NETWORK.search(done.stdout)
    if offline is not None:
        pytest.skip(f"{problem}, there is no network: {offline[0].strip()}")
    errors = [line for line in done.stdout.splitlines() if line.startswith("E:")]
    pytest.fail(f"{problem}: {' | '.join(errors or done.stdout.splitlines()[-1:])}", pytrace=False)


def _run(argv: Sequence[str], seconds: float) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=seconds,
        check=False,
    )
