"""Time and memory of all statistics for a corpus of so many cases.

    .venv/bin/python benchmarks/statistics_scale.py [--cases 400 10000] [--sources 6] [--replicates 5]

Every source has a solution of its own in every case, on two metrics: the most pairs and tests that there can be. Each
corpus is analysed in a process of its own; memory is the largest that it had. Ratios are to the first corpus.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time

import numpy as np
import pandas as pd

from patchperf.stats.cases import case_statistics
from patchperf.stats.champions import champion_votes
from patchperf.stats.contrasts import contrasts
from patchperf.stats.distinguishable import distinguishable_counts
from patchperf.stats.samples import members_of, solution_statistics
from patchperf.stats.schema import MEASUREMENTS, typed
from patchperf.stats.speedup import pair_ratios, speedups

METRICS = {"instructions": ("qemu", 0.003), "wall_ns": ("perf_counter_ns", 0.03)}
MEGABYTE = 1024


def corpus(cases: int, sources: int, replicates: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Measurements and their cases: logarithms normal around a mean for each solution."""
    random = np.random.default_rng(1)
    names = [f"owner__name-{number}" for number in range(cases)]
    solutions = [f"{number:010x}" for number in range(sources)]
    index = pd.MultiIndex.from_product(
        [names, solutions, range(replicates), METRICS], names=["instance_id", "solution", "replicate", "metric"]
    )
    means = 20 + 0.02 * random.standard_normal((cases, sources, 1, 1))
    noise = np.array([spread for _, spread in METRICS.values()])
    logs = means + noise * random.standard_normal((cases, sources, replicates, len(METRICS)))
    rows = index.to_frame(index=False).assign(value=np.exp(logs).ravel(), repetitions=100, void=False, not_covered="")
    rows["backend"] = rows["metric"].map({metric: backend for metric, (backend, _) in METRICS.items()})
    listed = [(name, solution, [f"m{n}"]) for name in names for n, solution in enumerate(solutions)]
    return typed(rows, MEASUREMENTS), pd.DataFrame(listed, columns=["instance_id", "solution", "sources"])


def analyse(cases: int, sources: int, replicates: int) -> tuple[dict[str, float], float]:
    """Seconds by table, and the process's largest memory in megabytes."""
    measurements, listed = corpus(cases, sources, replicates)
    seconds: dict[str, float] = {}
    started = time.perf_counter()

    def done(table: str) -> None:
        nonlocal started
        seconds[table] = time.perf_counter() - started
        started = time.perf_counter()

    members = members_of(listed)
    solutions = solution_statistics(measurements, members)
    done("solutions")
    table = case_statistics(measurements, members, 0.05)
    distinguishable_counts(table)
    done("cases")
    contrasts(measurements, members, 0.05)
    done("contrasts")
    pairs = pair_ratios(members, solutions, table)
    done("pairs")
    speedups(pairs, 1)
    done("speedups")
    champion_votes(members, solutions, table)
    done("champions")
    return seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MEGABYTE


def main() -> None:
    """Print a line for each corpus."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, nargs="+", default=[400, 10_000], help="(%(default)s)")
    parser.add_argument("--sources", type=int, default=6, help="(%(default)s)")
    parser.add_argument("--replicates", type=int, default=5, help="(%(default)s)")
    options = parser.parse_args()
    first = None
    for cases in options.cases:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            seconds, memory = pool.apply(analyse, (cases, options.sources, options.replicates))
        total = sum(seconds.values())
        first = first or total
        parts = ", ".join(f"{table} {spent:.1f}" for table, spent in seconds.items())
        print(f"{cases:>7,} cases: {total:6.1f} s (x {total / first:.1f}), {memory:,.0f} MB: {parts}", flush=True)


if __name__ == "__main__":
    main()
