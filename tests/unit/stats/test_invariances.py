"""What must never change a result: order of rows, names, unit; and what must turn it: swapping two sources."""

from typing import Any

import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from patchperf.stats.cases import case_statistics
from patchperf.stats.champions import champion_votes
from patchperf.stats.contrasts import contrasts
from patchperf.stats.samples import members_of, solution_statistics
from patchperf.stats.speedup import pair_ratios, speedups

SOURCES = ("alpha", "beta", "gamma", "ground_truth")
MADE_OF = {"alpha": "zeta", "beta": "alpha", "gamma": "beta", "ground_truth": "ground_truth"}


@st.composite
def studies(draw: st.DrawFn) -> tuple[pd.DataFrame, pd.DataFrame]:
    cases, measurements = [], []
    for number in range(draw(st.integers(1, 3))):
        present = [source for source in SOURCES if source == "ground_truth" or draw(st.booleans())]
        solution_of = {source: draw(st.integers(0, 2)) for source in present}
        for solution in sorted(set(solution_of.values())):
            name = {"instance_id": f"case-{number}", "solution": f"s{solution}"}
            cases.append({**name, "sources": [source for source in present if solution_of[source] == solution]})
            values = draw(st.lists(st.integers(1000, 1100), min_size=3, max_size=3))
            measurements += [
                {**name, "replicate": r, "repetitions": 10, "metric": "wall_ns", "value": v, "backend": "clock"}
                for r, v in enumerate(values)
            ]
    return pd.DataFrame(cases), pd.DataFrame(measurements).assign(void=False, not_covered="")


def analyse(cases: pd.DataFrame, measurements: pd.DataFrame) -> dict[str, pd.DataFrame]:
    members = members_of(cases)
    solutions = solution_statistics(measurements, members)
    statistics = case_statistics(measurements, members, 0.05)
    pairs = pair_ratios(members, solutions, statistics)
    return {
        "cases": statistics,
        "contrasts": contrasts(measurements, members, 0.05),
        "pairs": pairs,
        "speedups": speedups(pairs, seed=1, resamples=99),
        "champions": champion_votes(members, solutions, statistics),
    }


def assert_same(first: dict[str, pd.DataFrame], second: dict[str, pd.DataFrame], **tolerance: Any) -> None:
    for name, table in first.items():
        assert_frame_equal(table, second[name], obj=name, **tolerance)


few = settings(max_examples=5, deadline=None)


@few
@given(studies(), st.integers(0, 1000))
def test_the_order_of_rows_changes_nothing_not_even_the_last_bit(study, seed: int) -> None:
    cases, measurements = study
    shuffled = cases.sample(frac=1, random_state=seed), measurements.sample(frac=1, random_state=seed)
    assert_same(analyse(cases, measurements), analyse(*shuffled), check_exact=True)


@few
@given(studies(), st.sampled_from([2.0**-30, 2.0**20]))
def test_the_unit_changes_no_statistic(study, unit: float) -> None:
    cases, measurements = study
    scaled = analyse(cases, measurements.assign(value=measurements["value"] * unit))
    for table in scaled.values():
        for column in ("mean_i", "mean_j"):
            if column in table:
                table[column] /= unit
    assert_same(analyse(cases, measurements), scaled, rtol=1e-6, atol=1e-12)


@few
@given(studies())
def test_renaming_the_sources_renames_the_results_and_turns_pairs_that_change_their_order(study) -> None:
    cases, measurements = study
    renamed = cases.assign(sources=[[MADE_OF[source] for source in sources] for sources in cases["sources"]])
    before, after = analyse(cases, measurements), analyse(renamed, measurements)
    key = ["setting", "source_i", "source_j"]
    expected = before["speedups"].replace({"source_i": MADE_OF, "source_j": MADE_OF}).sort_values(key)
    assert_frame_equal(expected.reset_index(drop=True), after["speedups"].sort_values(key).reset_index(drop=True))
    votes = before["champions"].replace({"source": MADE_OF}).sort_values(["setting", "source"], ignore_index=True)
    assert_frame_equal(votes, after["champions"].sort_values(["setting", "source"], ignore_index=True))
    assert_frame_equal(before["cases"], after["cases"])


@few
@given(studies())
def test_swapping_the_sources_of_a_pair_inverts_its_geometric_mean(study) -> None:
    table = analyse(*study)["speedups"]
    turned = table.rename(columns={"source_i": "source_j", "source_j": "source_i"})
    both = table.merge(turned, on=["metric", "setting", "source_i", "source_j"], suffixes=("", "_turned"))
    both = both[both["n"] > 0]
    assert (abs(both["geometric_mean"] * both["geometric_mean_turned"] - 1) < 1e-12).all()
    assert (both["n"] == both["n_turned"]).all()


@few
@given(studies())
def test_the_names_of_solutions_change_no_case_and_turn_the_contrasts_that_change_their_order(study) -> None:
    cases, measurements = study
    other = {"s0": "z", "s1": "y", "s2": "x"}
    before, after = analyse(cases, measurements), analyse(cases.replace(other), measurements.replace(other))
    for table in ("cases", "speedups", "champions"):
        assert_frame_equal(before[table], after[table], check_exact=True, obj=table)
    turned = after["contrasts"].rename(columns={"solution_i": "solution_j", "solution_j": "solution_i"})
    back = {new: old for old, new in other.items()}
    turned = turned.replace({"solution_i": back, "solution_j": back})
    both = before["contrasts"].merge(turned, on=["instance_id", "solution_i", "solution_j"], suffixes=("", "_turned"))
    assert len(both) == len(before["contrasts"]) == len(turned)
    for column in ("p", "p_blocks", "df", "rounds", "note"):
        assert (both[column] == both[f"{column}_turned"]).all(), column
    assert (abs(both["ratio"] * both["ratio_turned"] - 1) < 1e-12).all()
    assert (abs(both["low"] * both["high_turned"] - 1) < 1e-9).all()
    assert (both["t"] == -both["t_turned"]).all()


@few
@given(studies(), st.sampled_from([0.001, 7.0, 1e6]))
def test_scaling_one_case_leaves_its_statistics_and_those_of_the_others(study, factor: float) -> None:
    cases, measurements = study
    one = measurements["instance_id"] == "case-0"
    scaled = measurements.assign(value=measurements["value"].astype(float).where(~one, measurements["value"] * factor))
    before, after = analyse(cases, measurements), analyse(cases, scaled)
    for table in ("cases", "contrasts", "speedups", "champions"):
        assert_frame_equal(before[table], after[table], rtol=1e-6, atol=1e-12, obj=table)


@few
@given(studies())
def test_equal_code_split_in_two_solutions_changes_no_vote_and_no_ratio_of_sources(study) -> None:
    """Every source has a solution of its own, with the very values of the solution it shared."""
    cases, measurements = study
    split = [
        {
            "instance_id": row.instance_id,
            "solution": f"{row.solution} of {source}",
            "sources": [source],
            "of": row.solution,
        }
        for row in cases.itertuples()
        for source in row.sources
    ]
    apart = pd.DataFrame(split)
    copied = measurements.merge(
        apart[["instance_id", "solution", "of"]].rename(columns={"solution": "copy", "of": "solution"}),
        on=["instance_id", "solution"],
    )
    copied = copied.assign(solution=copied["copy"]).drop(columns="copy")
    before, after = analyse(cases, measurements), analyse(apart.drop(columns="of"), copied)
    key = ["setting", "source"]
    votes, same = (one["champions"].query("setting == 'full'")[[*key, "votes"]] for one in (before, after))
    assert_frame_equal(votes, same, rtol=1e-12)
    ratios = ["instance_id", "source_i", "source_j", "ratio"]
    assert_frame_equal(before["pairs"][ratios], after["pairs"][ratios], rtol=1e-12)
