"""Counts over cases, by hand."""

import math

import pandas as pd
import pytest

from patchperf.stats.distinguishable import distinguishable_counts
from patchperf.stats.schema import CASES, DISTINGUISHABLE, typed


def case(p: float, q: float, rsd: float, **more: object) -> dict[str, object]:
    told = {"metric": "wall_ns", "backend": "clock", "k": 2, "p": p, "q": q, "rsd": rsd, "alpha": 0.05}
    return {"p_blocks": p, "p_friedman": 0.5, "p_permutation": p, "practical": False, **told, **more}


def counts(*rows: dict[str, object]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=list(CASES))
    table["distinguishable"] = table["p"] < 0.05
    numbers = ["df1", "replicates", "voids", "repetitions", "rounds"]
    return distinguishable_counts(typed(table.assign(**dict.fromkeys(numbers, 1), collapsed=False), CASES))


def test_every_test_is_counted_over_the_tested_cases() -> None:
    (row,) = counts(
        case(0.001, 0.004, 0.4, practical=True, p_friedman=0.01),
        case(0.04, 0.08, 0.2, p_blocks=0.2),
        case(0.3, 0.4, 0.1, p_permutation=0.049),
        case(0.9, 0.9, 0.0),
        case(math.nan, math.nan, math.nan, k=1),
        case(math.nan, math.nan, math.nan, k=3),
    ).to_dict("records")
    assert [row[name] for name in ("cases", "compared", "tested", "distinguishable", "by_q")] == [6, 5, 4, 2, 1]
    assert [row[name] for name in ("by_blocks", "by_friedman", "by_permutation", "practical")] == [1, 1, 3, 1]
    assert (row["share"], row["chance"]) == (0.5, pytest.approx(0.2))
    assert (row["median_rsd"], row["median_rsd_distinguishable"]) == (pytest.approx(0.15), pytest.approx(0.3))


def test_without_cases_there_are_no_rows_and_without_tests_no_share() -> None:
    assert list(counts().columns) == list(DISTINGUISHABLE)
    (row,) = counts(case(math.nan, math.nan, math.nan, k=1)).to_dict("records")
    assert (row["cases"], row["tested"]) == (1, 0)
    assert math.isnan(row["share"])
