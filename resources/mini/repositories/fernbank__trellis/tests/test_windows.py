import pytest

from trellis.windows import chunks, pairs, rolling_max


def test_pairs_of_neighbours():
    assert pairs([1, 2, 3]) == [(1, 2), (2, 3)]


@pytest.mark.parametrize("size, count", [(1, 5), (2, 3), (5, 1), (9, 1)])
def test_number_of_chunks(size, count):
    assert len(chunks("abcde", size)) == count


def test_rolling_max_of_too_few_values_is_empty():
    assert rolling_max([1, 2], 3) == []


def test_rolling_max_starts_with_the_first_run():
    assert rolling_max([5, 1, 1, 2], 2)[0] == 5
