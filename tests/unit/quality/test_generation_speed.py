from __future__ import annotations

import numpy as np
import pytest

from patchperf.quality.generation_speed import generation_speed_table
from patchperf.quality.schema import SPEEDS
from patchperf.stats.schema import typed


def table(*rows):
    return generation_speed_table(typed([dict(zip(SPEEDS, row, strict=True)) for row in rows], SPEEDS))


def test_sources_stand_from_the_fastest_on():
    made = table(("slow", 20, 30, 30), ("unknown", np.nan, 9, 9), ("b", 80, 10, 3), ("a", 80, 20, 4))
    assert made["source"].tolist() == ["a", "b", "slow"]
    assert made["relative_speed"].tolist() == [1, 1, 0.25]


def test_ranks_are_correlated_by_hand():
    made = table(("a", 100, 1, 2), ("b", 70, 4, 1), ("c", 50, 3, 3), ("d", 10, 2, np.nan))
    # total: ranks of speed 4 3 2 1 against 1 4 3 2, Σd² = 12; active: 3 2 1 against 2 1 3, Σd² = 6
    assert made["rho_total"].unique() == pytest.approx([1 - 6 * 12 / (4 * 15)])
    assert made["rho_active"].unique() == pytest.approx([1 - 6 * 6 / (3 * 8)])
    assert (made["n_total"].unique(), made["n_active"].unique()) == ([4], [3])


def test_ties_share_their_mean_rank():
    made = table(("a", 90, 7, 7), ("b", 60, 7, 7), ("c", 30, 70, 70))
    assert made["rho_total"].iloc[0] == pytest.approx(-np.sqrt(3) / 2)


@pytest.mark.parametrize(
    "rows",
    [
        [("a", 90, 7, 7), ("b", 60, 9, 9)],
        [("a", 90, 7, 7), ("b", 60, 7, 7), ("c", 30, 7, 7)],
        [("a", 90, 7, 7), ("b", 90, 8, 8), ("c", 90, 9, 9)],
    ],
)
def test_without_three_sources_or_without_an_order_there_is_no_correlation(rows):
    assert table(*rows)["rho_total"].isna().all()


def test_no_speeds_are_no_rows():
    made = table()
    assert (len(made), made["n_total"].dtype) == (0, "int64")
