"""Replicates for benchmarks: a body or a study's test in a fresh process of the sandbox, natively or under a simulator.

Their values can be kept in a file, so that a long benchmark continues where it was stopped.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import py_compile
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from patchperf.config import SandboxSettings
from patchperf.counters.none import NoCounter
from patchperf.counters.preflight import COUNTERS
from patchperf.counters.protocol import INPROCESS, Simulator
from patchperf.counters.readings import loop_count
from patchperf.errors import InputError, MachineError, PatchperfError
from patchperf.measure.collector import Collector
from patchperf.measure.emulated import Emulated
from patchperf.measure.schedule import environment, padding
from patchperf.measure.self_report import SelfReport, parse_report
from patchperf.measure.tools import RESULT, read_results, write_tools
from patchperf.sandbox.local import local_sandbox
from patchperf.sandbox.protocol import Command, Limits, Sandbox

WALL = "wall clock"
SEED = 20
FILE = """from patchperf_inprocess import measured
{setup}

@measured
def body():
    {body}

body()
"""


@dataclass(frozen=True)
class Program:
    """A body of one line of Python, the lines that come before it, once, and Python's options."""

    body: str
    setup: str = ""
    options: tuple[str, ...] = ()


def noisy_work(steps: int) -> Program:
    """``steps`` steps that each look up 18 strings in a set of them: what a step takes depends on the hash seed."""
    setup = (
        "names = [[str(50 * k + n) for n in range(18)] for k in range(10)]",
        "def work(steps, names=names, others=[set(some) for some in names]):",
        "    for i in range(steps):",
        "        others[i % 10].issuperset(names[i % 10])",
    )
    return Program(f"work({steps})", "\n".join(setup), options=("-S",))


@dataclass(frozen=True)
class Replicate:
    """Per repetition: nanoseconds and, under a simulator, instructions (else 0); ``seconds`` is the whole process."""

    wall_ns: float
    instructions: float
    seconds: float


@dataclass(frozen=True)
class Bench:
    """Runs bodies with this Python; ``work`` is a scratch folder."""

    work: Path

    def run(
        self,
        program: Program,
        repetitions: int,
        counting: Emulated | None = None,
        number: int = 0,
        warmup: int = 10,
    ) -> Replicate:
        """One replicate of a body in round ``number``, which is also its hash seed and the number of its layout."""
        sandbox = local_sandbox(SandboxSettings(confinement="best-effort"), self.work / "sandbox")
        with tempfile.TemporaryDirectory(dir=self.work) as tree:
            (Path(tree) / "run.py").write_text(FILE.format(setup=program.setup, body=program.body))
            base = {"PATH": "/usr/bin:/bin", "PYTHONPATH": sandbox.layout.tools}
            command = Command(
                argv=(sys.executable, *program.options, "run.py"),
                tree=Path(tree),
                environment=environment(base, number, padding(1, number)),
                readable=(Path(sys.prefix), Path(sys.base_prefix)),
            )
            return replicate(
                sandbox, command, self.work, repetitions, counting, layout=number, warmup=warmup, compiled=True
            )


def replicate(
    sandbox: Sandbox,
    command: Command,
    work: Path,
    repetitions: int,
    counting: Emulated | None = None,
    *,
    layout: int = 0,
    warmup: int = 10,
    compiled: bool = False,
    collector: Collector = "untouched",
) -> Replicate:
    """Run a command with a decorated test in it once, under the simulator if one is given.

    ``work`` is a folder for scratch files; with ``compiled`` our module comes with its bytecode, for this Python, which
    saves a third of a short process under a simulator. Raises MachineError where no value comes of it.
    """
    with tempfile.TemporaryDirectory(dir=work) as scratch:
        tools, out = Path(scratch, "tools"), Path(scratch, "out")
        out.mkdir()
        counter = counting.simulator if counting else NoCounter()
        spec = {"mode": "replicate", "warmup": warmup, "repetitions": repetitions, "counter": counter.backend}
        write_tools(tools, {**spec, "collector": collector, "out": f"{sandbox.layout.out}/{RESULT}"})
        if compiled:
            precompile(tools / INPROCESS.name)
        command = dataclasses.replace(command, tools=tools, out=out)
        if counting:
            command = counting.command(command, tools, sandbox.layout, layout)
        done = sandbox.run(command, Limits())
        results = read_results(out / RESULT)
        report = parse_report(results[0]) if len(results) == 1 else f"{len(results)} results"
        if not done.ok or not isinstance(report, SelfReport) or report.failed or not report.wall_ns:
            told = report if isinstance(report, str) else report.failed
            raise MachineError(f"{' '.join(command.argv)}: no value ({told}): {done.output[-500:]}")
        instructions = 0
        if counting and report.counter:
            count = loop_count(report.counter, counting.simulator.regions(out), [part for part, _ in report.steps])
            if count.value is None:
                raise MachineError(f"{' '.join(command.argv)}: {count.problem}")
            instructions = count.value
        return Replicate(report.wall_ns / repetitions, instructions / repetitions, done.seconds)


def precompile(module: Path) -> None:
    """Put a module's bytecode for this Python beside it, valid whatever the module's date."""
    cache = Path(cache_from_source(module))
    cache.parent.mkdir()
    cache.write_bytes(_bytecode(module.read_bytes(), module.name))


@functools.cache
def _bytecode(source: bytes, name: str) -> bytes:
    with tempfile.TemporaryDirectory() as scratch:
        path, compiled = Path(scratch, name), Path(scratch, "compiled")
        path.write_bytes(source)
        mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile(str(path), str(compiled), dfile=name, doraise=True, invalidation_mode=mode)
        return compiled.read_bytes()


def simulators(cache: Path, python: Path = Path(sys.executable)) -> Iterator[tuple[str, Emulated]]:
    """Those that this machine has, by name; the others are named on the console."""
    for name, counter in COUNTERS.items():
        if isinstance(counter, Simulator):
            try:
                emulated = Emulated.prepared(counter, counter.prepare(cache, python))
                if emulated is not None:
                    yield name, emulated
            except MachineError as error:
                print(f"{name}: {error}")


def backends(cache: Path, wanted: Collection[str] = ()) -> dict[str, Emulated | None]:
    """All there are here, the wall clock among them, or those that are wanted; raises InputError if one is not here."""
    found: dict[str, Emulated | None] = {**dict(simulators(cache)), WALL: None}
    missing = sorted(set(wanted) - set(found))
    if missing:
        raise InputError(f"no backend {missing[0]} here: choose from {', '.join(found)}")
    return {name: counting for name, counting in found.items() if not wanted or name in wanted}


def metric(found: Replicate, counting: Emulated | None) -> float:
    """What a backend says: instructions under a simulator, else nanoseconds."""
    return found.wall_ns if counting is None else found.instructions


def in_one_line(main: Callable[[], None]) -> None:
    """Run a benchmark; an error that a person can act on is one line."""
    try:
        main()
    except PatchperfError as error:
        raise SystemExit(f"error: {error}") from None


def rounds_of(experiments: int, size: int, pool: int | None) -> NDArray[np.int64]:
    """The rounds of each experiment, of shape (experiments, size): the first so many, all different.

    With ``pool``, each experiment draws its own from that many rounds, none twice.
    """
    if pool is None:
        return np.arange(experiments * size).reshape(experiments, size)
    if pool < size:
        raise InputError(f"an experiment takes {size} rounds, --rounds are only {pool}")
    generator = np.random.default_rng(SEED)
    return np.array([generator.permutation(pool)[:size] for _ in range(experiments)])


class Kept:
    """Replicates by name in a file of JSON lines, one written as soon as it is there.

    ``settings`` stand in the first line; raises InputError where the file has others.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text("utf-8").splitlines(keepends=True) if path.exists() else []
        whole = [json.loads(line) for line in lines if line.endswith("\n")]
        if whole and whole[0] != dict(settings):
            raise InputError(f"{path} was begun with {whole[0]}, not {dict(settings)}: name another --journal")
        self.values = {str(line.pop("name")): Replicate(**line) for line in whole[1:]}
        kept = "".join(line for line in lines if line.endswith("\n")) or json.dumps(dict(settings)) + "\n"
        path.write_text(kept, "utf-8")
        self.path = path

    def replicate(self, name: str, run: Callable[[], Replicate]) -> Replicate:
        """The replicate of that name, run now if the file has none."""
        if name not in self.values:
            found = run()
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"name": name, **dataclasses.asdict(found)}) + "\n")
            self.values[name] = found
        return self.values[name]
