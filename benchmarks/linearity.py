"""Whether counts of real cases grow with the loop: N, 2N and 4N repetitions of each case's first solution, one seed.

    .venv/bin/python /path/to/benchmarks/linearity.py CONFIG [INSTANCE …]        # in a study's folder

Each count is of a fresh process, the loop with no repetitions taken out. A ratio is that of two counts to two times,
less one: zero where calls are all alike. Garbage is collected before each loop, so that its phase is no part of this.
"""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

from processes import Kept, backends, in_one_line
from snakemake.common.configfile import load_configfile
from variance import CaseBench, cases

from patchperf.config import cache_folder
from patchperf.measure.emulated import Emulated

FACTORS = (1, 2, 4)


def counted(case: CaseBench, emulated: Emulated | None, repetitions: int) -> float:
    """Instructions per repetition of the case's first solution, in a process of its own."""
    name = f"{case.plan.instance_id} {repetitions}"
    return case.kept.replicate(name, lambda: case.process(case.solutions[0], emulated, repetitions, 0, 0)).instructions


def main() -> None:
    """Measure case by case, and print one line for each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("config", help="of the study in the working directory")
    parser.add_argument("instances", nargs="*", help="(all cases that were measured)")
    parser.add_argument("--warmup", type=int, default=10, help="calls before the loop (%(default)s)")
    parser.add_argument("--backend", default="qemu", help="(%(default)s)")
    parser.add_argument("--within", type=float, default=0.005, help="what counts as linear (%(default)s)")
    parser.add_argument("--journal", type=Path, default=Path("results/benchmarks/linearity.jsonl"))
    options = parser.parse_args()
    options.solutions, options.seconds, options.collector = 1, 0.2, "collected"
    kept = Kept(options.journal, {"warmup": options.warmup, "backend": options.backend})
    print(f"{'instance':24}{'N':>6}{'instructions':>16}{'2N / N':>10}{'4N / 2N':>10}")
    linear = []
    for bench, plan in cases(load_configfile(options.config), options.instances):
        emulated = backends(cache_folder(bench.config), [options.backend])[options.backend]
        case = CaseBench(bench, plan, kept, options)
        least = case.repetitions(emulated)
        counts = [counted(case, emulated, factor * least) for factor in FACTORS]
        ratios = [later / earlier - 1 for earlier, later in itertools.pairwise(counts)]
        linear.append(all(abs(ratio) <= options.within for ratio in ratios))
        print(f"{plan.instance_id:24}{least:>6}{counts[0]:>16,.0f}{ratios[0]:>10.3%}{ratios[1]:>10.3%}", flush=True)
    print(f"{sum(linear)} of {len(linear)} cases within {options.within:.1%}")


if __name__ == "__main__":
    in_one_line(main)
