import math

import numpy as np
import pandas as pd
import pingouin
import pytest
from scipy import stats

from patchperf.stats.blocks import block_tests, paired_tests

CASES = np.random.default_rng(4).normal(0, 0.01, (6, 4, 5)) + np.linspace(0, 0.02, 5)


def test_f_and_p_equal_pingouins_repeated_measures() -> None:
    ours = block_tests(CASES)
    for number, logs in enumerate(CASES):
        rows = pd.DataFrame(
            [(f"round {g}", f"s{i}", logs[i, g]) for i in range(4) for g in range(5)],
            columns=["round", "solution", "log"],
        )
        row = pingouin.rm_anova(rows, dv="log", within="solution", subject="round", correction=False).iloc[0]
        assert ours.f[number] == pytest.approx(row["F"], rel=1e-9)
        assert ours.p[number] == pytest.approx(row["p_unc"], rel=1e-9)
        assert (ours.df1, ours.df2) == (row["ddof1"], row["ddof2"])


def test_two_solutions_give_the_square_of_the_paired_t() -> None:
    pairs = CASES[:, :2]
    ours, paired = block_tests(pairs), paired_tests(pairs[:, 0] - pairs[:, 1])
    expected = stats.ttest_rel(pairs[:, 0], pairs[:, 1], axis=1)
    assert ours.f == pytest.approx(expected.statistic**2, rel=1e-9)
    assert ours.p == pytest.approx(expected.pvalue, rel=1e-9)
    assert paired.t == pytest.approx(expected.statistic, rel=1e-9)
    assert paired.p == pytest.approx(expected.pvalue, rel=1e-9)


def test_two_rounds_of_two_solutions_worked_out_by_hand() -> None:
    """Logs (0, 2) and (1, 5): differences 1 and 3, mean 2, deviation √2; so t = 2, df = 1 and p = 1 - 2 atan(2)/π."""
    ours = block_tests(np.array([[[0.0, 2.0], [1.0, 5.0]]]))
    assert (ours.f[0], ours.df1, ours.df2) == (pytest.approx(4), 1, 1)
    assert ours.p[0] == pytest.approx(1 - 2 * math.atan(2) / math.pi)


def test_what_the_rounds_add_to_all_solutions_changes_nothing() -> None:
    rounds = np.random.default_rng(5).normal(0, 1, (6, 1, 5))
    assert block_tests(CASES + rounds).p == pytest.approx(block_tests(CASES).p, rel=1e-6)


def test_without_a_residual_p_is_zero_where_solutions_differ_and_one_where_not() -> None:
    rounds = np.array([0.1, 0.2, 0.4])
    apart = np.array([rounds, rounds + math.log(2), rounds])
    ours = block_tests(np.array([apart, [rounds] * 3, np.zeros((3, 3))]))
    assert ours.exact.tolist() == [True, True, True]
    assert ours.f.tolist() == [math.inf, 0, 0]
    assert ours.p.tolist() == [0, 1, 1]


def test_pairs_use_the_rounds_that_both_have() -> None:
    gap = np.nan
    rows = [[1.0, gap, 3.0], [gap, gap, 1.0], [gap, gap, gap], [0.5, 0.5, gap], [0.0, 0.0, 0.0]]
    ours = paired_tests(np.array(rows))
    assert ours.rounds.tolist() == [2, 1, 0, 2, 3]
    assert ours.t.tolist()[0] == pytest.approx(2)
    assert np.isnan(ours.p).tolist() == [False, True, True, False, False]
    assert ours.exact.tolist() == [False, False, False, True, True]
    assert (ours.t[3], ours.p[3], ours.t[4], ours.p[4]) == (math.inf, 0, 0, 1)
