"""Instructions counted by QEMU's user mode: every translated block adds its length, in a plugin compiled here."""

from __future__ import annotations

import functools
import hashlib
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from patchperf.counters.bundle import bundle, starting
from patchperf.counters.processors import PINNED, beyond_avx2
from patchperf.counters.protocol import Backend, Count, Emulation, Region
from patchperf.counters.readings import distrust_simulated, read_plain
from patchperf.errors import MachineError
from patchperf.sandbox.locks import exclusive

SOURCE = Path(__file__).parent / "native" / "count_instructions.c"
PLUGIN = "count_instructions.so"
MARK = 28769
"""The system call number of the marks, also in the in-process module: no kernel has it, so natively it only fails."""

_PROGRAM = "qemu-x86_64"
_COUNTS = "regions"
_APIS = (1, 2)
CPU = "Haswell-v4"
_WITHOUT = "pcid,x2apic,tsc-deadline,invpcid,spec-ctrl"
"""Features of that model which the emulator lacks and would warn of; no user program sees them."""


class Qemu:
    """User mode of QEMU with a plugin: all instructions of all threads of the process, none of processes it starts."""

    backend: Backend = "qemu"
    slowdown = 12.0
    environment: Mapping[str, str] = PINNED

    def prepare(self, cache: Path, python: Path) -> Path:
        """A bundle of the emulator and the plugin.

        Raises MachineError where there is no such emulator or no compiler, or where they do not go together.
        """
        if platform.machine() != "x86_64":
            raise MachineError(f"counting with qemu is known for x86_64 only, not for {platform.machine()}")
        program = shutil.which(_PROGRAM)
        if program is None:
            raise MachineError(f"{_PROGRAM} is not installed: install qemu-user")
        return bundle(cache, "qemu", [Path(program)], [_plugin(cache, Path(program))])

    def distrust(self, count: Count) -> str | None:
        """Not read, nothing counted, or by another backend."""
        return distrust_simulated(self.backend, count)

    def emulation(self, folder: Path) -> Emulation:
        """The emulator's version and the pinned CPU model."""
        emulator = f"{_PROGRAM} {_version(starting(folder, _PROGRAM))}"
        return Emulation(emulator=emulator, cpu=CPU, lacking=beyond_avx2(), environment=dict(self.environment))

    def words(self, folder: Path, out: str, layout: int) -> tuple[str, ...]:
        """The emulator with CPU model, random seed and plugin."""
        features = ",".join(f"-{feature}" for feature in _WITHOUT.split(","))
        plugin = ",".join(
            part.replace(",", ",,") for part in (f"{folder}/bin/{PLUGIN}", f"mark={MARK}", f"out={out}/{_COUNTS}")
        )
        return (*starting(folder, _PROGRAM), "-cpu", f"{CPU},{features}", "-seed", str(layout), "-plugin", plugin)

    def regions(self, out: Path) -> list[Region]:
        """The regions in the order they ended; what is not as the plugin writes it is left out."""
        lines = read_plain(out / _COUNTS).decode("ascii", "replace").splitlines()
        return [_region(line) for line in lines if re.fullmatch(r"\d+ \d+ \d+ [01]", line)]


def _region(line: str) -> Region:
    process, instructions, processes, threaded = map(int, line.split())
    return Region(process=process, instructions=instructions, processes=processes, threaded=bool(threaded))


@functools.cache
def _version(words: tuple[str, ...]) -> str:
    told = subprocess.run([*words, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"version (\d[\w.]*)", told)
    return found[1] if found else "of unknown version"


def _plugin(cache: Path, program: Path) -> Path:
    """The plugin, compiled once for an emulator's version: the first variant that this emulator loads."""
    version = _version((str(program),))
    digest = hashlib.sha256(SOURCE.read_bytes() + version.encode()).hexdigest()[:16]
    plugin = cache.absolute() / f"qemu-plugin-{digest}" / PLUGIN
    if plugin.exists():
        return plugin
    compiler = shutil.which("cc")
    if compiler is None:
        raise MachineError("the plugin that counts under qemu is compiled with cc, which is not installed: install gcc")
    with exclusive(cache / "qemu-plugin.lock"), tempfile.TemporaryDirectory(dir=cache) as scratch:
        half = Path(scratch) / PLUGIN
        said = ""
        for api in _APIS:
            _compile(compiler, half, api)
            said = _refusal(program, half)
            if not said:
                plugin.parent.mkdir(exist_ok=True)
                half.rename(plugin)
                return plugin
    raise MachineError(f"{program} (version {version}) does not load the plugin that counts: {said}")


def _compile(compiler: str, target: Path, api: int) -> None:
    options = ("-O2", "-shared", "-fPIC", "-fvisibility=hidden", f"-DPLUGIN_API={api}")
    done = subprocess.run([compiler, *options, "-o", target, SOURCE], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or ["no message"]
        raise MachineError(f"cannot compile the plugin that counts under qemu ({compiler}): {said[-1]}")


def _refusal(program: Path, plugin: Path) -> str:
    """Why the emulator does not load a plugin, tried on the emulator itself; empty if it does."""
    arguments = f"{plugin},mark={MARK},out=/dev/null"
    argv = (program, "-plugin", arguments, program, "--version")
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
