"""Who provides the fastest solution, case by case."""

from __future__ import annotations

import math
from collections import defaultdict

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
    sources_of = members.groupby(["instance_id", "solution"])["source"].agg(list)
    rows = []
    for metric, of_metric in cases.groupby("metric"):
        fastest = {
            str(instance): sorted(source for solution in winners for source in sources_of[instance, solution])
            for instance, winners in _winners(solutions[solutions["metric"] == metric]).items()
        }
        for setting in SETTINGS:
            voting = of_metric[of_metric["instance_id"].isin(fastest)]
            if setting == "distinguishable":
                voting = voting[voting["distinguishable"]]
            counters = backends(voting["backend"]) or backends(of_metric["backend"])
            shares: dict[str, list[float]] = defaultdict(list)
            for instance in voting["instance_id"]:
                for source in fastest[instance]:
                    shares[source].append(1 / len(fastest[instance]))
            shared = {
                "metric": metric,
                "backend": counters,
                "setting": setting,
                "cases": len(voting),
            }
            rows += [{**shared, "source": s, "votes": math.fsum(shares[s])} for s in source_order(members["source"])]
    return typed(rows, CHAMPIONS)


def _winners(solutions: pd.DataFrame) -> dict[str, list[str]]:
    """The solutions with a case's smallest mean, for the cases that can vote."""
    winners = {}
    for instance, of_case in solutions.groupby("instance_id"):
        if len(of_case) == 1:
            winners[str(instance)] = of_case["solution"].tolist()
        elif of_case["mean"].notna().all():
            winners[str(instance)] = of_case.loc[of_case["mean"] == of_case["mean"].min(), "solution"].tolist()
    return winners
