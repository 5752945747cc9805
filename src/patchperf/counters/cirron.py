"""The instruction counter of the cirron package, version 0.4: user mode, the calling thread.

It does not tell how long its events were really on the hardware (a multiplexed count looks like any other) nor whether
the reading itself failed, so the in-process module reads its events once more before it does.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from uv import find_uv_bin

from patchperf.counters.hardware import distrust_hardware
from patchperf.counters.protocol import INPROCESS, Backend, Count
from patchperf.errors import MachineError
from patchperf.sandbox.locks import exclusive

REQUIREMENT = "cirron==0.4"
LOAD = "import sys; sys.path.insert(0, sys.argv[1]); import patchperf_inprocess as p; p.load_cirron(sys.argv[2])"


class Cirron:
    """Reads through one Collector around the whole loop."""

    backend: Backend = "cirron"

    def prepare(self, cache: Path, python: Path) -> Path:
        """The folder that holds cirron with its library compiled; see ``prepare``."""
        return prepare(cache, python)

    def distrust(self, count: Count) -> str | None:
        """Not read, nothing counted, or not on the hardware all the time."""
        return distrust_hardware(self.backend, count)


def prepare(cache: Path, python: Path) -> Path:
    """A folder in ``cache`` with cirron and its compiled library, for the measured Python to load; made once.

    The library knows nothing of Python and serves every version. Raises MachineError if cirron cannot be installed or
    its library cannot be compiled (it needs ``c++``).
    """
    folder = cache / REQUIREMENT.replace("==", "-")
    if folder.exists():
        return folder
    if shutil.which("c++") is None:
        raise MachineError("cirron compiles its library with c++, which is not installed: install g++")
    with exclusive(cache / f"{folder.name}.lock"):
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=cache, prefix=f"{folder.name}-") as scratch:
                half = Path(scratch) / folder.name
                _run(
                    "cannot install cirron",
                    [find_uv_bin(), "pip", "install", "--no-deps", "--python", python, "--target", half, REQUIREMENT],
                )
                _run("cannot compile cirron's library", [python, "-B", "-c", LOAD, INPROCESS.parent, half])
                half.rename(folder)
    return folder


def _run(problem: str, argv: list[str | Path]) -> None:
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        said = done.stdout.strip().splitlines()
        raise MachineError(f"{problem} ({argv[0]} ended with {done.returncode}): {said[-1] if said else 'no output'}")
