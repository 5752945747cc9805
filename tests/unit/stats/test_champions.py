from fractions import Fraction

import pandas as pd
import pytest

from patchperf.stats.cases import case_statistics
from patchperf.stats.champions import champion_votes
from patchperf.stats.samples import members_of, solution_statistics
from patchperf.stats.schema import CHAMPIONS


def votes(tables: tuple[pd.DataFrame, pd.DataFrame]) -> pd.DataFrame:
    cases, measurements = tables
    members = members_of(cases)
    solutions = solution_statistics(measurements, members)
    return champion_votes(members, solutions, case_statistics(measurements, members, 0.05))


def shares(table: pd.DataFrame, setting: str) -> dict[str, float]:
    rows = table[table["setting"] == setting]
    return dict(zip(rows["source"], rows["votes"], strict=True))


STUDY = {
    "alone": {"s": ("m1", [10, 10]), "t": ("m2 m3 ground_truth", [20, 20])},
    "shared by three": {"s": ("m2 m3 ground_truth", [10, 10]), "t": ("m1", [20, 20])},
    "exact tie of two solutions": {"s": ("m1", [9, 11]), "t": ("m2 m3", [10, 10]), "u": ("ground_truth", [12, 13])},
    "single solution": {"s": ("m3 ground_truth", [10, 11])},
    "undecided": {"s": ("m1", [10, 11]), "t": ("ground_truth", [None, None])},
}


def test_votes_counted_by_hand(tables) -> None:
    table = votes(tables(STUDY))
    third, half = Fraction(1, 3), Fraction(1, 2)
    assert shares(table, "full") == {
        "m1": pytest.approx(float(1 + third)),
        "m2": pytest.approx(float(third + third)),
        "m3": pytest.approx(float(third + third + half)),
        "ground_truth": pytest.approx(float(third + half)),
    }
    assert shares(table, "distinguishable") == {"m1": 1, "m2": 1 / 3, "m3": 1 / 3, "ground_truth": 1 / 3}


def test_votes_add_up_to_the_cases_that_voted(tables) -> None:
    table = votes(tables(STUDY))
    for setting, cases in (("full", 4), ("distinguishable", 2)):
        rows = table[table["setting"] == setting]
        assert rows["votes"].sum() == pytest.approx(cases)
        assert set(rows["cases"]) == {cases}


def test_splitting_equal_code_in_two_solutions_moves_no_vote(tables) -> None:
    whole = {"one": {"s": ("m1 m2 m3", [10, 11]), "t": ("ground_truth", [20, 21])}}
    split = {"one": {"s": ("m1", [10, 11]), "r": ("m2 m3", [10, 11]), "t": ("ground_truth", [20, 21])}}
    assert shares(votes(tables(whole)), "full") == shares(votes(tables(split)), "full")


def test_a_source_that_never_wins_is_listed_with_no_votes_and_the_ground_truth_comes_last(tables) -> None:
    table = votes(tables({"one": {"s": ("z", [10, 11]), "t": ("a ground_truth", [20, 21])}}))
    assert shares(table, "full") == {"a": 0, "z": 1, "ground_truth": 0}
    assert table["source"].tolist()[:3] == ["a", "z", "ground_truth"]


def test_no_cases_give_headers_only() -> None:
    table = votes((pd.DataFrame(), pd.DataFrame()))
    assert (len(table), list(table.columns)) == (0, list(CHAMPIONS))
