"""Who provides the fastest solution, case by case."""

from __future__ import annotations

import math

import pandas as pd

from patchperf.stats.schema import CHAMPIONS, SETTINGS, backends, source_order, typed


def champion_votes(members: pd.DataFrame, solutions: pd.DataFrame, cases: pd.DataFrame) -> pd.DataFrame:
    """Votes of the cases for the source of their fastest solution, per metric and setting.

    Each case has one vote and splits it evenly among the sources of its fastest solution; where several solutions have
    exactly the same smallest mean, among the sources of all of them: splitting equal code in two changes nothing.
    A case with a single solution votes for all its sources. A case with a solution that has no mean does not vote,
    for that one might be the fastest. ``cases`` in the result is the number that voted, the sum of the votes.
    Every source of the corpus has a row. Parameters as in ``pair_ratios``.
    """
    rows = []
    for metric, of_metric in cases.groupby("metric"):
        winning = _winning(members, solutions[solutions["metric"] == metric])
        for setting in SETTINGS:
            voting = of_metric if setting == "full" else of_metric[of_metric["distinguishable"]]
            voting = voting[voting["instance_id"].isin(winning["instance_id"])]
            counters = backends(voting["backend"]) or backends(of_metric["backend"])
            given = winning[winning["instance_id"].isin(voting["instance_id"])]
            votes = given.groupby("source")["share"].agg(math.fsum).to_dict()
            shared = {"metric": metric, "backend": counters, "setting": setting, "cases": len(voting)}
            rows += [{**shared, "source": s, "votes": votes.get(s, 0.0)} for s in source_order(members["source"])]
    return typed(rows, CHAMPIONS)


def _winning(members: pd.DataFrame, solutions: pd.DataFrame) -> pd.DataFrame:
    """The sources of the solutions with a case's smallest mean, for the cases that can vote, each with its share."""
    means = solutions.groupby("instance_id")["mean"]
    single = means.transform("size") == 1
    known = means.transform("count") == means.transform("size")
    fastest = solutions[single | (known & (solutions["mean"] == means.transform("min")))]
    winning = fastest[["instance_id", "solution"]].merge(members, on=["instance_id", "solution"])
    return winning.assign(share=1 / winning.groupby("instance_id")["source"].transform("size"))
