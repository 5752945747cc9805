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
        ({"s": [5, 6], "t": [6]}, "1 of 2 solutions tested; unequal replicates", True, False),
        ({"s": [5, 6], "t": [6, 8], "u": [7]}, "2 of 3 solutions tested; unequal replicates", True, True),
        ({"s": [5, 6], "t": [6, 7], "u": [None]}, "2 of 3 solutions measured", True, True),
        ({"s": [5, 6, 7], "t": [6, 7]}, "unequal replicates", True, True),
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
