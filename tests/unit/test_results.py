from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from synthetic_study import Wanted, write_records

from patchperf.errors import InputError
from patchperf.quality.schema import TABLES
from patchperf.recompute import write_site, write_tables
from patchperf.results import FOLDER_VARIABLE, Results
from patchperf.stats.schema import CASES, typed


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = write_records(tmp_path_factory.mktemp("study") / "results", Wanted(cases=3))
    write_site(folder, write_tables(folder, folder / "tables"), folder)
    return Results(folder)


def test_a_study_is_found_from_its_folder_and_from_inside_its_results(
    results: Results, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    for folder in (results.folder.parent, results.folder, results.folder / "pages"):
        monkeypatch.chdir(folder)
        assert Results.here().folder.resolve() == results.folder.resolve()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(FOLDER_VARIABLE, str(results.folder))
    assert Results.here() == results


def test_where_there_is_no_study_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    with pytest.raises(InputError, match=rf"no results of a study: set {FOLDER_VARIABLE} to"):
        Results.here()


def test_tables_have_their_types_and_unknown_ones_are_told(results: Results) -> None:
    assert results.table("cases").dtypes["distinguishable"] == CASES["distinguishable"]
    with pytest.raises(InputError, match=r"nothing\.csv: no such table: there are agreement, cases, "):
        results.table("nothing")


def test_the_quality_index_is_among_the_tables_and_figures(results: Results) -> None:
    assert {name: results.table(name).dtypes.to_dict() for name in TABLES} == {
        name: typed([], columns).dtypes.to_dict() for name, columns in TABLES.items()
    }
    assert "<svg" in results.figure("quality_weights")._repr_svg_()
    with pytest.raises(InputError, match=r"^nothing: no such figure: there are champions, .*, quality_weights, "):
        results.figure("nothing")


def test_cases_come_by_how_far_their_solutions_lie_apart(results: Results) -> None:
    cases = pd.read_csv(results.folder / "tables" / "cases.csv")
    largest = cases.groupby("instance_id")["rsd"].max().sort_values(ascending=False)
    assert results.cases == largest.index.tolist()


def test_replicates_are_the_raw_ones_of_the_case_in_their_order(results: Results) -> None:
    found = results.replicates("owner1__project-1")
    assert len(found) == 2 * 3 * 5
    assert found[found.metric == "wall_ns"].order.tolist() == list(range(15))
    assert set(found.label) == {"ground_truth (00ab34c)", "model-a (01ab34c)", "model-b (02ab34c)"}
    assert results.replicates("no-such-case").empty


def test_drawings_are_the_same_bytes_every_time(results: Results) -> None:
    first, second = (results.figure("noise")._repr_svg_() for _ in range(2))
    assert first == second
    assert first.lstrip().startswith("<?xml")
    assert "<svg" in results.draw_replicates("owner1__project-1")._repr_svg_()
    assert "<svg" in results.draw_replicates("no-such-case")._repr_svg_()
