"""Which instruction counter to use: tried out before anything is measured, where it will have to work."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter

from patchperf.counters.callgrind import Callgrind
from patchperf.counters.cirron import Cirron
from patchperf.counters.none import NoCounter
from patchperf.counters.perf import Perf
from patchperf.counters.protocol import INPROCESS, Backend, Count, Counter, Emulation, Simulator
from patchperf.counters.qemu import Qemu
from patchperf.errors import MachineError
from patchperf.sandbox.protocol import Command, Limits, Sandbox

Wanted = Literal["auto", "cirron", "perf", "qemu", "callgrind", "none"]
Attempt = Callable[[Backend], str | None]
"""Tries a backend out: None if it really counts, else why it does not."""

COUNTERS: dict[Backend, Counter] = {
    "cirron": Cirron(),
    "perf": Perf(),
    "qemu": Qemu(),
    "callgrind": Callgrind(),
    "none": NoCounter(),
}
SIMULATORS: tuple[Backend, ...] = ("qemu", "callgrind")
"""Those that ``auto`` falls back on, in this order."""

WORKS = "counts"
TIMEOUT = 60.0
WORK_RATIO = 4
_COUNTS = TypeAdapter(list[Count])


class Choice(BaseModel):
    """The backend to measure with, why, and what became of each backend that was considered."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    backend: Backend
    reason: str
    tried: dict[Backend, str]


def choose(wanted: Wanted, attempt: Attempt) -> Choice:
    """The counter to use.

    ``auto`` is the first that really counts of cirron, perf, qemu and callgrind, else none, and the reason then says
    loudly what is lost. cirron needs the hardware event that perf reads, so it is not installed where perf finds none.
    Raises MachineError when a backend was asked for by name and does not count.
    """
    if wanted == "none":
        return Choice(backend="none", reason="no instruction counter asked for: wall time only", tried={})
    if wanted != "auto":
        problem = attempt(wanted)
        if problem is not None:
            perf = attempt("perf") if wanted == "cirron" else None
            problem = f"{problem}; the event itself: {perf}" if perf else problem
            raise MachineError(f"counter {wanted} does not count here: {problem}; set counter to auto or none")
        return Choice(backend=wanted, reason=f"{wanted} was asked for and counts", tried={wanted: WORKS})
    perf = attempt("perf")
    return _on_hardware(attempt("cirron")) if perf is None else _without_hardware(perf, attempt)


def _on_hardware(cirron: str | None) -> Choice:
    tried: dict[Backend, str] = {"perf": WORKS, "cirron": cirron or WORKS}
    if cirron is None:
        return Choice(backend="cirron", reason="cirron counts", tried=tried)
    return Choice(backend="perf", reason=f"perf counts, cirron does not: {cirron}", tried=tried)


def _without_hardware(perf: str, attempt: Attempt) -> Choice:
    tried: dict[Backend, str] = {"perf": perf, "cirron": "not tried: it needs the hardware event that perf lacks"}
    for simulator in SIMULATORS:
        problem = attempt(simulator)
        tried[simulator] = problem or WORKS
        if problem is None:
            failed = "; ".join(f"{name}: {told}" for name, told in tried.items() if name not in ("cirron", simulator))
            reason = (
                f"{simulator} counts, emulating every instruction in a pass of its own, since others do not: {failed}"
            )
            return Choice(backend=simulator, reason=reason, tried=tried)
    failed = "; ".join(f"{name}: {told}" for name, told in tried.items() if name != "cirron")
    return Choice(backend="none", reason=f"NO INSTRUCTION COUNTS, WALL TIME ONLY: {failed}", tried=tried)


def emulation(backend: Backend, cache: Path, python: Path) -> Emulation | None:
    """What a simulated backend counts under on this machine; None for any other backend."""
    counter = COUNTERS[backend]
    if not isinstance(counter, Simulator):
        return None
    return counter.emulation(counter.prepare(cache, python))


def on_host(cache: Path, python: Path) -> Attempt:
    """Trying out with a Python of this machine, outside any sandbox."""

    def attempt(backend: Backend) -> str | None:
        try:
            folder = COUNTERS[backend].prepare(cache, python)
        except MachineError as error:
            return str(error)
        with tempfile.TemporaryDirectory() as out:
            argv = [*_words(backend, folder, out), str(python), "-B", *_arguments(str(INPROCESS), backend, folder)]
            try:
                done = subprocess.run(
                    argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT, check=False
                )
            except subprocess.TimeoutExpired:
                return f"trying it out took more than {TIMEOUT:.0f} s"
            return _verdict(backend, done.stdout, Path(out))

    return attempt


def in_sandbox(
    sandbox: Sandbox,
    limits: Limits,
    cache: Path,
    python: Path,
    readable: tuple[Path, ...],
    *,
    work: Path,
    host_python: Path | None = None,
) -> Attempt:
    """Trying out where the measuring will happen: a sandbox may forbid what its host allows.

    ``readable`` are the folders that the Python lives in, ``work`` is a folder for trees on the file system that the
    sandbox was made for. ``host_python`` is one that runs outside of the sandbox, where ``python`` does not.
    """

    def attempt(backend: Backend) -> str | None:
        try:
            folder = COUNTERS[backend].prepare(cache, host_python or python)
        except MachineError as error:
            return str(error)
        with tempfile.TemporaryDirectory(dir=work) as tree, tempfile.TemporaryDirectory(dir=work) as out:
            script = f"{sandbox.layout.tools}/{INPROCESS.name}"
            words = _words(backend, folder, sandbox.layout.out)
            command = Command(
                argv=(*words, str(python), *_arguments(script, backend, folder)),
                tree=Path(tree),
                environment={"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
                out=Path(out),
                tools=INPROCESS.parent,
                readable=(*readable, *([folder] if folder else [])),
                timeout=TIMEOUT,
            )
            done = sandbox.run(command, limits)
            if done.ended != "exit":
                return f"trying it out was stopped: {done.ended} after {done.seconds:.0f} s"
            return _verdict(backend, done.output, Path(out))

    return attempt


def judge(counter: Counter, first: Count, second: Count) -> str | None:
    """Why two readings, the second of four times the work, are not those of a working counter; None if they are."""
    for count in (first, second):
        problem = counter.distrust(count)
        if problem is not None:
            return problem
    small, large = first.value, second.value
    if small is None or large is None or WORK_RATIO / 2 <= large / small <= WORK_RATIO * 2:
        return None
    return f"counts do not follow the work: {small}, then {large} for {WORK_RATIO} times as much"


def _arguments(script: str, backend: Backend, folder: Path | None) -> list[str]:
    return [script, backend, *([str(folder)] if folder else [])]


def _words(backend: Backend, folder: Path | None, out: str) -> tuple[str, ...]:
    counter = COUNTERS[backend]
    return counter.words(folder, out, 0) if isinstance(counter, Simulator) and folder is not None else ()


def _verdict(backend: Backend, output: str, out: Path) -> str | None:
    lines = output.strip().splitlines()
    try:
        first, second = _COUNTS.validate_json(lines[-1] if lines else "")
    except ValueError:
        return f"trying it out printed no counts: {lines[-1] if lines else 'nothing'}"
    counter = COUNTERS[backend]
    if isinstance(counter, Simulator):
        values = [region.instructions for region in counter.regions(out)]
        if len(values) != 2:
            return f"trying it out counted {len(values)} regions of 2: the program did not run under the emulator"
        first, second = (
            reading.model_copy(update={"value": value}) for reading, value in zip((first, second), values, strict=True)
        )
    return judge(counter, first, second)
