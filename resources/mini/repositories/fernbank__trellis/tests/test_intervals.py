import pytest

from trellis.intervals import contains, gaps, merge, total_length


def test_merge_joins_intervals_that_overlap():
    assert merge([(1, 4), (3, 6), (8, 9)]) == [(1, 6), (8, 9)]


def test_merge_joins_intervals_that_touch():
    assert merge([(0, 2), (2, 5)]) == [(0, 5)]


def test_merge_keeps_the_longer_end():
    assert merge([(0, 9), (1, 2), (8, 10)]) == [(0, 10)]


def test_merge_of_nothing():
    assert merge([]) == []


def test_total_length_counts_overlaps_once():
    assert total_length([(0, 3), (2, 5), (7, 8)]) == 6


def test_gaps_lie_between_merged_intervals():
    assert gaps([(0, 2), (1, 3), (5, 6), (9, 9)]) == [(3, 5), (6, 9)]


@pytest.mark.parametrize("point, inside", [(1, True), (5, False)], ids=["at the start", "past the end"])
def test_contains(point, inside):
    assert contains([(1, 2), (3, 4)], point) is inside
