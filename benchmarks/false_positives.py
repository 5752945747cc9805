"""How often Welch's test tells one solution from itself (A/A): per backend, beside what theory gives.

    .venv/bin/python benchmarks/false_positives.py [--experiments 200] [--backend qemu] [--journal FILE]

One body is measured as two solutions, each replicate in its own process: round by round both have the same hash seed
and layout, as in a study, and no two rounds have the same. An experiment has its own list of rounds. Two designs:

- common: both solutions in the same rounds, as in a study;
- independent: the second solution in other rounds than the first, which is what the test assumes.

By the wall clock every experiment has rounds that no other one has (in the independent design the second solution's are
those of the next experiment). A count is decided by its round, so under a simulator fewer rounds are measured, and each
experiment draws its own from them, none twice.

Theory's rate is simulated: equal normal groups through the same test. A rate is told to be inside if its number of
false positives lies in the 99 % binomial interval of theory's rate. "resampled" is the test's rate on experiments drawn
from all values that the backend gave, which says what their distribution alone does to it; "equal" counts experiments
with the same values in both groups; SD is of all values. Finished processes are in the journal: the same command goes
on where it was stopped.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from processes import SEED, WALL, Bench, Kept, backends, in_one_line, metric, noisy_work, rounds_of
from scipy import stats

from patchperf.measure.emulated import Emulated
from patchperf.stats.welch import welch_on_logs

STEPS = 200
WARMUP = 2
REPETITIONS = 3
WALL_REPETITIONS = 400

Experiment = tuple[NDArray[np.float64], NDArray[np.float64]]


class Backend:
    """One backend's processes: each is the body in one round, measured as one of two equal solutions."""

    def __init__(self, name: str, counting: Emulated | None, bench: Bench, kept: Kept) -> None:
        self.name, self.counting, self.bench, self.kept = name, counting, bench, kept
        self.program = noisy_work(STEPS)

    def value(self, number: int, solution: int) -> float:
        """The body in round ``number`` as solution 0 or 1."""
        repetitions = WALL_REPETITIONS if self.counting is None else REPETITIONS
        found = self.kept.replicate(
            f"{self.name} {number} {solution}",
            lambda: self.bench.run(self.program, repetitions, self.counting, number, WARMUP),
        )
        return metric(found, self.counting)

    def rounds(self, count: int) -> NDArray[np.float64]:
        """The values of rounds 0 to ``count`` - 1, of shape (solutions, rounds); in each the first to run is drawn."""
        found = np.empty((2, count))
        for number in range(count):
            for solution in random.Random(number).sample((0, 1), 2):
                found[solution, number] = self.value(number, solution)
        return found

    def lists(self, experiments: int, replicates: int, pool: int) -> NDArray[np.int64]:
        """The rounds of both solutions in each experiment of the independent design, (experiments, 2, replicates)."""
        if self.counting is not None:
            return rounds_of(experiments, 2 * replicates, pool).reshape(experiments, 2, replicates)
        own = rounds_of(experiments, replicates, None)
        return np.stack([own, np.roll(own, -1, axis=0)], axis=1)


def rejected(experiments: Sequence[Experiment], alpha: float) -> int:
    """Experiments whose p is below alpha."""
    return sum(welch_on_logs(groups).p < alpha for groups in experiments)


def rate_of(logs: NDArray[np.float64], alpha: float) -> float:
    """Share of p < alpha, for logarithms of shape (experiments, 2, replicates).

    For two groups Welch's test is his t-test. Equal values in both groups of an experiment: p is 1 if their means are
    equal, else 0.
    """
    size = logs.shape[2]
    difference = np.diff(logs.mean(axis=2), axis=1)[:, 0]
    first, second = (logs.var(axis=2, ddof=1) / size).T
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(difference == 0, 0.0, np.abs(difference) / np.sqrt(first + second))
        freedom = (first + second) ** 2 * (size - 1) / (first**2 + second**2)
    p = 2 * stats.t.sf(t, np.where(np.isnan(freedom), size - 1, freedom))
    return float(np.mean(p < alpha))


def theory(replicates: int, alpha: float, draws: int) -> float:
    """The rate on equal normal groups; checks on the first hundred that both ways to compute the test agree."""
    logs = np.random.default_rng(SEED).normal(0, 0.01, (draws, 2, replicates))
    for pair in logs[:100]:
        p = welch_on_logs(np.exp(pair)).p
        if (p < alpha) != (rate_of(pair[np.newaxis], alpha) == 1):
            raise AssertionError(f"two ways to compute Welch's test differ at p = {p}")
    return rate_of(logs, alpha)


def interval(rate: float, number: int) -> tuple[int, int]:
    """The 99 % interval of a binomial number of events."""
    low, high = stats.binom.interval(0.99, number, rate)
    return int(low), int(high)


def shown(name: str, design: str, experiments: Sequence[Experiment], expected: float, alpha: float) -> str:
    """One line of the table."""
    number, found = len(experiments), rejected(experiments, alpha)
    low, high = interval(expected, number)
    logs = np.log(np.array(experiments))
    drawn = np.random.default_rng(SEED).choice(logs.ravel(), (20_000, 2, logs.shape[2]))
    equal = sum(np.array_equal(first, second) for first, second in experiments)
    verdict = "inside" if low <= found <= high else "below" if found < low else "ABOVE"
    cells = (
        f"{name:<12}{design:<12}{number:>8}{found:>7} {found / number:>7.1%}",
        f"{low / number:>8.1%} to {high / number:<6.1%} {verdict:<8}",
        f"{rate_of(drawn, alpha):>9.1%} {equal:>7} {np.std(logs, ddof=1):>9.3%}",
    )
    return " ".join(cells)


def main() -> None:
    """Measure, backend by backend, and print one line per backend and design."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--experiments", type=int, default=200, help="(%(default)s)")
    parser.add_argument("--rounds", type=int, default=300, help="measured under a simulator (%(default)s)")
    parser.add_argument("--replicates", type=int, default=5, help="per solution (%(default)s)")
    parser.add_argument("--alpha", type=float, default=0.05, help="(%(default)s)")
    parser.add_argument("--draws", type=int, default=200_000, help="simulated experiments (%(default)s)")
    parser.add_argument("--backend", action="append", default=[], help=f"qemu, callgrind, {WALL} (all that are here)")
    parser.add_argument("--journal", type=Path, default=Path("results/benchmarks/false_positives.jsonl"))
    options = parser.parse_args()
    expected = theory(options.replicates, options.alpha, options.draws)
    print(
        f"theory, {options.draws} simulated: {expected:.2%} at alpha {options.alpha}, G = {options.replicates}, k = 2"
    )
    settings = {"steps": STEPS, "warmup": WARMUP, "repetitions": [REPETITIONS, WALL_REPETITIONS]}
    kept = Kept(options.journal, settings)
    print("backend     design        number  found    rate   99 % of theory            resampled   equal        SD")
    with tempfile.TemporaryDirectory(prefix="patchperf-") as work:
        for name, counting in backends(Path(work) / "cache", options.backend).items():
            backend = Backend(name, counting, Bench(Path(work)), kept)
            lists = backend.lists(options.experiments, options.replicates, options.rounds)
            first, second = backend.rounds(lists.max() + 1)
            common = [(first[own], second[own]) for own, _ in lists]
            independent = [(first[own], second[other]) for own, other in lists]
            for design, experiments in (("common", common), ("independent", independent)):
                print(shown(name, design, experiments, expected, options.alpha), flush=True)


if __name__ == "__main__":
    in_one_line(main)
