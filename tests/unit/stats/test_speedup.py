import math
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from patchperf.stats.cases import case_statistics
from patchperf.stats.samples import members_of, solution_statistics
from patchperf.stats.schema import PAIRS, SPEEDUPS
from patchperf.stats.speedup import (
    geometric_mean,
    geometric_mean_interval,
    geometric_mean_intervals,
    pair_ratios,
    speedups,
)

TWO_CASES = {
    "apart": {"s": ("m1", [10, 10, 10]), "t": ("m2 m3", [20, 20, 20]), "u": ("ground_truth", [40, 40, 40])},
    "alike": {"s": ("m1 m2", [29, 31, 30]), "u": ("ground_truth", [31, 29, 30])},
}


def ratios(tables: tuple[pd.DataFrame, pd.DataFrame]) -> pd.DataFrame:
    cases, measurements = tables
    members = members_of(cases)
    solutions = solution_statistics(measurements, members)
    return pair_ratios(members, solutions, case_statistics(measurements, members, 0.05))


def ratio_of(pairs: pd.DataFrame) -> dict[tuple[str, str, str], float]:
    return {(row.instance_id, row.source_i, row.source_j): row.ratio for row in pairs.itertuples()}


def test_twice_as_fast_and_twice_as_slow_make_one_where_the_arithmetic_mean_favours_each_in_turn() -> None:
    x, y = [1 / 2, 2], [2, 1 / 2]
    assert geometric_mean(x) == geometric_mean(y) == 1
    assert np.mean(x) == np.mean(y) == 1.25


def test_the_geometric_mean_is_the_nth_root_of_the_product() -> None:
    assert geometric_mean([2, 4, 27]) == pytest.approx((2 * 4 * 27) ** (1 / 3), rel=1e-12)
    assert math.isnan(geometric_mean([]))


def test_a_ratio_is_the_first_mean_over_the_second_and_one_for_a_shared_solution(tables) -> None:
    pairs = ratios(tables(TWO_CASES))
    assert ratio_of(pairs) == {
        ("apart", "m1", "m2"): 0.5,
        ("apart", "m1", "m3"): 0.5,
        ("apart", "m2", "m3"): 1,
        ("apart", "m1", "ground_truth"): 0.25,
        ("apart", "m2", "ground_truth"): 0.5,
        ("apart", "m3", "ground_truth"): 0.5,
        ("alike", "m1", "m2"): 1,
        ("alike", "m1", "ground_truth"): 1,
        ("alike", "m2", "ground_truth"): 1,
    }
    same = pairs[pairs["same_solution"]]
    assert set(zip(same["instance_id"], same["source_i"], same["source_j"], strict=True)) == {
        ("apart", "m2", "m3"),
        ("alike", "m1", "m2"),
    }


def test_sources_of_one_unmeasured_solution_have_ratio_one_and_unmeasured_others_none(tables) -> None:
    pairs = ratios(
        tables(
            {
                "single": {"s": ("m1 ground_truth", [None])},
                "half": {"s": ("m1", [None]), "t": ("m2 ground_truth", [5, 6])},
                "whole": {"s": ("m1", [5, 6])},
            }
        )
    )
    assert ratio_of(pairs) == {("single", "m1", "ground_truth"): 1, ("half", "m2", "ground_truth"): 1}


def test_speedups_pool_the_cases_that_both_cover_in_both_settings(tables) -> None:
    table = speedups(ratios(tables(TWO_CASES)), seed=1)
    rows = table.set_index(["setting", "source_i", "source_j"])
    assert rows.loc[("full", "m1", "ground_truth"), ["n", "geometric_mean"]].tolist() == [2, pytest.approx(0.5)]
    assert rows.loc[("distinguishable", "m1", "ground_truth"), ["n", "geometric_mean"]].tolist() == [1, 0.25]
    assert rows.loc[("full", "m3", "ground_truth"), ["n", "geometric_mean"]].tolist() == [1, 0.5]
    assert set(table["backend"]) == {"cirron"}
    assert len(table) == 2 * 4 * 3


def test_the_turned_pair_is_the_inverse_with_its_interval(tables) -> None:
    rows = speedups(ratios(tables(TWO_CASES)), seed=1).set_index(["setting", "source_i", "source_j"])
    straight, turned = rows.loc[("full", "m2", "ground_truth")], rows.loc[("full", "ground_truth", "m2")]
    assert turned["geometric_mean"] == 1 / straight["geometric_mean"]
    assert (turned["low"], turned["high"]) == (1 / straight["high"], 1 / straight["low"])


def test_a_pair_without_a_distinguishable_case_has_n_zero(tables) -> None:
    table = speedups(ratios(tables({"alike": TWO_CASES["alike"]})), seed=1)
    rows = table[table["setting"] == "distinguishable"]
    assert rows["n"].tolist() == [0] * 6
    assert set(rows["backend"]) == {"cirron"}
    assert rows[["geometric_mean", "low", "high", "p", "p_holm"]].isna().all(axis=None)


def test_backends_that_differ_between_cases_are_all_named(tables) -> None:
    one, other = tables({"one": TWO_CASES["apart"]}), tables({"two": TWO_CASES["apart"]}, backend="qemu")
    both = tuple(pd.concat(pair) for pair in zip(one, other, strict=True))
    assert set(speedups(ratios(both), seed=1)["backend"]) == {"cirron+qemu"}


@pytest.mark.parametrize("logs", [(0.3, -0.1, 0.05, 0.4, 0.0), (0.02, 0.01, -0.5, 0.0)])
def test_the_interval_is_that_of_all_possible_resamples(logs: tuple[float, ...]) -> None:
    means = [np.mean(sample) for sample in product(logs, repeat=len(logs))]
    low, high = geometric_mean_interval(np.exp(logs), seed=3)
    step = 0.012
    assert np.quantile(means, 0.025 - step / 2) - 1e-12 <= math.log(low) <= np.quantile(means, 0.025 + step / 2) + 1e-12
    assert (
        np.quantile(means, 0.975 - step / 2) - 1e-12 <= math.log(high) <= np.quantile(means, 0.975 + step / 2) + 1e-12
    )


def test_the_interval_depends_on_seed_and_values_not_on_order_or_orientation() -> None:
    values = np.exp(np.random.default_rng(5).normal(0.01, 0.1, 40))
    low, high = geometric_mean_interval(values, seed=3)
    assert geometric_mean_interval(values[::-1], seed=3) == (low, high)
    assert geometric_mean_interval(1 / values, seed=3) == (pytest.approx(1 / high), pytest.approx(1 / low))
    assert geometric_mean_interval(values, seed=4) != (low, high)


def test_one_ratio_has_no_interval_and_equal_ratios_a_point() -> None:
    assert all(map(math.isnan, geometric_mean_interval([1.5], seed=1)))
    assert geometric_mean_interval([1, 1, 1], seed=1) == (1, 1)


def test_the_signed_rank_test_is_on_the_ratios_and_the_same_in_both_orientations(tables) -> None:
    """Of six cases m1 is faster in five, by 1 to 5 %, and equal in one: ranks 2 to 6 on one side, p = 2/2^5."""
    study = {
        f"case {number}": {"s": ("m1", [1000, 1000]), "t": ("m2 m3", [1000 + 10 * number] * 2)}
        for number in range(1, 6)
    } | {"equal": {"s": ("m1 m2 m3", [7, 8])}}
    table = speedups(ratios(tables(study)), seed=1)
    rows = table.set_index(["setting", "source_i", "source_j"])
    for pair in (("m1", "m2"), ("m2", "m1"), ("m1", "m3"), ("m3", "m1")):
        assert rows.loc[("full", *pair), "p"] == pytest.approx(2 / 2**5)
        assert rows.loc[("full", *pair), "p_holm"] == pytest.approx(3 * 2 / 2**5)
    assert rows.loc[("full", "m2", "m3"), ["p", "p_holm"]].tolist() == [1, 1]


def test_holm_is_over_the_pairs_that_have_a_case(tables) -> None:
    study = {f"case {n}": {"s": ("m1", [100 + n] * 3), "t": ("m2", [120 + n * n] * 3)} for n in range(5)}
    study["other"] = {"s": ("m3", [10, 10, 10]), "t": ("m4", [11, 11, 11])}
    rows = speedups(ratios(tables(study)), seed=1).set_index(["setting", "source_i", "source_j"])
    assert rows.loc[("full", "m1", "m3"), ["p", "p_holm"]].isna().all()
    assert rows.loc[("full", "m1", "m2"), "p"] == pytest.approx(2 / 2**5)
    assert rows.loc[("full", "m1", "m2"), "p_holm"] == pytest.approx(2 * 2 / 2**5)
    assert rows.loc[("full", "m3", "m4"), ["p", "p_holm"]].tolist() == [1, 1]


def test_samples_of_one_size_share_their_draws_and_keep_their_own_intervals() -> None:
    rng = np.random.default_rng(9)
    samples = [np.exp(rng.normal(0.01, 0.1, size)) for size in (30, 12, 30, 0, 1, 30)] + [np.full(12, 1.5)]
    together = geometric_mean_intervals(samples, seed=3, resamples=499)
    for sample, found in zip(samples, together, strict=True):
        assert found == pytest.approx(geometric_mean_interval(sample, seed=3, resamples=499), rel=1e-12, nan_ok=True)


def test_the_interval_is_scipys_of_the_same_draws() -> None:
    logs = np.sort(-np.abs(np.random.default_rng(9).normal(0.01, 0.1, 30)))
    found = geometric_mean_interval(np.exp(logs), seed=3, resamples=999)
    rng = np.random.default_rng(3)
    theirs = stats.bootstrap((logs,), np.mean, n_resamples=999, method="percentile", rng=rng).confidence_interval
    assert found == pytest.approx((math.exp(theirs.low), math.exp(theirs.high)), rel=1e-12)


def test_no_cases_give_headers_only() -> None:
    pairs = ratios((pd.DataFrame(), pd.DataFrame()))
    assert (len(pairs), list(pairs.columns)) == (0, list(PAIRS))
    table = speedups(pairs, seed=1)
    assert (len(table), list(table.columns)) == (0, list(SPEEDUPS))
