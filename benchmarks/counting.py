"""How exact and how slow the emulators count: spread, linearity, agreement, and the time of the counting pass.

Run it with the project's Python: ``.venv/bin/python benchmarks/counting.py``. Every number comes from fresh processes
in the sandbox that measuring uses. Bodies that need numpy are left out where this Python has none.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from processes import Bench, Program, simulators

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
IMPORTS = ("json", "re", "numpy")


def program(body: str) -> Program:
    """A body with the imports that it needs."""
    return Program(body, "\n".join(f"import {name}" for name in IMPORTS if f"{name}." in body))


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
    bodies = {
        name: program(body) for name, body in BODIES.items() if "numpy" not in body or importlib.util.find_spec("numpy")
    }
    means: dict[tuple[str, str], float] = {}
    with tempfile.TemporaryDirectory(prefix="patchperf-") as work:
        bench = Bench(Path(work))
        native = {
            name: min(bench.run(body, 20 * options.repetitions).wall_ns for _ in range(3))
            for name, body in bodies.items()
        }
        for name, counting in simulators(Path(work) / "cache"):
            print(f"{name}: {counting.emulation.emulator}, {counting.emulation.cpu}")
            heads = ("per repetition", "equal, ppm", "rounds, ppm", "2N/N", "4N/2N", "slowdown")
            print(f"{'body':<20}", *(f"{head:>14}" for head in heads), sep="")
            with timed(name):
                for what, body in bodies.items():
                    equal = [bench.run(body, options.repetitions, counting).instructions for _ in range(options.equal)]
                    rounds = [
                        bench.run(body, options.repetitions, counting, number) for number in range(options.rounds)
                    ]
                    longer = [bench.run(body, factor * options.repetitions, counting).instructions for factor in (2, 4)]
                    first, second = 2 * longer[0] / equal[0], 2 * longer[1] / longer[0]
                    counts = [found.instructions for found in rounds]
                    means[name, what] = statistics.fmean(counts)
                    slowdown = min(found.wall_ns for found in rounds) / native[what]
                    shown = (f"{means[name, what]:,.1f}", f"{spread(equal):.2f}", f"{spread(counts):.0f}")
                    shown = (*shown, f"{first:.5f}", f"{second:.5f}", f"{slowdown:.1f}")
                    print(f"{what:<20}", *(f"{text:>14}" for text in shown), sep="")
        for body in bodies:
            values = [mean for (_, of), mean in means.items() if of == body]
            if len(values) > 1:
                print(f"{body:<22} the simulators differ by {(max(values) / min(values) - 1) * 100:.3f} %")


if __name__ == "__main__":
    main()
