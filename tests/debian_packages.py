"""Packages that tests need from the system: installed where that may be, else the test says what to install."""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence

import pytest

SECONDS = 600
_APT = ("-o", "Acquire::Retries=3", "-o", "Acquire::http::Timeout=20", "-o", "DPkg::Lock::Timeout=120")
_NO_NETWORK = re.compile(
    r"^.*(?:Temporary failure resolving|Could not resolve|Could not connect|Network is unreachable).*$", re.MULTILINE
)


def need(tools: Mapping[str, str]) -> None:
    """Have programs, given with their packages (several with blanks between): installs what is missing.

    Ends the test where that cannot be: fails it saying what to install, and skips it where nothing could help.
    """
    if platform.machine() != "x86_64":
        pytest.skip(f"what needs packages is tried on x86_64 alone, this is {platform.machine()}")
    missing = " ".join(packages for program, packages in tools.items() if shutil.which(program) is None)
    if not missing:
        return
    if shutil.which("apt-get") is None:
        pytest.skip(f"it needs Debian's packages, and there is no apt here to install {missing}")
    root = () if os.geteuid() == 0 else ("sudo", "-n")
    if root and (shutil.which("sudo") is None or run((*root, "true"), 10).returncode != 0):
        pytest.fail(f"install {missing} and run the tests again (only root may)", pytrace=False)
    update = ("apt-get", "update", "-q", *_APT)
    install = ("apt-get", "install", "-q", "-y", "--no-install-recommends", *_APT, *missing.split())
    both = f"{shlex.join(update)}; {shlex.join(install)}"
    had((*root, "env", "DEBIAN_FRONTEND=noninteractive", "sh", "-c", both), f"cannot install {missing}")


def had(argv: Sequence[str], problem: str) -> None:
    """Run what may need the network: skips the test where there is none, fails it where something else is wrong."""
    try:
        done = run(argv, SECONDS)
    except subprocess.TimeoutExpired:
        pytest.fail(f"{problem}: {argv[0]} took more than {SECONDS} s", pytrace=False)
    if done.returncode == 0:
        return
    offline = _NO_NETWORK.search(done.stdout)
    if offline is not None:
        pytest.skip(f"{problem}, there is no network: {offline[0].strip()}")
    errors = [line for line in done.stdout.splitlines() if line.startswith("E:")]
    pytest.fail(f"{problem}: {' | '.join(errors or done.stdout.splitlines()[-1:])}", pytrace=False)


def run(argv: Sequence[str], seconds: float) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=seconds,
        check=False,
    )
