"""Where the variance of a study's cases comes from: hash seed, memory layout, equal runs; and the power it leaves.

    .venv/bin/python benchmarks/variance.py CONFIG [INSTANCE ...] [--seeds 4] [--layouts 3] [--runs 1] [--solutions 2]

run in the folder of a study whose corpus, cases and host are there. Every combination of hash seeds and layouts is
measured so many times per case and solution, each in its own process with a short loop, in random order. The
variances of the logarithms are split by the method of moments for two crossed random factors; printed are relative
standard deviations in percent. "rest" is the interaction with, if there is one run of each, that of equal runs; "run"
that of equal runs alone. "pair" is the deviation of the ratio of two solutions at equal seed and layout. Negative
estimates are printed as 0.

The second table is the power to find a difference at equal measuring time: few replicates with long loops against many
with short ones, by Welch's test and by the paired test on common seeds; the median over the cases. Each replicate has
another seed and another layout. What equal runs add is taken to shrink with the loop's length, as independent
noise does (--constant: to stay as it is); seeds and layouts are the process's own, and no loop averages them.
Finished processes are in the journal: the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import os
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from processes import WALL, Kept, Replicate, backends, in_one_line, metric, replicate
from snakemake.common.configfile import load_configfile
from snakemake.iocontainers import Wildcards

from patchperf import script
from patchperf.config import cache_folder
from patchperf.errors import InputError
from patchperf.measure.case import CasePlan, Solution
from patchperf.measure.emulated import Emulated
from patchperf.measure.schedule import environment, padding
from patchperf.sandbox.protocol import Command
from patchperf.stats.variance import Components, power, variance_components
from patchperf.study.measuring import read_plan
from patchperf.study.workbench import Workbench

ROOT = Path(__file__).resolve().parent.parent
DESIGNS = ((5, 8.0), (10, 4.0), (20, 2.0), (40, 1.0))
DIFFERENCE = float(np.log1p(0.005))
COUNTED_SECONDS = 1.0


@dataclass(frozen=True)
class Findings:
    """Of one case and backend: components of logarithms, the deviation of the ratio of two solutions (NaN for one),
    the loop's seconds, and what the process takes beside it."""

    components: Components
    pair: float
    loop_seconds: float
    other_seconds: float

    def deviation(self, seconds: float, *, constant: bool) -> float:
        """Of one value of a solution, with a loop of so many seconds and a seed and a layout of its own."""
        parts = self.components
        run = 0.0 if np.isnan(parts.run) else max(0.0, parts.run)
        scale = 1.0 if constant else self.loop_seconds / seconds
        return float(
            np.sqrt(sum(max(0.0, part) for part in (parts.first, parts.second, parts.interaction)) + run * scale)
        )

    def found(self, replicates: int, seconds: float, alpha: float, *, constant: bool) -> tuple[float, float]:
        """Power of Welch's and of the paired test; without any variance all is found."""
        alone = self.deviation(seconds, constant=constant)
        welch = power(DIFFERENCE, alone, replicates, alpha, paired=False) if alone > 0 else 1.0
        if np.isnan(self.pair):
            return welch, float("nan")
        return welch, power(DIFFERENCE, self.pair, replicates, alpha, paired=True) if self.pair > 0 else 1.0


class CaseBench:
    """One case's processes, with a short loop each."""

    def __init__(self, bench: Workbench, plan: CasePlan, kept: Kept, options: argparse.Namespace) -> None:
        self.bench, self.plan, self.kept, self.options = bench, plan, kept, options
        self.solutions = plan.solutions[: options.solutions]
        self.warm: set[str] = set()

    def process(
        self, solution: Solution, counting: Emulated | None, repetitions: int, seed: int, layout: int
    ) -> Replicate:
        """One process that counts: the bytecode caches of the solution's tree are filled, by a native run before."""
        if solution.id not in self.warm:
            self.once(solution, None, 1, 0, 0)
            self.warm.add(solution.id)
        return self.once(solution, counting, repetitions, seed, layout)

    def once(
        self, solution: Solution, counting: Emulated | None, repetitions: int, seed: int, layout: int
    ) -> Replicate:
        """One process."""
        command = Command(
            argv=self.plan.argv,
            tree=solution.tree,
            environment=environment(self.plan.environment, seed, padding(self.plan.seed, layout)),
            readable=self.plan.readable,
            timeout=self.plan.timeout,
        )
        return replicate(
            self.bench.sandbox,
            command,
            self.bench.work,
            repetitions,
            counting,
            layout=layout,
            warmup=self.options.warmup,
            collector=self.options.collector,
        )

    def repetitions(self, counting: Emulated | None) -> int:
        """As many as take the wanted time on the first solution."""
        name = f"{self.plan.instance_id} trial"
        seconds = self.kept.replicate(name, lambda: self.process(self.solutions[0], None, 3, 0, 0)).wall_ns / 1e9
        slowdown = counting.simulator.slowdown if counting else 1.0
        return max(1, int((COUNTED_SECONDS if counting else self.options.seconds) / seconds / slowdown))

    def cells(self, name: str, counting: Emulated | None) -> dict[tuple[int, int, int, int], Replicate]:
        """All processes of a backend by solution, seed, layout and run."""
        options, instance = self.options, self.plan.instance_id
        sizes = (len(self.solutions), options.seeds, options.layouts, options.runs)
        cells = list(itertools.product(*map(range, sizes)))
        repetitions = self.repetitions(counting)
        random.Random(instance).shuffle(cells)
        return {
            cell: self.kept.replicate(
                f"{instance} {name} {self.solutions[cell[0]].id} {' '.join(map(str, cell[1:]))}",
                lambda cell=cell: self.process(self.solutions[cell[0]], counting, repetitions, cell[1], cell[2]),
            )
            for cell in cells
        }

    def findings(self, name: str, counting: Emulated | None) -> Findings:
        """The variance of the first solution, and of its ratio to the second."""
        found = self.cells(name, counting)
        logs = self.logarithms(found, counting)
        own = [seconds.seconds for seconds in found.values()]
        loops = [seconds.wall_ns * self.repetitions(counting) / 1e9 for seconds in found.values()]
        pair = float(np.std((logs[1] - logs[0]).mean(axis=2), ddof=1)) if len(logs) > 1 else float("nan")
        loop = float(np.median(loops))
        return Findings(variance_components(logs[0]), pair, loop, float(np.median(own)) - loop)

    def logarithms(
        self, found: Mapping[tuple[int, int, int, int], Replicate], counting: Emulated | None
    ) -> NDArray[np.float64]:
        """Of shape (solutions, seeds, layouts, runs)."""
        logs = np.empty((len(self.solutions), self.options.seeds, self.options.layouts, self.options.runs))
        for cell, value in found.items():
            logs[cell] = np.log(metric(value, counting))
        return logs


def cases(config: Mapping[str, Any], names: list[str]) -> Iterator[tuple[Workbench, CasePlan]]:
    """The workbench and plan of each case of the study in the working directory."""
    told = Path("results/host.json")
    if not told.exists():
        raise InputError(f"{told.absolute()} is missing: run this in the folder of a study that got as far as its host")
    chosen = names or sorted(path.stem for path in Path("results/measurements").glob("*.json"))
    for name in chosen:
        job = SimpleNamespace(
            config=config,
            rule=f"benchmark-{os.getpid()}",
            scriptdir=str(ROOT / "scripts"),
            wildcards=Wildcards(fromdict={"instance": name}),
        )
        with script.workbench(job) as bench:
            probe = f"results/probes/{name}.json"
            yield bench, read_plan(bench, cases="results/cases.parquet", probe=probe, host=told)


def relative(variance: float) -> str:
    """A variance of logarithms as a relative standard deviation."""
    return f"{'-':>9}" if np.isnan(variance) else f"{np.sqrt(max(0.0, variance)):>9.3%}"


def line(name: str, backend: str, parts: Components, pair: float) -> str:
    """One line of the first table."""
    cells = [relative(part) for part in (parts.first, parts.second, parts.interaction, parts.run, pair**2)]
    return f"{name:24}{backend:12}{''.join(cells)}"


def powers(backend: str, findings: list[Findings], options: argparse.Namespace) -> None:
    """The second table's lines of one backend."""
    other = float(np.median([one.other_seconds for one in findings]))
    for replicates, seconds in DESIGNS:
        found = [one.found(replicates, seconds, options.alpha, constant=options.constant) for one in findings]
        welch, paired = (np.array(column) for column in zip(*found, strict=True))
        pairs = paired[~np.isnan(paired)]
        shown = f"{np.median(pairs):>9.0%} ({len(pairs)} cases)" if len(pairs) else f"{'-':>9}"
        whole = replicates * (seconds + other)
        print(f"{backend:12}{replicates:>4} x {seconds:.0f} s{whole:>10.0f} s{np.median(welch):>9.0%}{shown}")


def main() -> None:
    """Measure case by case; print the components, their medians, and the power."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("config", help="of the study in the working directory")
    parser.add_argument("instances", nargs="*", help="(all cases that were measured)")
    parser.add_argument("--seeds", type=int, default=4, help="(%(default)s)")
    parser.add_argument("--layouts", type=int, default=3, help="(%(default)s)")
    parser.add_argument("--runs", type=int, default=1, help="equal runs of each combination (%(default)s)")
    parser.add_argument("--solutions", type=int, choices=(1, 2), default=2, help="per case (%(default)s)")
    parser.add_argument("--seconds", type=float, default=0.2, help="of the loop by the wall clock (%(default)s)")
    parser.add_argument("--warmup", type=int, default=10, help="calls before the loop (%(default)s)")
    parser.add_argument("--collector", default="untouched", help="untouched, collected or off (%(default)s)")
    parser.add_argument("--alpha", type=float, default=0.05, help="(%(default)s)")
    parser.add_argument("--constant", action="store_true", help="longer loops do not average what equal runs add")
    parser.add_argument("--backend", action="append", default=[], help=f"qemu, callgrind, {WALL} (all that are here)")
    parser.add_argument("--journal", type=Path, default=Path("results/benchmarks/variance.jsonl"))
    options = parser.parse_args()
    settings = {"seconds": options.seconds, "warmup": options.warmup, "collector": options.collector}
    kept = Kept(options.journal, settings)
    findings: dict[str, list[Findings]] = {}
    print(f"{'instance':24}{'backend':12}{'seed':>9}{'layout':>9}{'rest':>9}{'run':>9}{'pair':>9}")
    for bench, plan in cases(load_configfile(options.config), options.instances):
        case = CaseBench(bench, plan, kept, options)
        for name, counting in backends(cache_folder(bench.config), options.backend).items():
            found = case.findings(name, counting)
            findings.setdefault(name, []).append(found)
            print(line(plan.instance_id, name, found.components, found.pair), flush=True)
    print()
    for name, found in findings.items():
        parts = np.median([dataclasses.astuple(one.components) for one in found], axis=0)
        middle = Components(*map(float, parts))
        pairs = [one.pair for one in found if not np.isnan(one.pair)]
        print(line(f"median of {len(found)}", name, middle, float(np.median(pairs)) if pairs else float("nan")))
    print(f"\n{'backend':12}{'design':>10}{'with start':>13}{'Welch':>9}{'paired':>9}   (power at 0.5 %)")
    for name, found in findings.items():
        powers(name, found, options)


if __name__ == "__main__":
    in_one_line(main)
