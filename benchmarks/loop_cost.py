"""What the measured loop itself costs, against a bare ``itertools.repeat`` loop around the same call.

Run it with any Python from 3.7 on: ``python benchmarks/loop_cost.py``. The two loops take turns in short rounds, and
the best round of each counts, so that other load on the machine matters as little as it can.
"""

import argparse
import importlib.util
import itertools
import sys
import time
from pathlib import Path

INPROCESS = Path(__file__).parents[1] / "src" / "patchperf" / "inprocess" / "patchperf_inprocess.py"


class Case:
    """A test class, for the call with only ``self``."""

    def method(self):
        """Do nothing."""


def plain():
    """Do nothing."""


def with_fixtures(one, two):
    """Do nothing with what a runner passes by keyword."""


def bare_plain(function, calls, clock):
    """Nanoseconds of the loop that everything is compared with."""
    start = clock()
    for _ in calls:
        function()
    return clock() - start


def bare_method(function, calls, clock, instance):
    """The same around a method."""
    start = clock()
    for _ in calls:
        function(instance)
    return clock() - start


def bare_keywords(function, calls, clock, one, two):
    """The same around a call with keywords."""
    start = clock()
    for _ in calls:
        function(one=one, two=two)
    return clock() - start


SHAPES = (
    ("no arguments", plain, bare_plain, (), {}),
    ("method", Case.method, bare_method, (Case(),), {}),
    ("keywords", with_fixtures, bare_keywords, (), {"one": 1, "two": 2}),
)


def load_inprocess():
    """The in-process module, from its file: it belongs to no package."""
    spec = importlib.util.spec_from_file_location("patchperf_inprocess", str(INPROCESS))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compare(inprocess, shape, repetitions, rounds):
    """Nanoseconds per repetition of the bare loop and of ours, each the best of its rounds."""
    _, function, bare, args, kwargs = shape
    loops, bound, _ = inprocess.compile_loops("def", "function", function, args, kwargs)
    times = {"bare": [], "ours": []}
    for _ in range(rounds):
        calls = itertools.repeat(None, repetitions)
        times["bare"].append(bare(function, calls, time.perf_counter_ns, *args, *kwargs.values()))
        calls = itertools.repeat(None, repetitions)
        times["ours"].append(loops["loop"](function, calls, time.perf_counter_ns, *bound)[0])
    return tuple(min(times[which]) / repetitions for which in ("bare", "ours"))


def main():
    """Print one line per shape of call."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=5_000, help="calls per round (%(default)s)")
    parser.add_argument("--rounds", type=int, default=1_500, help="rounds of each loop (%(default)s)")
    options = parser.parse_args()
    inprocess = load_inprocess()
    print(f"Python {sys.version.split()[0]}, nanoseconds per repetition of an empty body")
    print(f"{'call':<14}{'bare':>8}{'ours':>8}{'more':>8}{'ratio':>8}")
    for shape in SHAPES:
        bare, ours = compare(inprocess, shape, options.repetitions, options.rounds)
        print(f"{shape[0]:<14}{bare:>8.2f}{ours:>8.2f}{ours - bare:>+8.2f}{ours / bare:>8.3f}")


if __name__ == "__main__":
    main()
