"""One row per case and metric: how far its solutions lie apart, and whether that is more than chance."""

from __future__ import annotations

from collections.abc import Set

import numpy as np
import pandas as pd

from patchperf.stats.blocks import block_tests
from patchperf.stats.dispersion import relative_standard_deviation
from patchperf.stats.flags import most
from patchperf.stats.layout import Layout, complete_rounds, lay_out, moments
from patchperf.stats.multiplicity import false_discovery
from patchperf.stats.pairwise import games_howell
from patchperf.stats.permutation import friedman_tests, permutation_tests
from patchperf.stats.samples import NOT_MEASURED, NOT_POSITIVE, summaries, usable_values
from patchperf.stats.schema import CASES, typed
from patchperf.stats.welch import EXACT, LIMIT, welch_tests

SINGLE = "single solution"
UNEQUAL = "unequal replicates"
EXACT_ROUNDS = "no variance within rounds: exact"

TESTED = ["f", "df1", "df2", "p"]
OVER_ROUNDS = ["p_blocks", "p_friedman", "p_permutation"]

PRACTICAL = 0.01
SEED = 1


def case_statistics(
    measurements: pd.DataFrame,
    members: pd.DataFrame,
    alpha: float,
    collapsed: Set[tuple[str, str]] = frozenset(),
    *,
    practical_threshold: float = PRACTICAL,
    seed: int = SEED,
) -> pd.DataFrame:
    """RSD, tests and effect size of every case, on every metric that was measured anywhere in the corpus.

    ``k`` counts the case's distinct solutions; ``replicates`` is the smallest number of usable values of a measured
    solution. ``f`` to ``p`` are of ``welch_tests``; ``distinguishable`` is p < alpha; ``q`` is the p of
    ``false_discovery`` over the metric's tested cases. ``rounds`` counts those that all measured solutions completed;
    over them are ``p_blocks`` of ``block_tests``, ``p_friedman`` and ``p_permutation`` (drawn with ``seed`` where there
    are too many arrangements). ``slowest_fastest`` is the ratio of the largest to the smallest geometric mean of a
    solution's values, ``low`` to ``high`` its simultaneous interval of confidence 1 − alpha by ``games_howell``;
    ``practical`` is distinguishable with ``low`` above 1 + practical_threshold. ``collapsed`` tells whether any
    solution is among those (by instance and solution) whose steady state has collapsed, ``not_covered`` what the counts
    of the case leave out, at most. What ``note`` says, several joined by "; ":

    - *single solution*: nothing to compare, no RSD, no test;
    - *not measured*: no solution has a usable value;
    - *non-positive or infinite values*: the counter was broken, so neither RSD nor test;
    - *m of k solutions measured*: RSD over those m;
    - *m of k solutions tested*: the others have fewer than two usable replicates (with G = 1: all, so no test);
    - *unequal replicates*: Welch's test allows for it;
    - *m of n rounds complete*: some measured solution has no usable value in the others, which tests over rounds leave
      out; fewer than two leave no such test;
    - *m of k solutions collapsed*: what some of them keep from call to call is compared with what others compute;
    - *zero variance …*: decided as ``welch_tests`` says;
    - *no variance within rounds: exact*: values vary, but all solutions' alike, decided as ``block_tests`` says.
    """
    values = usable_values(measurements, members)
    layout = lay_out(summaries(values, measurements, members), values).canonical()
    table = _described(layout, values, collapsed).assign(
        alpha=alpha, practical_threshold=practical_threshold, exact_rounds=False, still=0
    )
    table[[*TESTED, *OVER_ROUNDS, "slowest_fastest", "low", "high"]] = np.nan
    _test_groups(table, layout)
    _test_rounds(table, layout, seed)
    _measure_effect(table, layout, alpha)
    table["distinguishable"] = table["p"] < alpha
    table["practical"] = table["distinguishable"] & (table["low"] > 1 + practical_threshold)
    table["q"] = table.groupby("metric")["p"].transform(lambda p: false_discovery(p.to_numpy()))
    table["note"] = _notes(table)
    return typed(table, CASES)


def _described(layout: Layout, values: pd.DataFrame, collapsed: Set[tuple[str, str]]) -> pd.DataFrame:
    """What is known of each case without a test, one row per case in order of their numbers."""
    rows = layout.solutions
    rows = rows.assign(
        measured=rows["replicates"] > 0,
        testable=rows["replicates"] > 1,
        broken=rows["note"] == NOT_POSITIVE,
        kept=[one in collapsed for one in zip(rows["instance_id"], rows["solution"], strict=True)],
        least=rows["replicates"].where(rows["replicates"] > 0),
    )
    grouped = rows.groupby(layout.case)
    table = grouped.agg(
        instance_id=("instance_id", "first"),
        metric=("metric", "first"),
        backend=("backend", "first"),
        repetitions=("repetitions", "first"),
        k=("solution", "size"),
        measured=("measured", "sum"),
        testable=("testable", "sum"),
        broken=("broken", "any"),
        kept=("kept", "sum"),
        replicates=("least", "min"),
        numbers=("least", "nunique"),
        voids=("voids", "sum"),
    )
    table["replicates"] = table["replicates"].fillna(0)
    table["collapsed"] = table["kept"] > 0
    means, measured = rows["mean"].to_numpy(), rows["measured"].to_numpy()
    parts = np.split(np.arange(len(rows)), np.flatnonzero(np.diff(layout.case)) + 1) if len(rows) else []
    table["rsd"] = [relative_standard_deviation(means[part][measured[part]].tolist()) for part in parts]
    present = ~np.isnan(layout.logs)
    some = pd.DataFrame(present).groupby(layout.case).any()
    every = pd.DataFrame(present | ~measured[:, np.newaxis]).groupby(layout.case).all()
    table["all_rounds"] = some.sum(axis=1).astype(int)
    table["rounds"] = (some & every).sum(axis=1).astype(int)
    left_out = values[["metric", "instance_id", "not_covered"]].drop_duplicates()
    most_left_out = left_out.groupby(["metric", "instance_id"])["not_covered"].agg(most)
    return table.join(most_left_out, on=["metric", "instance_id"]).fillna({"not_covered": ""})


def _test_groups(table: pd.DataFrame, layout: Layout) -> None:
    for cases, rows in layout.batches(2):
        test = welch_tests(moments(layout.logs[rows]))
        table.loc[cases, TESTED] = np.column_stack([test.f, np.full(len(cases), test.df1), test.df2, test.p])
        table.loc[cases, "still"] = test.still.sum(axis=1)


def _test_rounds(table: pd.DataFrame, layout: Layout, seed: int) -> None:
    for cases, rows in layout.batches(1):
        for positions, logs in complete_rounds(layout.logs[rows]):
            if logs.shape[2] > 1:
                test = block_tests(logs)
                found = [test.p, friedman_tests(logs, seed), permutation_tests(logs, seed)]
                table.loc[cases[positions], OVER_ROUNDS] = np.column_stack(found)
                table.loc[cases[positions], "exact_rounds"] = test.exact


def _measure_effect(table: pd.DataFrame, layout: Layout, alpha: float) -> None:
    for cases, rows in layout.batches(1):
        found = moments(layout.logs[rows])
        every = np.arange(len(cases))
        slowest, fastest = found[every, found.mean.argmax(axis=1)], found[every, found.mean.argmin(axis=1)]
        table.loc[cases, "slowest_fastest"] = np.exp(slowest.mean - fastest.mean)
        tested = np.sum(found.size > 1, axis=1)
        for k in np.unique(tested[tested > 1]):
            some = tested == k
            pair = games_howell(slowest[some], fastest[some], int(k), alpha)
            table.loc[cases[some], ["low", "high"]] = np.exp(np.column_stack([pair.low, pair.high]))


def _notes(table: pd.DataFrame) -> list[str]:
    k, measured, testable, still = (table[name].astype(int) for name in ("k", "measured", "testable", "still"))
    of_k = " of " + k.astype("str") + " solutions "
    exact = (still > 0) & (still == testable)
    told = {
        SINGLE: (SINGLE, k == 1),
        NOT_MEASURED: (NOT_MEASURED, measured == 0),
        NOT_POSITIVE: (NOT_POSITIVE, table["broken"]),
        "measured": (measured.astype("str") + of_k + "measured", (measured > 0) & (measured < k)),
        "tested": (testable.astype("str") + of_k + "tested", (k > 1) & ~table["broken"] & (testable < measured)),
        UNEQUAL: (UNEQUAL, table["numbers"] > 1),
        "rounds": (
            table["rounds"].astype("str") + " of " + table["all_rounds"].astype("str") + " rounds complete",
            (measured > 1) & (table["rounds"] < table["all_rounds"]),
        ),
        "collapsed": (table["kept"].astype("str") + of_k + "collapsed", (table["kept"] > 0) & (table["kept"] < k)),
        EXACT: (EXACT, exact),
        LIMIT: (LIMIT, (still > 0) & ~exact),
        EXACT_ROUNDS: (EXACT_ROUNDS, table["exact_rounds"] & ~exact),
    }
    columns = [pd.Series(text, index=table.index).where(applies, "") for text, applies in told.values()]
    return ["; ".join(filter(None, row)) for row in zip(*columns, strict=True)]
