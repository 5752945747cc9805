"""The usable values of a corpus as arrays: solutions by rounds, and batches of cases of one shape."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from patchperf.stats.samples import NOT_POSITIVE

ROUNDING = 1e-13
"""Differences of logarithms up to this are rounding: logarithms here are of ratios, which are exact to 1e-16."""

DECIMALS = 12
"""What is kept of sums by matrix products: their last digits depend on threads, and on where arrays lie in memory."""

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True)
class Layout:
    """All solutions of all cases, on all metrics; a case here is an instance on one metric.

    ``solutions`` is of ``solution_statistics``, in order of metric, instance and solution. ``case`` is the number of
    each row's case, ascending. ``logs`` has shape (rows, rounds): the logarithm of a solution's value in a round over
    the case's smallest value, so that no unit is in it; NaN where there is no usable value, and in the whole of a case
    with a value that no counter can give. A round is a replicate: round g had the same seed and layout for all.
    """

    solutions: pd.DataFrame
    case: Integers
    logs: Floats

    @property
    def replicates(self) -> Integers:
        """Usable values of each row, 0 in a case that is left out."""
        found: Integers = np.count_nonzero(~np.isnan(self.logs), axis=1)
        return found

    def canonical(self) -> Layout:
        """The same, each case's solutions in order of their values: names then decide nothing, not even rounding."""
        order = np.lexsort((*self.logs.T[::-1], self.case))
        return Layout(self.solutions.iloc[order].reset_index(drop=True), self.case, self.logs[order])

    def batches(self, least: int) -> Iterator[tuple[Integers, Integers]]:
        """Cases with equally many solutions of at least ``least`` usable values, two or more of them.

        Yields numbers of cases, shape (n,), and the rows of those solutions, shape (n, solutions).
        """
        rows = np.flatnonzero(self.replicates >= least)
        cases, sizes = np.unique(self.case[rows], return_counts=True)
        starts = np.cumsum(sizes) - sizes
        for size in np.unique(sizes[sizes > 1]):
            chosen = sizes == size
            yield cases[chosen], rows[starts[chosen][:, np.newaxis] + np.arange(size)]


def lay_out(solutions: pd.DataFrame, values: pd.DataFrame) -> Layout:
    """The layout of ``solution_statistics`` and the ``usable_values`` that they are of."""
    keys = ["metric", "instance_id", "solution"]
    solutions = solutions.sort_values(keys, ignore_index=True)
    case = solutions.groupby(["metric", "instance_id"]).ngroup().to_numpy().astype(np.int64)
    rows = values[keys].merge(solutions[keys].assign(row=solutions.index), on=keys, how="left")["row"]
    rounds = np.unique(values["replicate"], return_inverse=True)[1]
    table = np.full((len(solutions), int(rounds.max()) + 1 if len(rounds) else 0), np.nan)
    table[rows.to_numpy(), rounds] = values["value"].to_numpy()
    broken: Booleans = np.isin(case, case[(solutions["note"] == NOT_POSITIVE).to_numpy()])
    table[broken] = np.nan
    lowest = pd.Series(np.fmin.reduce(table, axis=1, initial=np.inf)).groupby(case).transform("min").to_numpy()
    return Layout(solutions, case, np.log(table / lowest[:, np.newaxis]))


def complete_rounds(logs: Floats) -> Iterator[tuple[Integers, Floats]]:
    """Of logarithms of shape (n, solutions, rounds), the rounds that all solutions of a case completed.

    Yields, for each number of such rounds, the positions of the cases and their values, none of them missing.
    """
    complete = np.logical_not(np.isnan(logs).any(axis=1))
    counts = complete.sum(axis=1)
    for count in np.unique(counts):
        chosen = np.flatnonzero(counts == count)
        kept = np.argsort(~complete[chosen], axis=1, kind="stable")[:, np.newaxis, :count]
        yield chosen, np.take_along_axis(logs[chosen], kept, axis=2)


@dataclass(frozen=True)
class Moments:
    """Number, mean and variance (n − 1) of each solution's logarithms; variance NaN for fewer than two."""

    size: Integers
    mean: Floats
    variance: Floats

    def __getitem__(self, key: Any) -> Moments:
        return Moments(self.size[key], self.mean[key], self.variance[key])


def moments(logs: Floats) -> Moments:
    """Over the last axis, without what is missing; equal values have variance 0 exactly."""
    size = np.sum(~np.isnan(logs), axis=-1)
    low, high = np.fmin.reduce(logs, axis=-1), np.fmax.reduce(logs, axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(low == high, low, np.nansum(logs, axis=-1) / size)
        squares = np.nansum((logs - mean[..., np.newaxis]) ** 2, axis=-1)
        return Moments(size, mean, np.where(size > 1, squares / (size - 1), np.nan))
