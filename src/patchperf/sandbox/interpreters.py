"""Python interpreters of this machine, found by version."""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import uv

from patchperf.errors import InputError, MachineError

PROBE_SECONDS = 30
DESCRIBE = """
import json, sys
print(json.dumps({
    "version_info": list(sys.version_info),
    "build": " ".join(sys.version.split()),
    "executable": sys.executable,
    "prefix": sys.prefix,
    "base_prefix": sys.base_prefix,
    "implementation": sys.implementation.name,
    "abiflags": sys.abiflags,
}))
"""


@dataclass(frozen=True)
class Interpreter:
    """A CPython that runs, outside any virtual environment.

    ``path`` and ``base_prefix`` (its installation) are free of symbolic links; ``build`` is ``sys.version`` on one
    line, with the compiler and the time of the build, so that two builds of one release differ.
    """

    path: Path
    version: str
    release: tuple[int, int, int, str, int]
    build: str
    base_prefix: Path


@functools.cache
def find_python(version: str) -> Path:
    """The interpreter whose version is or starts with ``version`` ("3", "3.9", "3.9.18"), free of symbolic links.

    Places in this order, the newest release winning within each: the interpreter that runs this program (or the one its
    virtual environment comes from), ``python<version>`` in each folder of PATH, pyenv's versions, conda's environments,
    interpreters managed by uv. pyenv's shims on PATH are passed over, since what they start depends on the working
    folder. Only release builds of CPython count: no debug and no free-threaded ones.

    Raises InputError for a version that is no dotted number, MachineError if there is none.
    """
    if not re.fullmatch(r"\d+(\.\d+){0,2}", version):
        raise InputError(f"Python version {version!r}: give a dotted number such as 3.9 or 3.9.18")
    for place in _places(version):
        found = [interpreter for interpreter in _interpreters(place) if _matches(interpreter.version, version)]
        if found:
            return max(found, key=lambda interpreter: interpreter.release).path
    seen = sorted({i.release: i.version for place in _places(None) for i in _interpreters(place)}.items())
    raise MachineError(
        f"Python {version} is not installed; found {', '.join(name for _, name in seen)}; install it, for example with "
        f"`uv python install {version}` or `pyenv install {version}`, or name another version in the environments file"
    )


@functools.cache
def describe(executable: Path) -> Interpreter | None:
    """What an executable says about itself; None if it does not run or is no release build of CPython.

    For the Python of a virtual environment this is the interpreter that the environment was made from.
    """
    command = [str(executable), "-I", "-c", DESCRIBE]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PROBE_SECONDS, check=False
        )
        facts = json.loads(done.stdout) if done.returncode == 0 else None
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return None
    if facts is None or facts["implementation"] != "cpython" or set(facts["abiflags"]) & {"d", "t"}:
        return None
    major, minor, micro, level, serial = facts["version_info"]
    if facts["prefix"] != facts["base_prefix"]:
        base = Path(facts["base_prefix"], "bin", f"python{major}.{minor}")
        return None if base == executable else describe(base)
    suffix = "" if level == "final" else f"{level}{serial}"
    return Interpreter(
        path=Path(facts["executable"]).resolve(),
        version=f"{major}.{minor}.{micro}{suffix}",
        release=(major, minor, micro, level, serial),
        build=facts["build"],
        base_prefix=Path(facts["base_prefix"]).resolve(),
    )


def _matches(version: str, wanted: str) -> bool:
    return version == wanted or version.startswith(f"{wanted}.")


def _interpreters(executables: Iterable[Path]) -> Iterator[Interpreter]:
    for executable in executables:
        if os.access(executable, os.X_OK) and (interpreter := describe(executable)):
            yield interpreter


def _places(version: str | None) -> Iterator[list[Path]]:
    """Executables by place; for a version only those whose name does not rule it out, else all."""
    running = ".".join(map(str, sys.version_info[:3]))
    if version is None or _matches(running, version):
        yield [Path(getattr(sys, "_base_executable", None) or sys.executable)]
    for folder in map(Path, os.get_exec_path()):
        if folder != _pyenv_root() / "shims":
            yield sorted(folder.glob("python3.*[0-9]")) if version is None else [folder / _command_name(version)]
    yield [
        folder / "bin" / "python"
        for folder in sorted(_pyenv_root().glob("versions/*"))
        if version is None or not re.match(r"\d", folder.name) or _matches(folder.name, version)
    ]
    yield _conda()
    yield _managed_by_uv()


def _command_name(version: str) -> str:
    return "python" + ".".join(version.split(".")[:2])


def _pyenv_root() -> Path:
    return Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")


def _conda() -> list[Path]:
    listed = Path.home() / ".conda" / "environments.txt"
    prefixes = [Path(line) for line in listed.read_text("utf-8").splitlines() if line] if listed.is_file() else []
    roots = [Path(root) for name in ("CONDA_ROOT", "MAMBA_ROOT_PREFIX") if (root := os.environ.get(name))]
    if conda := os.environ.get("CONDA_EXE"):
        roots.append(Path(conda).parent.parent)
    for base in roots:
        prefixes += [base, *sorted(base.glob("envs/*"))]
    return [prefix / "bin" / "python" for prefix in dict.fromkeys(prefixes)]


def _managed_by_uv() -> list[Path]:
    done = subprocess.run(
        [uv.find_uv_bin(), "python", "dir"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise MachineError(f"uv python dir fails: {' '.join(done.stderr.split())}")
    return sorted(Path(done.stdout.strip()).glob("*/bin/python3"))
