"""The Quality Index: what a source's patches score on each dimension, and their weighted sum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from patchperf.errors import InputError
from patchperf.quality.dimensions import DIMENSIONS, Efficiency, Weights, dimensions, wrong_weights
from patchperf.quality.efficiency import (
    NORMALISATIONS,
    Normalisation,
    mean_speeds,
    normalised,
    runtime_speeds,
)
from patchperf.quality.schema import QUALITY
from patchperf.stats.layout import DECIMALS, Floats, Integers
from patchperf.stats.schema import typed

CONFIDENCE = 0.95
RESAMPLES = 9_999
_CELLS = 2_000_000
"""Counts of resamples at a time: 16 MB."""


@dataclass(frozen=True)
class Ratings:
    """What is known of every patch, arrays of shape (instances, sources).

    ``correct``, ``maintainability`` and ``security`` are scores in [0, 1]. ``tokens_per_second`` is the speed at which
    a patch was generated, ``runtime`` its runtime over the ground truth's; both NaN where unknown. ``patches`` counts
    the instances for which each source has a patch, shape (sources,); ``lines`` is the size of the ground truth's diff,
    shape (instances,), NaN where unknown.
    """

    instances: tuple[str, ...]
    sources: tuple[str, ...]
    correct: Floats
    maintainability: Floats
    security: Floats
    tokens_per_second: Floats
    runtime: Floats
    patches: Integers
    lines: Floats


def schemes(rated: tuple[str, ...], user: Mapping[str, Weights] | None = None) -> dict[str, dict[str, float]]:
    """Schemes of weights over the dimensions: equal, the two that set correctness apart, and the user's.

    *equal*: the same for each. *correctness-priority*: 0.5 for correctness, *other-priority*: 0.2; the others share the
    rest evenly. A user's scheme names some dimensions, the others have 0. Raises InputError for a scheme with an
    unknown dimension, a negative weight or a sum that is not 1, and for one by a name that is taken.
    """
    found = {
        "equal": dict.fromkeys(rated, 1 / len(rated)),
        "correctness-priority": _set_apart(rated, 0.5),
        "other-priority": _set_apart(rated, 0.2),
    }
    for name, weights in (user or {}).items():
        if name in found:
            raise InputError(f"quality.schemes: {name} is a scheme already: give yours another name")
        if wrong := wrong_weights(weights, rated):
            raise InputError(f"quality.schemes.{name}: {wrong}")
        found[name] = {dimension: float(weights.get(dimension, 0.0)) for dimension in rated}
    return found


def dimension_scores(
    ratings: Ratings, efficiency: Efficiency, normalisation: Normalisation = "ratio", counts: Floats | None = None
) -> Floats:
    """s_d(m): the score of every source m on every dimension d, shape (resamples, sources, dimensions).

    Correctness, maintainability and security are means over instances. Efficiency is of ``normalised`` speeds: of
    generation, of the runtime of correct patches, or, for both, the mean of the two scores, which is what splitting the
    weight evenly gives. ``counts`` has shape (resamples, instances); by default every instance counts once.
    """
    drawn = np.ones((1, len(ratings.instances))) if counts is None else counts
    size = drawn.sum(axis=1, keepdims=True)
    rated = (ratings.correct, ratings.maintainability, ratings.security)
    scores = [np.round(drawn @ table / size, DECIMALS) for table in rated]
    parts = []
    if efficiency in ("generation", "both"):
        parts.append(normalised(mean_speeds(ratings.tokens_per_second, drawn), normalisation))
    if efficiency in ("runtime", "both"):
        parts.append(normalised(runtime_speeds(ratings.runtime, ratings.correct, drawn), normalisation, least=1.0))
    if parts:
        scores.append(np.mean(parts, axis=0))
    return np.stack(scores, axis=-1)


def index(scores: Floats, weights: Weights, rated: tuple[str, ...]) -> Floats:
    """QI(m) = Σ w_d s_d(m): the weighted sum over the last axis of scores, whose dimensions are ``rated``.

    Rounded to ``DECIMALS``, so that equal scores of 1 give 1 under all weights.
    A source without a score on a dimension has no index, unless the dimension has no weight.
    """
    chosen = [place for place, dimension in enumerate(rated) if weights[dimension] > 0]
    total = sum((weights[rated[place]] * scores[..., place] for place in chosen), np.zeros(scores.shape[:-1]))
    return np.asarray(np.round(total, DECIMALS))


def ranks(values: Floats) -> Floats:
    """Ranks from the top, 1 the highest; equal values share the best of their ranks; NaN has none."""
    return np.asarray(pd.Series(values).rank(method="min", ascending=False), dtype=np.float64)


def quality_table(
    ratings: Ratings,
    efficiency: Efficiency,
    seed: int,
    user: Mapping[str, Weights] | None = None,
    resamples: int = RESAMPLES,
) -> pd.DataFrame:
    """The index of every source under every scheme, with intervals, once per normalisation of speeds.

    ``low`` and ``high`` bound the 95 % percentile bootstrap interval over instances, drawn with replacement, the same
    for all sources: patches of one instance stay together, and the fastest is found anew in each resample. What is
    drawn depends on what is known of the instances, not on their names. ``first`` is the share of resamples in which
    the source ranks first, ties shared. Resamples without a value for a source (none of its measured instances drawn)
    are left out of its interval. Without efficiency there is nothing to normalise and ``normalisation`` is ratio alone.
    """
    rated = dimensions(efficiency)
    given = schemes(rated, user)
    kinds = NORMALISATIONS if efficiency != "none" else NORMALISATIONS[:1]
    drawn: dict[tuple[Normalisation, str], list[Floats]] = {}
    for counts in _resampled(_by_content(ratings), seed, resamples):
        for kind in kinds:
            scores = dimension_scores(ratings, efficiency, kind, counts)
            for name, weights in given.items():
                drawn.setdefault((kind, name), []).append(index(scores, weights, rated))
    rows: list[dict[str, object]] = []
    for kind in kinds:
        scores = dimension_scores(ratings, efficiency, kind)[0]
        for name, weights in given.items():
            values = index(scores, weights, rated)
            low, high, first = _summary(np.concatenate(drawn[kind, name]))
            place = ranks(values)
            for number, source in enumerate(ratings.sources):
                rows.append(
                    {
                        "normalisation": kind,
                        "scheme": name,
                        "source": source,
                        "instances": len(ratings.instances),
                        "patches": ratings.patches[number],
                        **dict(zip(rated, scores[number], strict=True)),
                        **{f"weight_{dimension}": weights.get(dimension, 0.0) for dimension in DIMENSIONS},
                        "index": values[number],
                        "low": low[number],
                        "high": high[number],
                        "rank": pd.NA if np.isnan(place[number]) else int(place[number]),
                        "first": first[number],
                    }
                )
    return typed(rows, QUALITY)


def _set_apart(rated: tuple[str, ...], correctness: float) -> dict[str, float]:
    share = (1 - correctness) / (len(rated) - 1)
    return {dimension: correctness if dimension == "correctness" else share for dimension in rated}


def _by_content(ratings: Ratings) -> Integers:
    """The places of all instances in an order that their names do not change, shape (instances,)."""
    known = (ratings.correct, ratings.maintainability, ratings.security, ratings.tokens_per_second, ratings.runtime)
    return np.asarray(np.lexsort(np.nan_to_num(np.hstack(known), nan=-1.0).T), dtype=np.int64)


def _resampled(order: Integers, seed: int, resamples: int) -> Iterator[Floats]:
    """How often each instance is in each resample, shape (some resamples, instances) at a time, drawn in an order."""
    instances = len(order)
    random = np.random.default_rng(seed)
    batch = max(1, _CELLS // max(instances, 1))
    even = np.full(instances, 1 / instances)
    for start in range(0, resamples, batch):
        drawn = random.multinomial(instances, even, min(batch, resamples - start))
        yield drawn[:, np.argsort(order)].astype(float)


def _summary(values: Floats) -> tuple[Floats, Floats, Floats]:
    """Bounds of the intervals, and shares of first ranks, of indexes of shape (resamples, sources)."""
    low, high = np.full(values.shape[1], np.nan), np.full(values.shape[1], np.nan)
    known = ~np.isnan(values).all(axis=0)
    if known.any():
        low[known], high[known] = np.nanpercentile(
            values[:, known], [50 - 50 * CONFIDENCE, 50 + 50 * CONFIDENCE], axis=0
        )
    best = np.fmax.reduce(values, axis=1, keepdims=True)
    leads = values == best
    shares = leads / np.maximum(leads.sum(axis=1, keepdims=True), 1)
    return low, high, shares.mean(axis=0)
