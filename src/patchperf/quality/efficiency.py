"""Speeds of sources, and how they become scores: how fast patches are generated, and how fast they run."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

from patchperf.stats.layout import DECIMALS, Floats

Normalisation = Literal["ratio", "min-max"]
NORMALISATIONS: tuple[Normalisation, ...] = get_args(Normalisation)


def mean_speeds(tokens_per_second: Floats, counts: Floats) -> Floats:
    """Mean generation speed of each source in each resample.

    ``tokens_per_second`` has shape (instances, sources), NaN where a source has no patch or no speed; ``counts`` has
    shape (resamples, instances): how often each instance was drawn. The result has shape (resamples, sources), NaN for
    a source without a speed in a resample.
    """
    return _weighted_means(tokens_per_second, counts)


def runtime_speeds(ratios: Floats, correct: Floats, counts: Floats) -> Floats:
    """How fast each source's correct patches run, the ground truth having 1, in each resample.

    ``ratios`` are runtimes over the ground truth's, shape (instances, sources), NaN where nothing was measured; the
    speed is one over their geometric mean, so that twice as fast and half as fast give 1 together. A source without a
    correct patch in a resample has speed 0, for it delivers nothing at any speed; one with correct patches of which
    none was measured has NaN. Shapes as in ``mean_speeds``.
    """
    measured = np.where(correct == 1, ratios, np.nan)
    speeds = np.exp(-_weighted_means(np.log(measured), counts))
    nothing = counts @ (correct == 1).astype(float) == 0
    return np.where(nothing, 0.0, speeds)


def normalised(speeds: Floats, normalisation: Normalisation, least: float = 0.0) -> Floats:
    """Scores in [0, 1] of speeds over the last axis; NaN stays NaN.

    *ratio*: over the fastest, so that relative speeds stay what they are; ``least`` is a speed that the fastest has at
    least (1 for runtimes: the ground truth's). *min-max*: (v − min) / (max − min). The slowest gets 0 and the fastest
    1 however near they are; it is here to show what that does to an index whose other dimensions keep their range,
    not to be used. Equal speeds have 1.
    """
    fastest = np.fmax.reduce(speeds, axis=-1, keepdims=True, initial=least)
    with np.errstate(invalid="ignore", divide="ignore"):
        if normalisation == "ratio":
            return np.where(fastest > 0, speeds / fastest, speeds)
        fastest = np.fmax.reduce(speeds, axis=-1, keepdims=True)
        slowest = np.fmin.reduce(speeds, axis=-1, keepdims=True)
        equal = np.where(fastest > 0, 1.0, 0.0)
        spread = np.where(fastest > slowest, (speeds - slowest) / (fastest - slowest), equal)
    return np.where(np.isnan(speeds), np.nan, spread)


def _weighted_means(values: Floats, counts: Floats) -> Floats:
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = counts @ np.where(known, values, 0.0) / (counts @ known.astype(float))
        return np.asarray(np.round(means, DECIMALS))
