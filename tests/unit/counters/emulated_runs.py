"""One measured function under a real emulator on this machine."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from pathlib import Path

from patchperf.counters.protocol import Count, Region, Simulator
from patchperf.counters.readings import loop_count
from patchperf.measure.schedule import environment, padding
from patchperf.measure.self_report import SelfReport
from patchperf.measure.tools import RESULT, read_results, write_tools

ALONE = ("bwrap", "--dev-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "--die-with-parent")
"""In a pid namespace, as in sandboxes: what a process reads of its machine moves the phase of its garbage collector."""

FIXED = {"PATH": "/usr/bin:/bin"}
UNWRITTEN = {"PYTHONDONTWRITEBYTECODE": "1"}
HEAD = "from patchperf_inprocess import measured\n"
BODIES: dict[str, str] = {
    "integers": "@measured\ndef body():\n    return sum(number * number for number in range(200))\n",
    "floats": "@measured\ndef body():\n    return sum(n ** 0.5 / (n + 1.5) for n in range(150))\n",
    "calls": """
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
@measured
def body():
    return fib(9)
""",
    "lookups": """
TABLE = {str(n): n for n in range(50)}
WORDS = list(TABLE)
@measured
def body():
    return sum(TABLE[word] for word in WORDS if word in TABLE)
""",
    "attributes": """
class Point:
    def __init__(self, x):
        self.x = x
    def moved(self):
        self.x += 1
        return self.x
POINTS = [Point(n) for n in range(20)]
@measured
def body():
    for point in POINTS:
        point.moved()
        point.x = 0
""",
    "strings": """
TEXT = "the quick brown fox jumps over the lazy dog"
@measured
def body():
    return sum(letter in "aeiou" or TEXT.startswith(letter) for letter in TEXT)
""",
}
"""None keeps what it makes."""

MIXED = "@measured\ndef body():\n    return sorted({str(n): n for n in range(12)}.items())[0]\n"

BARE = """
import itertools
import sys
import patchperf_inprocess

def body():
    pass

def loop(repetitions):
    for _ in itertools.repeat(None, repetitions):
        body()

counter = patchperf_inprocess.open_counter(sys.argv[1])
for repetitions in (0, 1000):
    counter.start()
    loop(repetitions)
    counter.stop()
"""
EMPTY = "@measured\ndef body():\n    pass\n"


class Emulated:
    """A simulator with the folder it was prepared in, and a scratch folder.

    The garbage collector starts a loop afresh: else the marks of a simulator, which allocate other objects than those
    of another one, decide whether one more collection falls into the loop.
    """

    collector = "collected"

    def __init__(self, simulator: Simulator, folder: Path, scratch: Path) -> None:
        self.simulator = simulator
        self.folder = folder
        self.out, self.tools = scratch / "out", scratch / "tools"

    def report(self, source: str, repetitions: int, *, layout: int = 0) -> tuple[SelfReport, Count]:
        """What a function told of itself, and the reading of its loop."""
        spec = {"mode": "replicate", "warmup": 20, "repetitions": repetitions, "out": f"{self.out}/{RESULT}"}
        write_tools(self.tools, spec | {"counter": self.simulator.backend, "collector": self.collector})
        regions = self.regions(f"{HEAD}{source}body()\n", layout)
        (record,) = read_results(self.out / RESULT)
        report = SelfReport.model_validate(record)
        assert report.counter is not None
        return report, loop_count(report.counter, regions, [count for count, _ in report.steps])

    def regions(self, source: str, layout: int = 0) -> list[Region]:
        """The regions that a script marks; its one argument is the backend's name."""
        shutil.rmtree(self.out, ignore_errors=True)
        self.out.mkdir()
        if not self.tools.exists():
            write_tools(self.tools, {})
        (self.tools / "body.py").write_text(source)
        words = self.simulator.words(self.folder, str(self.out), layout)
        done = subprocess.run(
            [*ALONE, *words, sys.executable, "body.py", self.simulator.backend],
            cwd=self.tools,
            env=environment(FIXED | self.simulator.environment, 0, padding(1, layout)) | UNWRITTEN,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return self.simulator.regions(self.out)

    def count(self, source: str, repetitions: int, *, layout: int = 0) -> int:
        """Instructions of the loop of a function in a new process."""
        count = self.report(source, repetitions, layout=layout)[1]
        assert count.problem is None
        assert count.value is not None
        return count.value

    @functools.cache  # noqa: B019  (as many entries as a test module asks for)
    def known(self, source: str, repetitions: int) -> int:
        """As ``count``, from the first process with these arguments."""
        return self.count(source, repetitions)
