import math

import numpy as np
import pandas as pd
import pingouin
import pytest

from patchperf.stats.cases import case_statistics
from patchperf.stats.contrasts import contrasts
from patchperf.stats.samples import members_of
from patchperf.stats.schema import CONTRASTS

RNG = np.random.default_rng(8)
FOUR = {f"s{i}": (f"m{i}", np.exp(RNG.normal(10 + 0.005 * i, 0.004 * (1 + i), 5)).tolist()) for i in range(4)}


def compared(tables: tuple[pd.DataFrame, pd.DataFrame], alpha: float = 0.05) -> pd.DataFrame:
    cases, measurements = tables
    return contrasts(measurements, members_of(cases), alpha)


def test_pairs_equal_pingouins_games_howell(tables) -> None:
    ours = compared(tables({"one": FOUR}))
    logs = [(name, math.log(x)) for name, (_, values) in FOUR.items() for x in values]
    samples = pd.DataFrame(logs, columns=["s", "y"])
    expected = pingouin.pairwise_gameshowell(samples, dv="y", between="s")
    assert ours[["solution_i", "solution_j"]].to_numpy().tolist() == expected[["A", "B"]].to_numpy().tolist()
    for column, theirs in {"t": "T", "df": "df", "p": "pval"}.items():
        assert ours[column].tolist() == pytest.approx(expected[theirs].tolist(), rel=1e-7), column
    assert np.log(ours["ratio"]).tolist() == pytest.approx(expected["diff"].tolist(), rel=1e-9)


def test_an_interval_leaves_one_out_where_p_is_below_alpha(tables) -> None:
    for alpha in (0.01, 0.2, 0.6):
        ours = compared(tables({"one": FOUR}), alpha)
        outside = (ours["low"] > 1) | (ours["high"] < 1)
        assert (outside == (ours["p"] < alpha)).all()
        assert ((ours["low"] < ours["ratio"]) & (ours["ratio"] < ours["high"])).all()


def test_two_solutions_have_the_p_of_welch(tables) -> None:
    two = tables({"one": {name: FOUR[name] for name in ("s0", "s3")}})
    cases, measurements = two
    welch = case_statistics(measurements, members_of(cases), 0.05).iloc[0]
    (pair,) = compared(two).to_dict("records")
    assert (pair["p"], pair["t"] ** 2) == (pytest.approx(welch["p"], rel=1e-7), pytest.approx(welch["f"]))
    assert pair["p_blocks"] == pytest.approx(welch["p_blocks"])
    assert (1 / pair["high"], 1 / pair["low"]) == (pytest.approx(welch["low"]), pytest.approx(welch["high"]))


@pytest.mark.parametrize(
    ("solutions", "note", "p", "p_blocks"),
    [
        ({"s": [5, 5], "t": [7, 7]}, "zero variance: exact", 0, 0),
        ({"s": [5, 5], "t": [5, 5]}, "zero variance: exact", 1, 1),
        ({"s": [5, 5, 5], "t": [5, 7, 6]}, "zero variance in one solution", ..., ...),
        ({"s": [5], "t": [7]}, "fewer than two replicates", None, None),
        ({"s": [5, 6], "t": [7]}, "fewer than two replicates", None, None),
        ({"s": [5, 6, None], "t": [None, 7, 8]}, "fewer than two common rounds", ..., None),
        ({"s": [5, 6], "t": [10, 12]}, "no variance of the ratio between rounds: exact", ..., 0),
        ({"s": [5, 6], "t": [7, 8]}, "", ..., ...),
    ],
)
def test_degenerate_pairs_are_decided_and_said(tables, solutions, note, p, p_blocks) -> None:
    case = {"case": {name: (f"m-{name}", values) for name, values in solutions.items()}}
    (row,) = compared(tables(case)).to_dict("records")
    assert row["note"] == note
    for expected, found in ((p, row["p"]), (p_blocks, row["p_blocks"])):
        assert math.isnan(found) if expected is None else 0 <= found <= 1
        assert expected in (None, ...) or found == expected
    values = [np.log([one for one in solutions[name] if one is not None]) for name in ("s", "t")]
    assert row["ratio"] == pytest.approx(math.exp(np.mean(values[0]) - np.mean(values[1])))
    if "exact" in note and p == 0:
        assert row["low"] == row["high"] == row["ratio"]


def test_what_has_no_value_stands_in_no_pair_and_a_broken_counter_leaves_the_case(tables) -> None:
    ours = compared(
        tables(
            {
                "half": {"s": ("m1", [5, 6]), "t": ("m2", [None]), "u": ("m3", [6, 7])},
                "broken": {"s": ("m1", [5, 6]), "t": ("m2", [0, 7])},
                "single": {"s": ("m1", [5, 6])},
            }
        )
    )
    assert ours[["instance_id", "solution_i", "solution_j"]].to_numpy().tolist() == [["half", "s", "u"]]


def test_holm_is_over_the_pairs_of_a_case(tables) -> None:
    ours = compared(tables({"one": FOUR, "two": {name: FOUR[name] for name in ("s0", "s3")}}))
    (alone,) = ours.loc[ours["instance_id"] == "two", "p_blocks"]
    among = ours[(ours["instance_id"] == "one") & (ours["solution_i"] == "s0") & (ours["solution_j"] == "s3")]
    assert alone <= among["p_blocks"].item() <= 6 * alone


def test_no_cases_give_headers_only() -> None:
    table = contrasts(pd.DataFrame(), members_of(pd.DataFrame()), 0.05)
    assert (len(table), list(table.columns)) == (0, list(CONTRASTS))
