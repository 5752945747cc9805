from __future__ import annotations

import math

import numpy as np
import pytest
from seed_paper import MODELS, seed_paper

from patchperf.quality.dimensions import DIMENSIONS
from patchperf.quality.index import dimension_scores, schemes
from patchperf.quality.simplex import first_region, least_move, shares, weights_table

EQUAL = np.full(4, 0.25)


def drawn_weights(count, size=4):
    return np.random.default_rng(2).dirichlet(np.ones(size), count)


def winners(scores, weights):
    return np.argmax(weights @ scores.T, axis=1)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("size", [3, 4])
def test_shares_are_those_of_weights_drawn_evenly(seed, size):
    scores = np.random.default_rng(seed).uniform(size=(6, size))
    found = shares(scores)
    counted = np.bincount(winners(scores, drawn_weights(40_000, size)), minlength=6) / 40_000
    assert found == pytest.approx(counted, abs=0.012)
    assert found.sum() == pytest.approx(1)


def test_a_source_that_is_best_on_one_dimension_each_shares_the_simplex_evenly():
    assert shares(np.eye(4)) == pytest.approx([0.25] * 4)


def test_a_dominated_source_is_first_nowhere_and_equal_ones_share():
    scores = np.array([[0.5, 0.5, 0.5, 0.5], [0.9, 0.5, 0.6, 0.7], [0.9, 0.5, 0.6, 0.7]])
    assert shares(scores) == pytest.approx([0, 0.5, 0.5])


def test_scores_that_rounding_tells_apart_share():
    assert shares(np.array([[1, 1, 1], [1, 1, 1 + 1e-12]])).tolist() == [0.5, 0.5]
    near = np.random.default_rng(1).uniform(0.4, 0.6, 4) + np.random.default_rng(2).uniform(-1e-8, 1e-8, (5, 4))
    assert shares(near).sum() == pytest.approx(1)


def test_the_least_move_between_two_dimensions_is_found_by_hand():
    move, at = least_move(EQUAL, np.array([0.8, 0.2, 0.5, 0.5]), np.array([0.4, 0.4, 0.5, 0.5]))
    assert move == pytest.approx(1 / 12)
    assert at == pytest.approx([1 / 6, 1 / 3, 1 / 4, 1 / 4])


@pytest.mark.parametrize("seed", range(4))
def test_no_point_of_the_simplex_changes_the_order_at_less(seed):
    ahead, behind = np.random.default_rng(seed).uniform(size=(2, 4))
    if EQUAL @ ahead < EQUAL @ behind:
        ahead, behind = behind, ahead
    move, at = least_move(EQUAL, ahead, behind)
    points = drawn_weights(40_000)
    moved = np.abs(points - EQUAL).sum(axis=1)[points @ behind >= points @ ahead] / 2
    if len(moved):
        assert moved.min() >= move - 1e-9
        assert moved.min() <= move + 0.1
        assert at @ behind == pytest.approx(at @ ahead)


def test_no_weights_put_a_source_first_that_is_worse_on_all():
    move, at = least_move(EQUAL, np.full(4, 0.6), np.full(4, 0.5))
    assert math.isinf(move)
    assert np.isnan(at).all()


def test_the_seed_papers_ranking_hangs_on_little_weight():
    scores = dimension_scores(seed_paper(), "generation")[0]
    table = weights_table(scores, MODELS, DIMENSIONS, schemes(DIMENSIONS))
    equal = table[table["scheme"] == "equal"].set_index("source")
    assert equal.index[0] == "lite"
    assert equal.loc["lite", "rival"] == "3B"
    assert 0 < equal.loc["lite", "to_first"] == equal.loc["3B", "to_first"] < 0.05
    at = equal.loc["3B", [f"first_{dimension}" for dimension in DIMENSIONS]].to_numpy(float)
    values = scores @ at
    assert values[MODELS.index("3B")] == pytest.approx(values[MODELS.index("lite")])
    assert equal["share"].sum() == pytest.approx(1)


def test_to_next_is_what_swaps_neighbours():
    scores = np.array([[0.9, 0.5, 0.5], [0.5, 0.8, 0.5], [0.1, 0.1, 0.1]])
    table = weights_table(scores, ("a", "b", "c"), ("x", "y", "z"), {"equal": dict.fromkeys("xyz", 1 / 3)})
    assert table["source"].tolist() == ["a", "b", "c"]
    assert table["next"].tolist() == ["b", "c", ""]
    assert table["to_next"].tolist() == pytest.approx([1 / 21, math.inf, math.inf])
    assert table["to_first"].tolist() == pytest.approx([1 / 21, 1 / 21, math.inf])
    assert table["rival"].tolist() == ["b", "a", ""]


def test_sources_without_a_score_are_left_out():
    scores = np.array([[0.9, 0.5, np.nan], [0.5, 0.8, 0.5]])
    table = weights_table(scores, ("a", "b"), ("x", "y", "z"), {"equal": dict.fromkeys("xyz", 1 / 3)})
    assert table["source"].tolist() == ["b"]
    assert table["share"].tolist() == [1.0]


def area(polygon):
    """Of a polygon in shares of a triangle's corners, over the triangle's."""
    x, y = polygon[:, 0], polygon[:, 1]
    return abs(x @ np.roll(y, -1) - y @ np.roll(x, -1))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("sources", [1, 2, 6])
def test_regions_are_the_shares_of_three_dimensions(seed, sources):
    scores = np.random.default_rng(seed).uniform(size=(sources, 3))
    regions = [first_region(scores.T, number) for number in range(sources)]
    assert [area(region) for region in regions] == pytest.approx(shares(scores))
    for number, region in enumerate(regions):
        if len(region):
            inside = region.mean(axis=0)[np.newaxis]
            assert inside.sum() == pytest.approx(1)
            assert winners(scores, inside) == [number]


def test_a_source_that_draws_level_at_a_corner_alone_has_no_region():
    values = np.array([[0.9, 0.9, 0.1], [0.8, 0.5, 0.1], [0.7, 0.5, 0.1]])
    assert [len(first_region(values, number)) for number in range(3)] == [3, 0, 0]


def test_shares_and_indexes_of_perfect_sources_are_no_more_and_no_less_than_1():
    random = np.random.default_rng(1)
    for _ in range(20):
        scores = np.vstack([np.ones(4), random.uniform(0.1, 0.9, (3, 4))])
        assert shares(scores)[0] == 1
        table = weights_table(scores, tuple("abcd"), DIMENSIONS, schemes(DIMENSIONS, {"mine": {"correctness": 1.0}}))
        first = table[table["source"] == "a"]
        assert list(first["index"]) == [1.0] * len(first)
        assert list(first["share"]) == [1.0] * len(first)
