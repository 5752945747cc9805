"""How often each test calls a case, where the truth is known: false positives, power, and what RSD does meanwhile.

    .venv/bin/python benchmarks/simulation.py [--cases 10000] [--replicates 5] [--alpha 0.05]

Logarithms of measurements are drawn: y = solution's effect + round's effect + noise, all normal, in units of relative
size. Printed per setting and number of solutions k is the share of cases that each test calls at alpha, in percent.

- Welch, blocks, Friedman, permutation: the table of cases; pairs: any Games-Howell pair below alpha; paired: any paired
  t below alpha after Holm; practical: the column of that name.
- In "equal" settings no solution differs: a good test calls alpha of them. In the others it should call them all. Over-
  split: one solution differs from all others, which are equal, so that only their number grows.
- Noise is 0.3 %, in "unequal" settings from 0.1 to 0.5 % from one solution to the next. Rounds add nothing, or what the
  pilot on real cases saw for hash seeds: 0.36 % beside a noise of 0.06 or 0.015 % (pairs of solutions then differ from
  round to round by 0.08 and 0.02 %), or 9 %.

The second table is the RSD of the same measurements: its median where nothing differs, and over-split.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from patchperf.stats.blocks import block_tests, paired_tests
from patchperf.stats.dispersion import relative_standard_deviation
from patchperf.stats.layout import moments
from patchperf.stats.multiplicity import holm
from patchperf.stats.pairwise import games_howell
from patchperf.stats.permutation import friedman_tests, permutation_tests
from patchperf.stats.welch import welch_tests

SEED = 1
SOLUTIONS = (2, 3, 4, 6, 8)
TESTS = ("Welch", "blocks", "Friedman", "permutation", "pairs", "paired", "practical")
THRESHOLD = 0.01

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Setting:
    """A world: standard deviations of noise (of a solution, cycled) and of rounds, and what one solution differs by."""

    name: str
    noise: tuple[float, ...]
    rounds: float = 0.0
    difference: float = 0.0
    spread: bool = False

    def effects(self, k: int) -> Floats:
        """Of k solutions: all but the last equal, or with ``spread`` evenly apart from nothing to the difference."""
        return np.linspace(0, self.difference, k) if self.spread else self.difference * (np.arange(k) == k - 1)

    def logs(self, cases: int, k: int, replicates: int, random: np.random.Generator) -> Floats:
        """Logarithms of shape (cases, k, replicates)."""
        noise = np.resize(self.noise, k)[:, np.newaxis] * random.standard_normal((cases, k, replicates))
        rounds = self.rounds * random.standard_normal((cases, 1, replicates))
        drawn: Floats = self.effects(k)[:, np.newaxis] + rounds + noise
        return drawn


EQUAL, UNEQUAL = (0.003,), (0.001, 0.005, 0.003)
SETTINGS = (
    Setting("equal, noise alike", EQUAL),
    Setting("equal, noise unequal", UNEQUAL),
    Setting("equal, rounds 0.36 %", (0.0006,), 0.0036),
    Setting("equal, rounds 0.36 %, noise unequal", (0.0002, 0.001, 0.0006), 0.0036),
    Setting("equal, rounds 9 %", (0.0006,), 0.09),
    Setting("one 0.5 % off (over-split)", EQUAL, difference=0.005),
    Setting("one 0.5 % off (over-split), noise unequal", UNEQUAL, difference=0.005),
    Setting("evenly apart up to 0.5 %", EQUAL, difference=0.005, spread=True),
    Setting("one 0.1 % off, rounds 0.36 %", (0.0006,), 0.0036, 0.001),
    Setting("one 0.85 % off, rounds 0.36 %", (0.0006,), 0.0036, 0.0085),
    Setting("one 0.65 % off, rounds 0.36 %", (0.00015,), 0.0036, 0.0065),
    Setting("one 0.1 % off, rounds 9 %", (0.0006,), 0.09, 0.001),
    Setting("one 2 % off", EQUAL, difference=0.02),
)


def calls(logs: Floats, alpha: float, seed: int = SEED) -> dict[str, float]:
    """The share of cases that each test calls; ``logs`` of shape (cases, k, replicates)."""
    k = logs.shape[1]
    groups = moments(logs)
    welch = welch_tests(groups).p < alpha
    i, j = np.triu_indices(k, 1)
    pairs = games_howell(groups[:, i], groups[:, j], k, alpha)
    paired = holm(paired_tests(logs[:, i] - logs[:, j]).p)
    every = np.arange(len(logs))
    slowest, fastest = groups.mean.argmax(axis=1), groups.mean.argmin(axis=1)
    effect = games_howell(groups[every, slowest], groups[every, fastest], k, alpha)
    called = (
        welch,
        block_tests(logs).p < alpha,
        friedman_tests(logs, seed) < alpha,
        permutation_tests(logs, seed) < alpha,
        (pairs.p < alpha).any(axis=1),
        (paired < alpha).any(axis=1),
        welch & (effect.low > np.log1p(THRESHOLD)),
    )
    return {name: float(np.mean(one)) for name, one in zip(TESTS, called, strict=True)}


def simulate(
    settings: Iterable[Setting], solutions: Iterable[int], cases: int, replicates: int, alpha: float
) -> dict[tuple[str, int], dict[str, float]]:
    """``calls`` of each setting and number of solutions, and the median "RSD"."""
    found = {}
    for setting in settings:
        for k in solutions:
            logs = setting.logs(cases, k, replicates, np.random.default_rng(SEED))
            rsd = [relative_standard_deviation(one.tolist()) for one in np.exp(logs).mean(axis=2)]
            found[setting.name, k] = calls(logs, alpha) | {"RSD": float(np.median(rsd))}
    return found


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, default=10_000, help="per setting and k (%(default)s)")
    parser.add_argument("--replicates", type=int, default=5, help="per solution (%(default)s)")
    parser.add_argument("--alpha", type=float, default=0.05, help="(%(default)s)")
    options = parser.parse_args()
    found = simulate(SETTINGS, SOLUTIONS, options.cases, options.replicates, options.alpha)
    print("| setting | k | " + " | ".join(TESTS) + " |")
    print("|---|---" + "|---" * len(TESTS) + "|")
    for (name, k), shares in found.items():
        print(f"| {name} | {k} | " + " | ".join(f"{shares[test]:.1%}" for test in TESTS) + " |")
    print("\n| median RSD | " + " | ".join(f"k = {k}" for k in SOLUTIONS) + " |")
    print("|---" + "|---" * len(SOLUTIONS) + "|")
    for name in dict.fromkeys(name for name, _ in found):
        print(f"| {name} | " + " | ".join(f"{found[name, k]['RSD']:.2%}" for k in SOLUTIONS) + " |")


if __name__ == "__main__":
    main()
