"""Every two solutions of a case against each other, on every metric: which of them differ, and by how much."""

from __future__ import annotations

import numpy as np
import pandas as pd

from patchperf.stats.blocks import paired_tests
from patchperf.stats.layout import Integers, Layout, lay_out, moments
from patchperf.stats.multiplicity import holm
from patchperf.stats.pairwise import games_howell
from patchperf.stats.samples import summaries, usable_values
from patchperf.stats.schema import CONTRASTS, typed

UNTESTED = "fewer than two replicates"
UNPAIRED = "fewer than two common rounds"
EXACT = "zero variance: exact"
ONE_EXACT = "zero variance in one solution"
EXACT_ROUNDS = "no variance of the ratio between rounds: exact"


def contrasts(measurements: pd.DataFrame, members: pd.DataFrame, alpha: float) -> pd.DataFrame:
    """Games–Howell pairs and paired tests over rounds, of all cases that were measured with two solutions or more.

    Each two solutions that have usable values stand once, in order of their names. ``ratio`` is that of the geometric
    means of their values (below 1: solution i is faster), ``low`` to ``high`` its simultaneous interval of confidence
    1 − alpha, with t, df and p as in ``games_howell`` over the case's solutions of two usable replicates or more.
    ``p_blocks`` is that of ``paired_tests`` over the ``rounds`` that both completed, by ``holm`` over the case's pairs.
    A case with a value that no counter can give has no rows. What ``note`` says:

    - *fewer than two replicates*, *fewer than two common rounds*: of either; a ratio, no (such) test;
    - *zero variance: exact*: of both, so that p is 0 or 1 and the interval a point;
    - *zero variance in one solution*: the interval is the other's;
    - *no variance of the ratio between rounds: exact*: ``p_blocks`` is 0 or 1 before Holm.
    """
    values = usable_values(measurements, members)
    layout = lay_out(summaries(values, measurements, members), values)
    parts = [
        _compared(layout, rows[tested == k], int(k), alpha)
        for _, rows in layout.batches(1)
        for tested in [np.sum(layout.replicates[rows] > 1, axis=1)]
        for k in np.unique(tested)
    ]
    table = typed(pd.concat(parts) if parts else [], CONTRASTS)
    return table.sort_values(["metric", "instance_id", "solution_i", "solution_j"], ignore_index=True)


def _compared(layout: Layout, rows: Integers, tested: int, alpha: float) -> pd.DataFrame:
    """Cases of one shape, rows of shape (n, solutions), of which ``tested`` have two replicates."""
    i, j = np.triu_indices(rows.shape[1], 1)
    logs = layout.logs[rows]
    found = moments(logs)
    first, second = found[:, i], found[:, j]
    pair = games_howell(first, second, max(tested, 2), alpha)
    paired = paired_tests(logs[:, i] - logs[:, j])
    own, other = first.variance == 0, second.variance == 0
    notes = {
        UNTESTED: np.isnan(pair.t),
        UNPAIRED: ~np.isnan(pair.t) & np.isnan(paired.t),
        EXACT: own & other,
        ONE_EXACT: (own ^ other) & ~np.isnan(pair.t),
        EXACT_ROUNDS: paired.exact & ~(own & other),
    }
    texts = [np.where(applies, text, "").ravel() for text, applies in notes.items()]
    one, two = (layout.solutions.iloc[rows[:, side].ravel()].reset_index(drop=True) for side in (i, j))
    return one[["instance_id", "metric", "backend"]].assign(
        solution_i=one["solution"],
        solution_j=two["solution"],
        ratio=np.exp(pair.difference).ravel(),
        low=np.exp(pair.low).ravel(),
        high=np.exp(pair.high).ravel(),
        t=pair.t.ravel(),
        df=pair.df.ravel(),
        p=pair.p.ravel(),
        rounds=paired.rounds.ravel(),
        p_blocks=holm(paired.p).ravel(),
        note=["; ".join(filter(None, told)) for told in zip(*texts, strict=True)],
    )
