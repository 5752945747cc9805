"""``patchperf outcomes``: reports and tables in, tables and figures out."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from patchperf.cli.main import app


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["outcomes", *map(str, arguments)])


def said(done: Result) -> str:
    assert done.exit_code == 1, done.output
    (line,) = done.stderr.splitlines()
    return line.removeprefix("error: ")


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    """A harness's folder of one model with a resolved instance and a Regression."""
    folder = tmp_path / "logs" / "run_evaluation" / "run" / "model-a"
    for number, (passed, resolved) in enumerate(((1, True), (0, False)), 1):
        name = f"own__proj-{number}"
        lists = {"success": ["t"] * passed, "failure": ["t"] * (1 - passed)}
        report = {"patch_exists": True, "resolved": resolved}
        report["tests_status"] = {"FAIL_TO_PASS": lists, "PASS_TO_PASS": lists}  # type: ignore[assignment]
        (folder / name).mkdir(parents=True)
        (folder / name / "report.json").write_text(json.dumps({name: report}), "utf-8")
    return folder


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Another run of the same model, as a table with the least that there has to be."""
    path = tmp_path / "second.csv"
    path.write_text(
        "instance_id,source,outcome\nown__proj-1,model-b,Resolved\nown__proj-2,model-b,No-Op\n", encoding="utf-8"
    )
    return path


def test_tables_and_figures_are_made_of_reports_and_tables(reports: Path, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run(reports, table, "-o", out, "--previous", "model-b=model-a")
    assert done.exit_code == 0, done.output
    tables = ("agreement", "outcome_changes", "outcome_flows", "outcome_rates", "outcomes")
    figures = ("outcome_flows", "outcome_rates", "outcome_repositories", "outcomes")
    wanted = {f"{name}.{kind}" for name in tables for kind in ("csv", "tex")}
    wanted |= {f"figure_{name}.{kind}" for name in figures for kind in ("pdf", "svg")}
    assert {file.name for file in out.iterdir()} == wanted
    outcomes = pd.read_csv(out / "outcomes.csv").set_index(["source", "instance_id"])
    assert outcomes["outcome"].to_dict() == {
        ("model-a", "own__proj-1"): "Resolved",
        ("model-a", "own__proj-2"): "Regression",
        ("model-b", "own__proj-1"): "Resolved",
        ("model-b", "own__proj-2"): "No-Op",
    }
    assert set(outcomes["repo"]) == {"own/proj"}
    flows = pd.read_csv(out / "outcome_flows.csv")
    assert flows[["before", "after", "count", "instances"]].to_numpy().tolist() == [
        ["Resolved", "Resolved", 1, "own__proj-1"],
        ["Regression", "No-Op", 1, "own__proj-2"],
    ]


def test_a_table_that_was_written_is_read_again_the_same(reports: Path, tmp_path: Path) -> None:
    assert run(reports, "-o", tmp_path / "first").exit_code == 0
    assert run(tmp_path / "first" / "outcomes.csv", "-o", tmp_path / "second").exit_code == 0
    first, second = ((tmp_path / name / "outcomes.csv").read_bytes() for name in ("first", "second"))
    assert first == second


def test_counts_of_tests_make_the_outcome_of_a_table(tmp_path: Path) -> None:
    given = tmp_path / "counts.csv"
    given.write_text(
        "instance_id,source,f2p_passed,f2p_total,p2p_passed,p2p_total\n"
        "a,m,1,1,2,2\nb,m,1,2,2,2\nc,m,0,1,2,2\nd,m,0,1,0,2\ne,m,1,1,0,0\n",
        encoding="utf-8",
    )
    assert run(given, "-o", tmp_path / "out").exit_code == 0
    table = pd.read_csv(tmp_path / "out" / "outcomes.csv")
    assert table["outcome"].tolist() == ["Resolved", "Partially Resolved", "No-Op", "Regression", "Resolved"]
    assert table["f2p"].tolist() == ["all", "partial", "none", "none", "all"]
    assert table["p2p"].tolist() == ["all", "all", "all", "none", "all"]


HEAD = "instance_id,source,outcome,f2p_passed,f2p_total,p2p_passed,p2p_total\n"
BAD = {
    "no outcome": ("instance_id,source\na,m\n", "neither a column outcome nor the columns f2p_passed"),
    "a misspelt column": ("instance_id,source,outcome,ropo\na,m,No-Op,x/y\n", "unknown column ropo; there are "),
    "passed without failing": (f"{HEAD}a,m,not applied,5,3,,\n", "line 2: 5 of 3 F2P tests passed"),
    "no source": ("instance_id,outcome\na,Resolved\n", "no column source"),
    "another word": ("instance_id,source,outcome\na,m,fixed\n", "line 2: outcome 'fixed' is none of Resolved"),
    "against its counts": (f"{HEAD}a,m,Resolved,0,1,1,1\n", "line 2: outcome Resolved, but its counts"),
    "more passed than there are": (f"{HEAD}a,m,,2,1,1,1\n", "line 2: no outcome for 2 of 1 F2P"),
    "no number": (f"{HEAD}a,m,,x,1,1,1\n", "line 2: f2p_passed = x is no number of tests"),
    "nothing in a row": (f"{HEAD}a,m,Resolved,,,,\nb,m,,,,,\n", "line 3: neither an outcome nor all four counts"),
    "not a number": (f"{HEAD}a,m,,nan,1,1,1\n", "line 2: f2p_passed = nan is no number of tests"),
    "more than there can be": (f"{HEAD}a,m,,1,1,1,1e30\n", "line 2: p2p_total = 1e30 is no number of tests"),
    "a field too many": ("instance_id,source,outcome\na,m,No-Op,1\n", "line 2: 4 fields, 3 columns"),
    "after a blank line": ("instance_id,source,outcome\n\na,m,fixed\n", "line 3: outcome 'fixed'"),
    "no id": ("instance_id,source,outcome\n../a,m,No-Op\n", "line 2: '../a' is no instance id"),
    "a source of blanks": ("instance_id,source,outcome\na, m,No-Op\n", "line 2: source ' m': a name has no blanks"),
    "no row": ("instance_id,source,outcome\n", "no outcome in it"),
    "two repositories": (
        "instance_id,source,outcome,repo\na,m,No-Op,x/y\na,n,No-Op,x/z\n", "two repositories for a: x/z is one of them"
    ),
    "repository all": ("instance_id,source,outcome,repo\na,m,No-Op,all\n", "all is no name for a repository"),
    "twice": ("instance_id,source,outcome\na,m,No-Op\na,m,No-Op\n", "two outcomes of m for a"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "words"), BAD.values(), ids=BAD.keys())
def test_a_bad_table_is_refused_in_one_line(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(text, "utf-8")
    assert words in said(run(tmp_path / "t.csv", "-o", tmp_path / "out"))


def test_a_column_of_lists_that_is_not_known_is_named(tmp_path: Path) -> None:
    rows = {"instance_id": ["a"], "source": ["m"], "outcome": ["No-Op"], "tests": [["t1", "t2"]]}
    pd.DataFrame(rows).to_parquet(tmp_path / "t.parquet")
    assert "unknown column tests; there are " in said(run(tmp_path / "t.parquet", "-o", tmp_path / "out"))


def test_a_table_that_is_read_is_not_overwritten(table: Path, tmp_path: Path) -> None:
    file = table.rename(tmp_path / "outcomes.csv")
    before = file.read_bytes()
    assert "outcomes.csv: would be overwritten by the table of that name" in said(run(file, "-o", tmp_path))
    assert file.read_bytes() == before


def test_a_name_given_with_a_path_is_one_that_can_be_printed(table: Path, tmp_path: Path) -> None:
    assert "a name has no blanks around it" in said(run(f"x\ny={table}", "-o", tmp_path / "out"))


def test_suffixes_may_be_capitals(table: Path, tmp_path: Path) -> None:
    done = run(table.rename(tmp_path / "T.CSV"), "-o", tmp_path / "out")
    assert done.exit_code == 0, done.output


def test_two_runs_of_one_name_need_names(reports: Path, tmp_path: Path) -> None:
    assert "give each a name of its own" in said(run(reports, reports, "-o", tmp_path / "out"))
    assert run(reports, f"again={reports}", "-o", tmp_path / "out").exit_code == 0


def test_an_earlier_run_that_is_not_there_is_refused(reports: Path, tmp_path: Path) -> None:
    assert "two of model-a" in said(run(reports, "-o", tmp_path / "out", "--previous", "model-a=model-z"))


@pytest.mark.parametrize("pairs", [["model-b=model-a", "model-a=model-b"], ["model-b=model-a", "model-b=model-a"]])
def test_runs_are_in_one_order(pairs: list[str], reports: Path, table: Path, tmp_path: Path) -> None:
    options = [word for pair in pairs for word in ("--previous", pair)]
    assert "has an earlier run already" in said(run(reports, table, "-o", tmp_path / "out", *options))


def test_a_repository_is_that_of_the_instance_for_every_source(tmp_path: Path) -> None:
    given = tmp_path / "t.csv"
    given.write_text("instance_id,source,outcome,repo\no__r-1,m,No-Op,x/y\no__r-1,n,Resolved,\n", "utf-8")
    assert run(given, "-o", tmp_path / "out").exit_code == 0
    rates = pd.read_csv(tmp_path / "out" / "outcome_rates.csv")
    assert sorted(set(rates["repo"])) == ["all", "x/y"]


def test_a_path_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert said(run(f"m={tmp_path}/none", "-o", tmp_path / "out")).endswith("none: no such file or folder")
