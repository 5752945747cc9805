"""Rates of outcomes: what they are over, their intervals, and what changed between two runs."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from patchperf.stats.agreement import outcome_table
from patchperf.stats.outcome_flows import outcome_changes, outcome_flows
from patchperf.stats.outcome_rates import ALL, outcome_rates, wilson
from patchperf.stats.schema import OUTCOME_CHANGES, OUTCOME_FLOWS, OUTCOME_RATES, OUTCOMES


def candidates(**sources: str) -> pd.DataFrame:
    """Each source's outcomes of instances 1, 2, … by their first letters; a dot for no candidate.

    R Resolved, B Breaking Resolved, P Partially Resolved, W Work in Progress, N No-Op, X Regression, - not applied,
    e empty, t test only, o timed out, i infrastructure failure. Even instances are of a/b, odd ones of c/d.
    """
    letters = dict(zip("RBPWNX-etoi", OUTCOME_NAMES, strict=True))
    rows = [
        (f"p__q-{place}", "c/d" if place % 2 else "a/b", source, letters[one])
        for source, word in sources.items()
        for place, one in enumerate(word, 1)
        if one != "."
    ]
    blank = dict.fromkeys(("solution", "link", "note", "f2p", "p2p", "other_dialect", "other_outcome"), "")
    table = pd.DataFrame(rows, columns=["instance_id", "repo", "source", "outcome"])
    table = table.assign(dialect="swe-bench", reported_resolved=None, **blank)
    return outcome_table(table.reindex(columns=list(OUTCOMES)))


OUTCOME_NAMES = (
    "Resolved", "Breaking Resolved", "Partially Resolved", "Work in Progress", "No-Op", "Regression",
    "not applied", "empty", "test only", "timed out", "infrastructure failure",
)  # fmt: skip


def row(table: pd.DataFrame, source: str, repo: str = ALL) -> pd.Series:
    (found,) = table[(table["source"] == source) & (table["repo"] == repo)].to_dict("records")
    return pd.Series(found)


def test_all_sources_are_rated_on_the_same_instances() -> None:
    table = outcome_rates(candidates(one="RRXNB-et", two="R......."))
    one, two = row(table, "one"), row(table, "two")
    assert (one["instances"], two["instances"]) == (8, 8)
    assert (one["candidates"], two["candidates"]) == (8, 1)
    assert (one["resolved_rate"], two["resolved_rate"]) == (2 / 8, 1 / 8)
    assert (one["regression_rate"], two["regression_rate"]) == (1 / 8, 0)
    assert one["untested"] == 3


def test_shares_are_of_tested_patches_that_are_not_resolved() -> None:
    found = row(outcome_rates(candidates(one="RBPWNNX-etoi")), "one")
    assert (found["unresolved"], found["no_op"], found["regression"]) == (6, 2, 1)
    assert (found["no_op_share"], found["regression_share"]) == (2 / 6, 1 / 6)
    assert (found["untested"], found["failed"]) == (4, 1)


def test_an_instance_whose_ground_truth_fails_is_judged_for_nobody() -> None:
    table = outcome_rates(candidates(one="Rii", ground_truth="RiR"))
    assert row(table, "one")[["instances", "candidates", "failed"]].tolist() == [2, 2, 1]
    assert row(table, "ground_truth")["resolved_rate"] == 1


def test_rates_are_also_told_by_repository() -> None:
    table = outcome_rates(candidates(one="RXNX"))
    assert row(table, "one", "c/d")[["instances", "resolved_rate", "regression_rate"]].tolist() == [2, 0.5, 0]
    assert row(table, "one", "a/b")[["instances", "resolved_rate", "regression_rate"]].tolist() == [2, 0, 1]
    assert table["repo"].tolist() == [ALL, "a/b", "c/d"]


def test_a_share_of_nothing_is_missing() -> None:
    found = row(outcome_rates(candidates(one="RR")), "one")
    assert found["unresolved"] == 0
    assert math.isnan(found["no_op_share"])
    assert math.isnan(found["regression_share_low"])


def test_no_candidates_have_no_rates() -> None:
    assert list(outcome_rates(outcome_table(pd.DataFrame())).columns) == list(OUTCOME_RATES)


@pytest.mark.parametrize(("count", "total"), [(0, 5), (1, 5), (5, 5), (7, 500), (371, 500)])
def test_bounds_are_wilsons_as_statsmodels_has_them(count: int, total: int) -> None:
    assert wilson(count, total) == pytest.approx(proportion_confint(count, total, method="wilson"), abs=1e-12)


def test_flows_count_who_moved_where() -> None:
    flows = outcome_flows(candidates(old="XXNR.", new="NNRRR"), {"new": "old"})
    moves = flows[["before", "after", "count"]].to_numpy().tolist()
    assert moves == [["Resolved", "Resolved", 1], ["No-Op", "Resolved", 1], ["Regression", "No-Op", 2]]
    assert flows["instances"].tolist()[2] == ["p__q-1", "p__q-2"]


def test_changes_count_gains_and_losses_with_mcnemars_test() -> None:
    outcomes = candidates(old="NNNNNNXXRR", new="RRRRRRNNRN")
    resolved, regression = outcome_changes(outcomes, {"new": "old"}).to_dict("records")
    counts = ("n", "before", "after", "both", "gained", "lost")
    assert [resolved[name] for name in counts] == [10, 2, 7, 1, 6, 1]
    assert [regression[name] for name in counts] == [10, 2, 0, 0, 0, 2]
    assert resolved["p"] == pytest.approx(stats.binomtest(1, 7).pvalue)
    assert regression["p"] == pytest.approx(stats.binomtest(0, 2).pvalue)


def test_without_an_earlier_run_nothing_has_changed() -> None:
    outcomes = candidates(one="RN")
    assert list(outcome_flows(outcomes, {}).columns) == list(OUTCOME_FLOWS)
    assert list(outcome_changes(outcomes, {}).columns) == list(OUTCOME_CHANGES)
