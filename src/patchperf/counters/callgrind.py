"""Instructions counted by valgrind's callgrind, switched on for the region by requests of the measured process."""

from __future__ import annotations

import functools
import platform
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from patchperf.counters.bundle import bundle, starting
from patchperf.counters.processors import PINNED, beyond_avx2
from patchperf.counters.protocol import Backend, Count, Emulation, Region
from patchperf.counters.readings import distrust_simulated, read_plain
from patchperf.errors import MachineError

_TOOL = "callgrind-amd64-linux"
_LOWEST_ADDRESS = 0x8000_0000
"""Valgrind would give out addresses below 2³⁰: such a one fits one digit of a Python number, a native one takes two, so
that whatever is kept by ``id`` (as JSON's encoder does) would be hashed in fewer instructions."""

_PARTS = ("default.supp", "vgpreload_core-amd64-linux.so")
_FOLDERS = ("/usr/libexec/valgrind", "/usr/lib/x86_64-linux-gnu/valgrind", "/usr/lib/valgrind", "/usr/lib64/valgrind")
_FILE = "callgrind"
_DUMP = re.compile(rf"{_FILE}\.(\d+)")
_PART = re.compile(r"^desc: Trigger: (?P<trigger>[^\n]*)\n.*?^totals: (?P<instructions>\d+)$", re.MULTILINE | re.DOTALL)


class Callgrind:
    """Valgrind's virtual processor: all instructions of all threads of the process, none of processes it starts."""

    backend: Backend = "callgrind"
    slowdown = 75.0
    environment: Mapping[str, str] = PINNED

    def prepare(self, cache: Path, python: Path) -> Path:
        """A bundle of the tool and what it loads into a process; raises MachineError where valgrind is missing."""
        if platform.machine() != "x86_64":
            raise MachineError(f"counting with callgrind is known for x86_64 only, not for {platform.machine()}")
        home = next((Path(folder) for folder in _FOLDERS if (Path(folder) / _TOOL).exists()), None)
        if home is None or shutil.which("valgrind") is None:
            raise MachineError("callgrind is not installed: install valgrind")
        return bundle(cache, "callgrind", [home / _TOOL], [home / part for part in _PARTS])

    def distrust(self, count: Count) -> str | None:
        """Not read, nothing counted, or by another backend."""
        return distrust_simulated(self.backend, count)

    def emulation(self, folder: Path) -> Emulation:
        """Valgrind's version; its processor is this machine's as far as valgrind knows it."""
        return Emulation(
            emulator=_version(folder / "bin"),
            cpu="this machine's, up to AVX2",
            lacking=beyond_avx2(),
            environment=dict(self.environment),
        )

    def words(self, folder: Path, out: str, layout: int) -> tuple[str, ...]:
        """The tool with instrumentation off at the start, one file for each process with all its dumps."""
        home = folder / "bin"
        output = ("--combine-dumps=yes", f"--callgrind-out-file={out}/{_FILE}.%p")
        options = ("--instr-atstart=no", f"--aspace-minaddr={_LOWEST_ADDRESS:#x}", *output)
        tool = starting(folder, _TOOL)
        variables = (f"VALGRIND_LIB={home}", f"VALGRIND_LAUNCHER={home}/{_TOOL}")
        return ("/usr/bin/env", *variables, *tool, "--tool=callgrind", "-q", *options)

    def regions(self, out: Path) -> list[Region]:
        """The regions of the one process that marked some; other processes under the tool were started by it."""
        dumps = {int(found[1]): path for path in out.iterdir() if (found := _DUMP.fullmatch(path.name))}
        marked = {process: counts for process, path in sorted(dumps.items()) if (counts := _requested(path))}
        return [Region(process=process, instructions=count) for process, counts in marked.items() for count in counts]


def _requested(path: Path) -> list[int]:
    """Instructions of each dump that a process asked for, in order."""
    text = read_plain(path).decode("utf-8", "replace")
    return [int(part["instructions"]) for part in _PART.finditer(text) if part["trigger"].startswith("Client Request")]


@functools.cache
def _version(home: Path) -> str:
    environment = {"VALGRIND_LIB": str(home), "VALGRIND_LAUNCHER": f"{home}/{_TOOL}"}
    argv = (home / _TOOL, "--tool=callgrind", "--version")
    return subprocess.run(argv, capture_output=True, text=True, check=False, env=environment).stdout.strip()
