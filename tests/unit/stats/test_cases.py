import math

import pandas as pd
import pytest
from scipy import stats

from patchperf.stats.cases import case_statistics
from patchperf.stats.samples import members_of
from patchperf.stats.schema import CASES


def statistics(tables: tuple[pd.DataFrame, pd.DataFrame], alpha: float = 0.05) -> pd.DataFrame:
    cases, measurements = tables
    return case_statistics(measurements, members_of(cases), alpha).set_index("instance_id")


def test_a_clear_difference_is_distinguishable_and_noise_is_not(tables) -> None:
    fast, slow, close = [100, 101, 99, 100, 100.5], [110, 111, 109, 112, 110], [100, 99, 102, 100, 100]
    table = statistics(
        tables(
            {
                "clear": {"s": ("m1", fast), "t": ("m2", slow)},
                "close": {"s": ("m1", fast), "t": ("m2", close)},
            }
        )
    )
    for name, other in (("clear", slow), ("close", close)):
        expected = stats.ttest_ind([math.log(x) for x in fast], [math.log(x) for x in other], equal_var=False).pvalue
        assert table.loc[name, "p"] == pytest.approx(expected, rel=1e-9)
    assert table["distinguishable"].to_dict() == {"clear": True, "close": False}
    assert table.loc["clear", "rsd"] == pytest.approx((110.4 - 100.1) / math.sqrt(2) / 105.25)
    assert table[["k", "replicates", "repetitions"]].loc["clear"].tolist() == [2, 5, 100]


def test_alpha_decides_and_is_recorded(tables) -> None:
    data = tables({"one": {"s": ("m1", [100, 101, 99]), "t": ("m2", [103, 104, 101])}})
    p = statistics(data).loc["one", "p"]
    assert statistics(data, alpha=p * 1.01).loc["one", "distinguishable"]
    assert not statistics(data, alpha=p).loc["one", "distinguishable"]
    assert statistics(data, alpha=0.3).loc["one", "alpha"] == 0.3


@pytest.mark.parametrize(
    ("solutions", "note", "rsd_is_known", "p_is_known"),
    [
        ({"s": [1, 2]}, "single solution", False, False),
        ({"s": [None]}, "single solution; not measured", False, False),
        ({"s": [None], "t": [None]}, "not measured", False, False),
        ({"s": [5], "t": [6]}, "0 of 2 solutions tested", True, False),
        ({"s": [5, 6], "t": [6]}, "1 of 2 solutions tested; unequal replicates; 1 of 2 rounds complete", True, False),
        (
            {"s": [5, 6], "t": [6, 8], "u": [7]},
            "2 of 3 solutions tested; unequal replicates; 1 of 2 rounds complete",
            True,
            True,
        ),
        ({"s": [5, 6], "t": [6, 7], "u": [None]}, "2 of 3 solutions measured", True, True),
        ({"s": [5, 6, 7], "t": [6, 7]}, "unequal replicates; 2 of 3 rounds complete", True, True),
        ({"s": [5, 6], "t": [0, 7]}, "non-positive or infinite values", False, False),
        ({"s": [5, 5], "t": [5, 7]}, "zero variance in some solutions: limit", True, True),
        ({"s": [5, 5], "t": [7, 7]}, "zero variance: exact", True, True),
        ({"s": [5, 6], "t": [7, 8]}, "", True, True),
    ],
)
def test_degenerate_input_is_decided_and_said(tables, solutions, note, rsd_is_known, p_is_known) -> None:
    measured_elsewhere = {"other": {"s": ("m1", [1, 2])}}
    case = {"case": {name: (f"m-{name}", values) for name, values in solutions.items()}}
    row = statistics(tables(case | measured_elsewhere)).loc["case"]
    assert row["note"] == note
    assert pd.notna(row["rsd"]) == rsd_is_known
    assert pd.notna(row["p"]) == p_is_known
    assert row["k"] == len(solutions)
    if not p_is_known:
        assert not row["distinguishable"]


def test_metrics_are_tested_apart(tables) -> None:
    cases, counts = tables({"one": {"s": ("m1", [5, 5]), "t": ("m2", [7, 7])}})
    _, times = tables({"one": {"s": ("m1", [5, 6]), "t": ("m2", [6, 5])}}, "wall_ns", "perf_counter")
    table = case_statistics(pd.concat([counts, times]), members_of(cases), 0.05).set_index("metric")
    assert table["distinguishable"].to_dict() == {"instructions": True, "wall_ns": False}
    assert table["backend"].to_dict() == {"instructions": "cirron", "wall_ns": "perf_counter"}


def test_a_metric_that_was_never_measured_has_no_rows(tables) -> None:
    cases, times = tables({"one": {"s": ("m1", [5, 6])}}, "wall_ns", "perf_counter")
    _, counts = tables({"one": {"s": ("m1", [None, None])}}, "instructions", "none")
    table = case_statistics(pd.concat([counts, times]), members_of(cases), 0.05)
    assert table["metric"].tolist() == ["wall_ns"]


def test_an_empty_corpus_gives_headers_only() -> None:
    table = case_statistics(pd.DataFrame(), members_of(pd.DataFrame()), 0.05)
    assert (len(table), list(table.columns)) == (0, list(CASES))


NOISY = [1003, 1000, 997, 1005, 995]


def test_rounds_find_what_their_own_noise_hides_from_welch(tables) -> None:
    """Common noise of half a percent, a difference of a thousandth: seen in pairs, not in groups."""
    slower = [1004.1, 1000.9, 998.1, 1005.9, 996.0]
    row = statistics(tables({"one": {"s": ("m1", NOISY), "t": ("m2", slower)}})).loc["one"]
    assert row["p"] > 0.5
    assert row["p_blocks"] == pytest.approx(stats.ttest_rel(*map(logs, (NOISY, slower))).pvalue)
    assert row["p_blocks"] < 0.001
    assert (row["p_permutation"], row["p_friedman"]) == (0.0625, 0.0625)
    assert row["rounds"] == 5


def logs(values: list[float]) -> list[float]:
    return [math.log(value) for value in values]


def test_a_tiny_difference_of_exact_counts_is_distinguishable_and_not_practical(tables) -> None:
    """One instruction in a million, another time two percent."""
    table = statistics(
        tables(
            {
                "tiny": {"s": ("m1", [1_000_000] * 5), "t": ("m2", [1_000_001] * 5)},
                "large": {"s": ("m1", [1_000_000] * 5), "t": ("m2", [1_020_000] * 5)},
            }
        )
    )
    assert table[["p", "q", "p_blocks"]].eq(0).all(axis=None)
    assert table["distinguishable"].all()
    assert table["practical"].to_dict() == {"tiny": False, "large": True}
    assert table.loc["tiny", ["slowest_fastest", "low", "high"]].tolist() == pytest.approx([1 + 1e-6] * 3, rel=1e-12)


def test_the_whole_interval_has_to_be_beyond_the_threshold(tables) -> None:
    data = tables({"one": {"s": ("m1", NOISY), "t": ("m2", [1.02 * x for x in NOISY])}})
    cases, measurements = data
    row = statistics(data).loc["one"]
    assert (row["practical"], row["practical_threshold"]) == (True, 0.01)
    assert 1.01 < row["low"] < row["slowest_fastest"] < row["high"]
    assert row["slowest_fastest"] == pytest.approx(1.02)
    beyond = case_statistics(measurements, members_of(cases), 0.05, practical_threshold=row["low"] - 1)
    assert not beyond["practical"].any()


def test_q_is_over_the_tested_cases_of_a_metric(tables) -> None:
    study = {
        f"case {number}": {"s": ("m1", NOISY), "t": ("m2", [(1 + number / 400) * x for x in NOISY[::-1]])}
        for number in range(6)
    }
    untested = {"untested": {"s": ("m1", [5]), "t": ("m2", [6])}}
    cases, counts = tables(study | untested)
    _, times = tables({"case 1": study["case 1"]}, "wall_ns", "perf_counter")
    table = case_statistics(pd.concat([counts, times]), members_of(cases), 0.05).set_index(["metric", "instance_id"])
    counted = table.loc["instructions"].drop(index="untested")
    assert counted["q"].tolist() == pytest.approx(stats.false_discovery_control(counted["p"]))
    assert math.isnan(table.loc[("instructions", "untested"), "q"])
    assert table.loc[("wall_ns", "case 1"), "q"] == table.loc[("wall_ns", "case 1"), "p"]


def test_only_rounds_that_all_completed_are_blocks(tables) -> None:
    gaps = {
        "s": ("m1", [100, None, 103, 99, 101]),
        "t": ("m2", [101, 105, 104, 102, None]),
        "u": ("m3", [102, 101, 103, 105, 99]),
    }
    whole = {name: (source, [values[g] for g in (0, 2, 3)]) for name, (source, values) in gaps.items()}
    table = statistics(tables({"gaps": gaps, "whole": whole}))
    for column in ("p_blocks", "p_friedman", "p_permutation"):
        assert table.loc["gaps", column] == pytest.approx(table.loc["whole", column])
    assert table["rounds"].tolist() == [3, 3]
    assert table.loc["gaps", "note"] == "unequal replicates; 3 of 5 rounds complete"


@pytest.mark.parametrize(
    ("solutions", "over_rounds_is_known", "effect_is_known", "interval_is_known"),
    [
        ({"s": [1, 2]}, False, False, False),
        ({"s": [None], "t": [None]}, False, False, False),
        ({"s": [5], "t": [6]}, False, True, False),
        ({"s": [5, 6], "t": [6]}, False, True, False),
        ({"s": [5, 6, None], "t": [None, 7, 8]}, False, True, True),
        ({"s": [5, 6], "t": [6, 7], "u": [None]}, True, True, True),
        ({"s": [5, 6], "t": [0, 7]}, False, False, False),
        ({"s": [5, 6], "t": [-3, 7], "u": [5, 5]}, False, False, False),
        ({"s": [5, 5], "t": [5, 7]}, True, True, True),
    ],
)
def test_tests_over_rounds_and_effects_are_decided_on_degenerate_input(
    tables, solutions, over_rounds_is_known, effect_is_known, interval_is_known
) -> None:
    measured_elsewhere = {"other": {"s": ("m1", [1, 2, 3])}}
    case = {"case": {name: (f"m-{name}", values) for name, values in solutions.items()}}
    row = statistics(tables(case | measured_elsewhere)).loc["case"]
    for column in ("p_blocks", "p_friedman", "p_permutation"):
        assert pd.notna(row[column]) == over_rounds_is_known, column
    assert pd.notna(row["slowest_fastest"]) == effect_is_known
    assert pd.notna(row["low"]) == pd.notna(row["high"]) == interval_is_known


def test_rounds_alike_for_all_solutions_are_exact(tables) -> None:
    double = {"s": ("m1", [100, 103, 99]), "t": ("m2", [200, 206, 198])}
    row = statistics(tables({"one": double})).loc["one"]
    assert (row["p_blocks"], row["note"]) == (0, "no variance within rounds: exact")
