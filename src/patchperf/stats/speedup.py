"""Pairwise ratios per case, and their geometric means over the corpus."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from patchperf.stats.layout import DECIMALS
from patchperf.stats.multiplicity import holm
from patchperf.stats.schema import PAIRS, SETTINGS, SPEEDUPS, backends, source_order, typed
from patchperf.stats.signed_rank import signed_rank

CONFIDENCE = 0.95
RESAMPLES = 9_999
CELLS = 50_000
"""Draws at a time: few enough for a processor's cache, where they are counted nine times as fast."""


def pair_ratios(members: pd.DataFrame, solutions: pd.DataFrame, cases: pd.DataFrame) -> pd.DataFrame:
    """r = x̄ᵢ/x̄ⱼ of every two sources of a case on every metric; below 1, source i is the faster one.

    Each two sources stand once, in the order of their names with the ground truth last; rⱼᵢ is 1/rᵢⱼ. Sources of the
    same solution have exactly 1, measured or not. Two solutions of which one has no mean have no ratio and no row.
    ``members`` is of ``members_of``, ``solutions`` of ``solution_statistics``, ``cases`` of ``case_statistics``.
    """
    known = cases[["instance_id", "metric", "backend", "distinguishable"]]
    means = solutions[["instance_id", "metric", "solution", "mean"]]
    sources = members.merge(known, on="instance_id").merge(means, on=["instance_id", "metric", "solution"])
    rank = {source: place for place, source in enumerate(source_order(sources["source"]))}
    keys = ["instance_id", "metric", "backend", "distinguishable"]
    pairs = sources.merge(sources, on=keys, suffixes=("_i", "_j"))
    pairs = pairs[pairs["source_i"].map(rank) < pairs["source_j"].map(rank)].copy()
    pairs["same_solution"] = pairs["solution_i"] == pairs["solution_j"]
    pairs["ratio"] = (pairs["mean_i"] / pairs["mean_j"]).where(~pairs["same_solution"], 1.0)
    return typed(pairs.dropna(subset="ratio").sort_values(["metric", "instance_id", "source_i", "source_j"]), PAIRS)


def geometric_mean(ratios: Sequence[float] | NDArray[np.float64]) -> float:
    """(Π rᵢ)^(1/n) of n positive ratios, NaN for none; the mean that swapping numerator and denominator inverts.

    After Fleming and Wallace (Communications of the ACM 29, 1986): twice as fast and twice as slow give exactly 1.
    """
    logs = np.log(np.asarray(ratios, dtype=float))
    return math.exp(math.fsum(logs) / len(logs)) if len(logs) else math.nan


def geometric_mean_interval(
    ratios: Sequence[float] | NDArray[np.float64], seed: int, resamples: int = RESAMPLES
) -> tuple[float, float]:
    """The 95 % percentile bootstrap interval of the geometric mean over cases.

    Percentiles of logarithms, so the interval of the inverted ratios is the inverted interval; the resamples depend on
    the ratios and the seed only, not on their order or orientation. NaN for fewer than two ratios; a point where all
    are equal.
    """
    return geometric_mean_intervals([ratios], seed, resamples)[0]


def geometric_mean_intervals(
    samples: Sequence[Sequence[float] | NDArray[np.float64]], seed: int, resamples: int = RESAMPLES
) -> list[tuple[float, float]]:
    """``geometric_mean_interval`` of each sample; those of one size share their draws, which are most of the work."""
    logs = [np.sort(np.log(np.asarray(ratios, dtype=float))) for ratios in samples]
    mirrored = [-values[::-1] for values in logs]
    turned = [mirror.tolist() < values.tolist() for mirror, values in zip(mirrored, logs, strict=True)]
    chosen = [mirror if turn else values for mirror, turn, values in zip(mirrored, turned, logs, strict=True)]
    bounds = np.full((len(logs), 2), np.nan)
    for size in sorted({len(values) for values in logs if len(values) > 1}):
        places = [place for place, values in enumerate(logs) if len(values) == size]
        means = _resampled_means(np.stack([chosen[place] for place in places]), seed, resamples)
        bounds[places] = np.percentile(means, [50 - 50 * CONFIDENCE, 50 + 50 * CONFIDENCE], axis=1).T
        bounds[places] = [
            (values[0], values[0]) if values[0] == values[-1] else limits
            for values, limits in zip((chosen[place] for place in places), bounds[places], strict=True)
        ]
    bounds[turned] = -bounds[turned][:, ::-1]
    return [(math.exp(low), math.exp(high)) for low, high in bounds.tolist()]


def _resampled_means(logs: NDArray[np.float64], seed: int, resamples: int) -> NDArray[np.float64]:
    """Means of resamples with replacement, shape (samples, resamples), of samples of one size, (samples, size)."""
    size = logs.shape[1]
    random = np.random.default_rng(seed)
    batch = max(1, CELLS // size)
    means = []
    for start in range(0, resamples, batch):
        count = min(batch, resamples - start)
        drawn = random.integers(0, size, (count, size)) + size * np.arange(count)[:, np.newaxis]
        times = np.bincount(drawn.ravel(), minlength=count * size).reshape(count, size)
        means.append(np.round(logs @ times.T / size, DECIMALS))
    return np.concatenate(means, axis=1)


def speedups(pairs: pd.DataFrame, seed: int, resamples: int = RESAMPLES) -> pd.DataFrame:
    """Geometric mean of the ratios of every two sources over the n cases that both cover, with its interval and test.

    Both orientations of a pair stand in the table, the second derived from the first by inversion. ``setting`` is
    *full* (all cases) or *distinguishable* (those of that metric's p < alpha); a pair without a case has n = 0 and NaN.
    ``p`` is of ``signed_rank`` on the logarithms of the ratios, ``p_holm`` its adjustment by ``holm`` over the distinct
    pairs of a metric and setting; both orientations have the same. ``backend`` names all counters behind the pooled
    ratios, or, of none, those of the metric.
    """
    rows: list[dict[str, Any]] = []
    samples = []
    for metric, of_metric in pairs.groupby("metric"):
        covered = dict(list(of_metric.groupby(["source_i", "source_j"])))
        for setting in SETTINGS:
            tests = []
            for pair in combinations(source_order([*of_metric["source_i"], *of_metric["source_j"]]), 2):
                cases = covered.get(pair, of_metric.iloc[:0])
                if setting == "distinguishable":
                    cases = cases[cases["distinguishable"]]
                samples.append(cases["ratio"].to_numpy())
                tests.append(signed_rank(np.log(samples[-1])))
                rows.append(
                    {
                        "metric": metric,
                        "backend": backends(cases["backend"]) or backends(of_metric["backend"]),
                        "setting": setting,
                        "source_i": pair[0],
                        "source_j": pair[1],
                        "n": len(cases),
                        "geometric_mean": geometric_mean(samples[-1]),
                        "p": tests[-1],
                    }
                )
            for row, adjusted in zip(rows[len(rows) - len(tests) :], holm(np.array(tests)), strict=True):
                row["p_holm"] = adjusted
    intervals = geometric_mean_intervals(samples, seed, resamples)
    straight = pd.DataFrame(rows, columns=list(SPEEDUPS)).assign(
        low=[low for low, _ in intervals], high=[high for _, high in intervals]
    )
    turned = straight.assign(
        source_i=straight["source_j"],
        source_j=straight["source_i"],
        geometric_mean=1 / straight["geometric_mean"],
        low=1 / straight["high"],
        high=1 / straight["low"],
    )
    table = typed(pd.concat([straight, turned]), SPEEDUPS)
    return table.sort_values(["metric", "setting", "source_i", "source_j"], ignore_index=True)
