from __future__ import annotations

import math

import pytest

from patchperf.pages.strips import LABEL, MARGIN, WIDTH, Value, round_ticks, strip


def values(*numbers: float, void: bool = False) -> list[Value]:
    return [Value(number, void, f"r{place}", "") for place, number in enumerate(numbers)]


def test_marks_lie_in_the_order_of_their_values_within_the_axis() -> None:
    plot = strip([("a", values(100, 104, 102)), ("b", values(110, 98))])
    assert plot is not None
    placed = sorted((mark.x, value) for lane, known in zip(plot.lanes, ((100, 104, 102), (110, 98)), strict=True)
                    for mark, value in zip(lane.marks, known, strict=True))  # fmt: skip
    assert [value for _, value in placed] == [98, 100, 102, 104, 110]
    assert LABEL <= placed[0][0] < placed[-1][0] <= WIDTH - MARGIN


def test_a_mean_lies_between_its_marks_by_their_proportion() -> None:
    plot = strip([("a", values(100, 110))])
    assert plot is not None
    first, second = (mark.x for mark in plot.lanes[0].marks)
    assert plot.lanes[0].mean == pytest.approx((first + second) / 2, abs=0.1)


def test_the_axis_is_in_per_cent_of_the_grand_mean() -> None:
    plot = strip([("a", values(99, 99)), ("b", values(101, 101))])
    assert plot is not None
    at = {tick.label: tick.x for tick in plot.ticks}
    assert at["−1 %"] == pytest.approx(plot.lanes[0].marks[0].x, abs=0.1)
    assert at["+1 %"] == pytest.approx(plot.lanes[1].marks[0].x, abs=0.1)


def test_void_values_stay_in_the_drawing_and_move_no_mean() -> None:
    plot = strip([("a", [*values(100, 102), *values(1e9, void=True)])])
    alone = strip([("a", values(100, 102))])
    assert plot is not None
    assert alone is not None
    assert plot.lanes[0].mean == alone.lanes[0].mean
    assert plot.lanes[0].marks[-1].x == WIDTH - MARGIN
    assert plot.lanes[0].marks[-1].void


def test_equal_values_are_drawn_beside_each_other() -> None:
    plot = strip([("a", values(7, 7, 7, 7, 7))])
    assert plot is not None
    assert len({(mark.x, mark.y) for mark in plot.lanes[0].marks}) == 5


@pytest.mark.parametrize("lanes", [[], [("a", [])], [("a", values(5, void=True))], [("a", values(math.nan))]])
def test_without_usable_values_there_is_no_drawing(lanes: list[tuple[str, list[Value]]]) -> None:
    assert strip(lanes) is None


@pytest.mark.parametrize(("low", "high"), [(-1.0, 1.0), (-0.003, 0.0191), (1e-9, 3e-9), (-250.0, 900.0)])
def test_ticks_are_round_and_few(low: float, high: float) -> None:
    ticks = round_ticks(low, high)
    assert 2 <= len(ticks) <= 7
    assert all(low - 1e-12 <= tick <= high + 1e-12 for tick in ticks)
    step = ticks[1] - ticks[0]
    assert f"{step:.6e}".partition("e")[0] in {"1.000000", "2.000000", "5.000000"}
