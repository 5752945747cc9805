from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from seed_paper import seed_paper

from patchperf.errors import InputError
from patchperf.quality.dimensions import DIMENSIONS, dimensions
from patchperf.quality.index import dimension_scores, index, quality_table, ranks, schemes

FEW = 300


def scheme(table, name, normalisation="ratio"):
    rows = table[(table["scheme"] == name) & (table["normalisation"] == normalisation)]
    return rows.set_index("source")


def test_the_seed_papers_scores_come_out():
    scores = dimension_scores(seed_paper(), "generation")[0]
    assert scores[:, 0] == pytest.approx([0.400, 0.154, 0.308, 0.323], abs=5e-4)
    assert scores[:, 3] == pytest.approx([0.240, 1.000, 0.450, 0.810])


def test_the_seed_papers_orderings_come_out():
    table = quality_table(seed_paper(), "generation", seed=1, resamples=FEW)
    for name, first in [("equal", "lite"), ("correctness-priority", "lite"), ("other-priority", "3B")]:
        assert scheme(table, name)["index"].idxmax() == first
    assert scheme(table, "equal").loc["14B", "efficiency"] == pytest.approx(0.24)


def test_min_max_hands_the_slowest_0_and_puts_the_least_correct_first_under_equal_weights():
    table = scheme(quality_table(seed_paper(), "generation", seed=1, resamples=FEW), "equal", "min-max")
    assert table.loc["14B", "efficiency"] == 0
    assert table["correctness"].idxmin() == "3B" == table["index"].idxmax()
    assert table.loc["3B", "rank"] == 1


def test_the_index_is_the_weighted_sum():
    table = scheme(quality_table(seed_paper(), "generation", seed=1, resamples=FEW), "other-priority")
    by_hand = 0.2 * table["correctness"] + 0.8 / 3 * (table[["maintainability", "security", "efficiency"]].sum(axis=1))
    assert table["index"].to_numpy() == pytest.approx(by_hand.to_numpy())


def test_schemes_add_up_to_1_with_and_without_efficiency():
    for rated in (DIMENSIONS, dimensions("none")):
        for weights in schemes(rated).values():
            assert sum(weights.values()) == pytest.approx(1)
            assert set(weights) == set(rated)
    assert schemes(DIMENSIONS)["correctness-priority"]["security"] == pytest.approx(0.5 / 3)


@pytest.mark.parametrize(
    ("weights", "reason"),
    [
        ({"speed": 1.0}, "no dimension speed"),
        ({"correctness": 1.5, "security": -0.5}, "below 0"),
        ({"correctness": float("nan")}, "no number"),
        ({"correctness": 0.7, "security": 0.2}, "add up to 0.9"),
    ],
)
def test_a_users_scheme_that_is_none_is_refused(weights, reason):
    with pytest.raises(InputError, match=reason):
        schemes(DIMENSIONS, {"mine": weights})


def test_a_users_scheme_stands_beside_the_others_but_not_in_their_place():
    assert schemes(DIMENSIONS, {"mine": {"correctness": 1}})["mine"] == dict(zip(DIMENSIONS, [1, 0, 0, 0], strict=True))
    with pytest.raises(InputError, match="another name"):
        schemes(DIMENSIONS, {"equal": {"correctness": 1}})


def test_intervals_are_those_of_resampling_row_by_row():
    ratings = seed_paper()
    table = scheme(quality_table(ratings, "generation", seed=3, resamples=4000), "equal")
    random = np.random.default_rng(8)
    slow = []
    for _ in range(4000):
        rows = random.integers(0, len(ratings.instances), len(ratings.instances))
        parts = [ratings.correct[rows], ratings.maintainability[rows], ratings.security[rows]]
        speeds = ratings.tokens_per_second[rows].mean(axis=0)
        slow.append(np.mean([*(part.mean(axis=0) for part in parts), speeds / speeds.max()], axis=0))
    low, high = np.percentile(slow, [2.5, 97.5], axis=0)
    assert table["low"].to_numpy() == pytest.approx(low, abs=0.004)
    assert table["high"].to_numpy() == pytest.approx(high, abs=0.004)
    assert (table["low"] < table["index"]).all()
    assert table["first"].sum() == pytest.approx(1)


def test_equal_seeds_give_equal_tables():
    once, again = (quality_table(seed_paper(), "generation", seed=4, resamples=FEW) for _ in range(2))
    assert once.equals(again)


def test_names_of_instances_change_nothing():
    one = seed_paper()
    turned = np.random.default_rng(4).permutation(len(one.instances))
    moved = ("correct", "maintainability", "security", "tokens_per_second", "runtime", "lines")
    other = replace(one, **{name: getattr(one, name)[turned] for name in moved})
    first, second = (quality_table(ratings, "generation", seed=1, resamples=FEW) for ratings in (one, other))
    assert first.equals(second)


def test_runtime_and_both_are_ways_to_score_efficiency():
    ratings = seed_paper()
    ratings = replace(ratings, runtime=np.ones_like(ratings.correct) * [1.0, 2.0, 0.5, 4.0])
    runtime = dimension_scores(ratings, "runtime")[0, :, 3]
    assert runtime == pytest.approx([0.5, 0.25, 1.0, 0.125])
    generation = dimension_scores(ratings, "generation")[0, :, 3]
    assert dimension_scores(ratings, "both")[0, :, 3] == pytest.approx((runtime + generation) / 2)


def test_without_efficiency_three_dimensions_are_left():
    table = quality_table(seed_paper(), "none", seed=1, resamples=FEW)
    assert table["efficiency"].isna().all()
    assert set(table["normalisation"]) == {"ratio"}
    assert scheme(table, "equal")["weight_security"].tolist() == pytest.approx([1 / 3] * 4)


def test_a_source_without_a_speed_has_an_index_only_where_speed_has_no_weight():
    ratings = seed_paper()
    tokens = ratings.tokens_per_second.copy()
    tokens[:, 2] = np.nan
    table = quality_table(replace(ratings, tokens_per_second=tokens), "generation", 1, {"fix": {"correctness": 1}}, FEW)
    assert np.isnan(scheme(table, "equal").loc["7B", "index"])
    assert scheme(table, "fix").loc["7B", "index"] == pytest.approx(40 / 130)
    assert scheme(table, "equal")["rank"].isna().sum() == 1


def test_equal_indexes_share_a_rank():
    assert ranks(np.array([0.5, 0.7, 0.5, 0.1])).tolist() == [2, 1, 2, 4]


def test_weights_of_0_leave_a_dimension_out():
    scores = np.array([[0.5, np.nan]])
    assert index(scores, {"a": 1.0, "b": 0.0}, ("a", "b")).tolist() == [0.5]


def test_where_scores_lie_in_memory_changes_no_bit_of_the_index():
    """Matrix products add in an order that depends on alignment; tables have to come out byte for byte."""
    scores = np.random.default_rng(1).uniform(size=(7, 4))
    weights = schemes(DIMENSIONS)["other-priority"]
    places = []
    for offset in range(8):
        buffer = np.empty(28 + offset)
        moved = buffer[offset:].reshape(7, 4)
        moved[...] = scores
        places.append(index(moved, weights, DIMENSIONS).tobytes())
    assert set(places) == {index(np.asfortranarray(scores), weights, DIMENSIONS).tobytes()}
