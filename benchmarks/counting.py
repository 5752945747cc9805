"""How exact and how slow the emulators count: spread, linearity, agreement, and the time of the counting pass.

Run it with the project's Python: ``.venv/bin/python benchmarks/counting.py``. Every number comes from fresh processes
in the sandbox that measuring uses. Bodies that need numpy are left out where this Python has none.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from patchperf.config import SandboxSettings
from patchperf.counters.none import NoCounter
from patchperf.counters.preflight import COUNTERS
from patchperf.counters.protocol import Simulator
from patchperf.counters.readings import loop_count
from patchperf.errors import MachineError
from patchperf.measure.counting import Counting
from patchperf.measure.schedule import environment, padding
from patchperf.measure.self_report import SelfReport
from patchperf.measure.tools import RESULT, read_results, write_tools
from patchperf.sandbox.local import local_sandbox
from patchperf.sandbox.protocol import Command, Limits

BODIES = {
    "empty": "pass",
    "integers": "sum(number * number for number in range(300))",
    "floats": "sum(n ** 0.5 / (n + 1.5) for n in range(200))",
    "strings": "','.join(str(n) for n in range(200)).split(',').index('150')",
    "dictionaries": "sorted({str(n): n for n in range(100)}.items())[0]",
    "sets": "len({str(n) for n in range(100)} & {str(n) for n in range(50, 150)})",
    "sorting": "sorted(range(300), key=lambda n: n * 7919 % 301)[0]",
    "exceptions": "[int(x) if x.isdigit() else None for x in ('1', 'a', '22') * 40]",
    "objects": "[type('Point', (), {})() for _ in range(5)]",
    "json": "json.loads(json.dumps([{'a': n, 'b': [n] * 3} for n in range(20)]))",
    "regular expressions": "re.sub(r'(\\w+) (\\w+)', r'\\2 \\1', 'one two three four ' * 10)",
    "numpy, vectorised": "numpy.sqrt(numpy.arange(100_000) * 1.5).sum()",
}
FILE = """import json
import re
{imports}
from patchperf_inprocess import measured

@measured
def body():
    {body}

body()
"""


@dataclass(frozen=True)
class Bench:
    """Runs bodies in a sandbox, natively or under a simulator."""

    work: Path

    def run(
        self, body: str, repetitions: int, counting: Counting | None = None, number: int = 0
    ) -> tuple[float, float]:
        """Nanoseconds and (under a simulator) instructions per repetition, in round ``number``."""
        sandbox = local_sandbox(SandboxSettings(confinement="best-effort"), self.work / "sandbox")
        with tempfile.TemporaryDirectory(dir=self.work) as scratch:
            tree, tools, out = (Path(scratch) / name for name in ("tree", "tools", "out"))
            tree.mkdir()
            out.mkdir()
            imports = "import numpy" if "numpy" in body else ""
            (tree / "run.py").write_text(FILE.format(imports=imports, body=BODIES[body]))
            counter = counting.simulator if counting else NoCounter()
            spec = {"mode": "replicate", "warmup": 10, "repetitions": repetitions, "counter": counter.backend}
            write_tools(tools, {**spec, "out": f"{sandbox.layout.out}/{RESULT}"})
            base = {"PATH": "/usr/bin:/bin", "PYTHONPATH": sandbox.layout.tools}
            command = Command(
                argv=(sys.executable, "run.py"),
                tree=tree,
                environment=environment(base, number, padding(1, number)),
                out=out,
                tools=tools,
                readable=(Path(sys.prefix), Path(sys.base_prefix)),
            )
            if counting:
                command = counting.command(command, tools, sandbox.layout, number)
            done = sandbox.run(command, Limits())
            if not done.ok:
                raise MachineError(f"{body}: {done.output}")
            report = SelfReport.model_validate(read_results(out / RESULT)[0])
            value = 0.0
            if counting and report.counter:
                count = loop_count(report.counter, counting.simulator.regions(out))
                if count.value is None:
                    raise MachineError(f"{body}: {count.problem}")
                value = count.value / repetitions
            return (report.wall_ns or 0) / repetitions, value


def simulators(cache: Path) -> Iterator[tuple[str, Counting]]:
    """Those that this machine has."""
    for name, counter in COUNTERS.items():
        if isinstance(counter, Simulator):
            try:
                yield name, Counting.prepared(counter, counter.prepare(cache, Path(sys.executable)))
            except MachineError as error:
                print(f"{name}: {error}")


def spread(values: list[float]) -> float:
    """Largest over smallest, less one, in parts per million."""
    return (max(values) / min(values) - 1) * 1e6


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Print how long a part took."""
    started = time.perf_counter()
    yield
    print(f"({what}: {time.perf_counter() - started:.0f} s)\n")


def main() -> None:
    """Print one line per body and simulator, then the agreement of the simulators."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=100, help="of the shortest loop (%(default)s)")
    parser.add_argument("--equal", type=int, default=5, help="equal runs (%(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="hash seeds and layouts (%(default)s)")
    options = parser.parse_args()
    bodies = [name for name in BODIES if "numpy" not in name or importlib.util.find_spec("numpy")]
    means: dict[tuple[str, str], float] = {}
    with tempfile.TemporaryDirectory(prefix="patchperf-") as work:
        bench = Bench(Path(work))
        native = {body: min(bench.run(body, 20 * options.repetitions)[0] for _ in range(3)) for body in bodies}
        for name, counting in simulators(Path(work) / "cache"):
            print(f"{name}: {counting.emulation.emulator}, {counting.emulation.cpu}")
            heads = ("per repetition", "equal, ppm", "rounds, ppm", "2N/N", "4N/2N", "slowdown")
            print(f"{'body':<20}", *(f"{head:>14}" for head in heads), sep="")
            with timed(name):
                for body in bodies:
                    equal = [bench.run(body, options.repetitions, counting)[1] for _ in range(options.equal)]
                    rounds = [
                        bench.run(body, options.repetitions, counting, number) for number in range(options.rounds)
                    ]
                    longer = [bench.run(body, factor * options.repetitions, counting)[1] for factor in (2, 4)]
                    first, second = 2 * longer[0] / equal[0], 2 * longer[1] / longer[0]
                    counts = [count for _, count in rounds]
                    means[name, body] = statistics.fmean(counts)
                    slowdown = min(time for time, _ in rounds) / native[body]
                    shown = (f"{means[name, body]:,.1f}", f"{spread(equal):.2f}", f"{spread(counts):.0f}")
                    shown = (*shown, f"{first:.5f}", f"{second:.5f}", f"{slowdown:.1f}")
                    print(f"{body:<20}", *(f"{text:>14}" for text in shown), sep="")
        for body in bodies:
            values = [mean for (_, of), mean in means.items() if of == body]
            if len(values) > 1:
                print(f"{body:<22} the simulators differ by {(max(values) / min(values) - 1) * 100:.3f} %")


if __name__ == "__main__":
    main()
