"""Pairwise ratios per case, and their geometric means over the corpus."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from patchperf.stats.schema import PAIRS, SETTINGS, SPEEDUPS, backends, source_order, typed

CONFIDENCE = 0.95
RESAMPLES = 9_999


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
    logs = np.sort(np.log(np.asarray(ratios, dtype=float)))
    if len(logs) < 2:
        return math.nan, math.nan
    if logs[0] == logs[-1]:
        return math.exp(logs[0]), math.exp(logs[0])
    mirrored = -logs[::-1]
    turned = mirrored.tolist() < logs.tolist()
    interval = stats.bootstrap(
        (mirrored if turned else logs,),
        np.mean,
        n_resamples=resamples,
        batch=1_000,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    low, high = (-interval.high, -interval.low) if turned else (interval.low, interval.high)
    return math.exp(low), math.exp(high)


def speedups(pairs: pd.DataFrame, seed: int, resamples: int = RESAMPLES) -> pd.DataFrame:
    """Geometric mean of the ratios of every two sources over the n cases that both cover, with its interval.

    Both orientations of a pair stand in the table, the second derived from the first by inversion. ``setting`` is
    *full* (all cases) or *distinguishable* (those of that metric's p < alpha); a pair without a case has n = 0 and NaN.
    ``backend`` names all counters behind the pooled ratios, or, of none, those of the metric.
    """
    rows = []
    for metric, of_metric in pairs.groupby("metric"):
        covered = dict(list(of_metric.groupby(["source_i", "source_j"])))
        for setting in SETTINGS:
            for pair in combinations(source_order([*of_metric["source_i"], *of_metric["source_j"]]), 2):
                cases = covered.get(pair, of_metric.iloc[:0])
                if setting == "distinguishable":
                    cases = cases[cases["distinguishable"]]
                counters = backends(cases["backend"]) or backends(of_metric["backend"])
                mean = geometric_mean(cases["ratio"].to_numpy())
                low, high = geometric_mean_interval(cases["ratio"].to_numpy(), seed, resamples)
                shared = {"metric": metric, "backend": counters, "setting": setting, "n": len(cases)}
                straight = dict(zip(("source_i", "source_j"), pair, strict=True))
                turned = dict(zip(("source_j", "source_i"), pair, strict=True))
                rows.append({**shared, **straight, "geometric_mean": mean, "low": low, "high": high})
                rows.append({**shared, **turned, "geometric_mean": 1 / mean, "low": 1 / high, "high": 1 / low})
    return typed(rows, SPEEDUPS).sort_values(["metric", "setting", "source_i", "source_j"], ignore_index=True)
