"""Which slow-downs are found: a body that does exactly 0.1, 0.5, 1 and 5 % more work, against itself, per backend.

    .venv/bin/python benchmarks/slow_downs.py [--experiments 40] [--backend qemu] [--journal FILE]

The body and its slowed versions are measured as solutions of a study: each replicate in its own process, round by round
in random order, all with the round's hash seed and layout. An experiment has its own list of rounds; by the wall clock
no other one has any of them, while under a simulator, where a round decides the count, each draws its own from those
that were measured. Each slowed version is tested against the body, by Welch's test, which does not know that rounds are
common, and by the paired test, which does. Detected is what is found slower with p < alpha. "SD" is of the body over
an experiment's rounds, "SD of ratio" that of the slowed version's value over the body's in the same round. Finished
processes are in the journal: the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from processes import WALL, Bench, Kept, Program, backends, in_one_line, metric, noisy_work, rounds_of
from scipy import stats

from patchperf.measure.emulated import Emulated
from patchperf.stats.welch import welch_on_logs

STEPS = 1000
MORE = (0.001, 0.005, 0.01, 0.05)
WARMUP = 2
REPETITIONS = 2
WALL_REPETITIONS = 100


class Backend:
    """One backend's processes: each is one version of the body in one round."""

    def __init__(self, name: str, counting: Emulated | None, bench: Bench, kept: Kept) -> None:
        self.name, self.counting, self.bench, self.kept = name, counting, bench, kept

    def value(self, number: int, steps: int) -> float:
        """The body of so many steps in round ``number``."""
        repetitions = WALL_REPETITIONS if self.counting is None else REPETITIONS
        program: Program = noisy_work(steps)
        found = self.kept.replicate(
            f"{self.name} {number} {steps}",
            lambda: self.bench.run(program, repetitions, self.counting, number, WARMUP),
        )
        return metric(found, self.counting)

    def rounds(self, count: int) -> NDArray[np.float64]:
        """Logarithms of all versions in rounds 0 to ``count`` - 1, (versions, rounds); the body itself comes first.

        Within a round the versions run in random order.
        """
        versions = [STEPS, *(round(STEPS * (1 + more)) for more in MORE)]
        found = np.empty((len(versions), count))
        for number in range(count):
            for version in random.Random(number).sample(range(len(versions)), len(versions)):
                found[version, number] = self.value(number, versions[version])
        return np.log(found)


def paired_p(differences: NDArray[np.float64]) -> float:
    """p of the paired t-test that differences of logarithms have mean zero; without variance it is 0 or 1."""
    if np.ptp(differences) < 1e-12:
        return float(abs(differences[0]) < 1e-12)
    return float(stats.ttest_1samp(differences, 0.0).pvalue)


def table(name: str, experiments: NDArray[np.float64], alpha: float) -> None:
    """One line per slow-down, from logarithms of shape (experiments, versions, replicates)."""
    body = experiments[:, 0]
    for version, more in enumerate(MORE, start=1):
        slowed = experiments[:, version]
        slower = (slowed - body).mean(axis=1) > 0
        welch = np.array([welch_on_logs(np.exp(pair)).p for pair in zip(body, slowed, strict=True)]) < alpha
        paired = np.array([paired_p(one) for one in slowed - body]) < alpha
        spread, of_ratio = (float(np.sqrt(np.mean(np.var(one, axis=1, ddof=1)))) for one in (body, slowed - body))
        cells = (
            f"{name:<12}{more:>9.1%}{np.expm1(np.median(slowed - body)):>11.3%}{len(body):>8}",
            f"{np.mean(welch & slower):>7.0%} {np.mean(paired & slower):>8.0%}",
            f"{spread:>10.3%} {of_ratio:>13.4%}",
        )
        print(" ".join(cells), flush=True)


def main() -> None:
    """Measure, backend by backend, and print one line per slow-down."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--experiments", type=int, default=40, help="(%(default)s)")
    parser.add_argument("--rounds", type=int, default=60, help="measured under a simulator (%(default)s)")
    parser.add_argument("--replicates", type=int, default=5, help="per version (%(default)s)")
    parser.add_argument("--alpha", type=float, default=0.05, help="(%(default)s)")
    parser.add_argument("--backend", action="append", default=[], help=f"qemu, callgrind, {WALL} (all that are here)")
    parser.add_argument("--journal", type=Path, default=Path("results/benchmarks/slow_downs.jsonl"))
    options = parser.parse_args()
    settings = {"steps": STEPS, "warmup": WARMUP, "repetitions": [REPETITIONS, WALL_REPETITIONS]}
    kept = Kept(options.journal, settings)
    print("backend     slow-down   measured  number   Welch   paired         SD   SD of ratio")
    with tempfile.TemporaryDirectory(prefix="patchperf-") as work:
        for name, counting in backends(Path(work) / "cache", options.backend).items():
            backend = Backend(name, counting, Bench(Path(work)), kept)
            lists = rounds_of(options.experiments, options.replicates, None if counting is None else options.rounds)
            logs = backend.rounds(lists.max() + 1)
            table(name, logs[:, lists].swapaxes(0, 1), options.alpha)


if __name__ == "__main__":
    in_one_line(main)
