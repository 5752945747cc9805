"""Whole tables against R: what reference/statistics.R made of the same numbers, stored in reference/by_r."""

import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from debian_packages import need
from pandas.testing import assert_frame_equal

from patchperf.stats.cases import case_statistics
from patchperf.stats.contrasts import contrasts
from patchperf.stats.multiplicity import holm
from patchperf.stats.samples import members_of
from patchperf.stats.signed_rank import signed_rank
from patchperf.stats.speedup import geometric_mean

REFERENCE = Path(__file__).parent / "reference"
TABLES = ("cases", "contrasts", "speedups")


def by_r(name: str, folder: Path = REFERENCE / "by_r") -> pd.DataFrame:
    return pd.read_csv(folder / f"{name}.csv")


@pytest.fixture(scope="module")
def measured() -> tuple[pd.DataFrame, pd.DataFrame]:
    rows = pd.read_csv(REFERENCE / "measurements.csv").rename(columns={"case": "instance_id", "round": "replicate"})
    rows = rows.assign(repetitions=10, metric="instructions", backend="cirron", void=False, not_covered="")
    cases = rows[["instance_id", "solution"]].drop_duplicates()
    return rows, members_of(cases.assign(sources=[[f"by-{solution}"] for solution in cases["solution"]]))


def test_cases_are_as_in_r(measured) -> None:
    expected = by_r("cases").sort_values("case", ignore_index=True)
    ours = case_statistics(*measured, alpha=0.05)
    assert ours["instance_id"].tolist() == expected["case"].tolist()
    for column in ("rsd", "f", "df1", "df2", "p", "q", "rounds", "p_blocks", "slowest_fastest"):
        assert ours[column].to_numpy() == pytest.approx(expected[column].to_numpy(), rel=1e-7), column
    enumerated = expected["p_permutation"].notna()
    assert enumerated.sum() == 5
    for column in ("p_permutation", "p_friedman"):
        assert ours.loc[enumerated, column].tolist() == pytest.approx(expected.loc[enumerated, column].tolist()), column


def test_the_interval_of_a_case_is_that_of_its_widest_pair_in_r(measured) -> None:
    pairs = by_r("contrasts")
    turned = pairs.assign(ratio=1 / pairs["ratio"], low=1 / pairs["high"], high=1 / pairs["low"])
    both = pd.concat([pairs, turned], ignore_index=True)
    expected = both.loc[both.groupby("case")["ratio"].idxmax()].sort_values("case")
    ours = case_statistics(*measured, alpha=0.05)
    assert ours["low"].tolist() == pytest.approx(expected["low"].tolist(), rel=1e-8)
    assert ours["high"].tolist() == pytest.approx(expected["high"].tolist(), rel=1e-8)


def test_contrasts_are_as_in_r(measured) -> None:
    expected = by_r("contrasts").sort_values(["case", "solution_i", "solution_j"], ignore_index=True)
    ours = contrasts(*measured, alpha=0.05).rename(columns={"instance_id": "case"})
    assert_frame_equal(ours[["case", "solution_i", "solution_j"]], expected[["case", "solution_i", "solution_j"]])
    for column in ("ratio", "low", "high", "t", "df", "p_blocks"):
        assert ours[column].to_numpy() == pytest.approx(expected[column].to_numpy(), rel=1e-7), column
    assert ours["p"].to_numpy() == pytest.approx(expected["p"].to_numpy(), rel=1e-6, abs=1e-9)


def test_geometric_means_and_signed_ranks_are_as_in_r() -> None:
    ratios = pd.read_csv(REFERENCE / "ratios.csv").groupby("case")["ratio"]
    expected = by_r("speedups").set_index("case")
    p = ratios.agg(lambda values: signed_rank(np.log(values)))
    assert ratios.agg(geometric_mean).to_dict() == pytest.approx(expected["geometric_mean"].to_dict(), rel=1e-12)
    assert p.to_dict() == pytest.approx(expected["p"].to_dict(), rel=1e-9)
    assert holm(p.to_numpy()).tolist() == pytest.approx(expected.loc[p.index, "p_holm"].tolist(), rel=1e-9)


def test_r_still_says_what_is_stored(tmp_path: Path) -> None:
    need({"Rscript": "r-base-core"})
    subprocess.run(["Rscript", REFERENCE / "statistics.R", REFERENCE, tmp_path], check=True, timeout=300)
    for name in TABLES:
        assert_frame_equal(by_r(name, tmp_path), by_r(name), rtol=1e-9, atol=1e-13)
