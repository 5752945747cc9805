"""``patchperf recompute``: what it makes from the smallest records, and what it says of bad ones."""

from __future__ import annotations

import json
import re
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from synthetic_study import Wanted, write_records
from typer.testing import CliRunner, Result

from patchperf.analysis.records import FILES, SETTINGS_FILE, TABLES
from patchperf.cli.main import app
from patchperf.plots.figures import FIGURES, QUALITY_FIGURES
from patchperf.recompute import write_site, write_tables
from patchperf.tables import read_table


def recompute(raw: Path, out: Path) -> Result:
    return CliRunner().invoke(app, ["recompute", str(raw), "-o", str(out)])


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    return write_records(tmp_path / "raw", Wanted(cases=1))


def said(done: Result) -> str:
    assert done.exit_code == 1, done.output
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    return line.removeprefix("error: ")


def test_all_is_made_from_the_records_alone(raw: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    done = recompute(raw, out)
    assert (done.exit_code, done.stderr) == (0, "")
    assert {path.stem for path in (out / "figures").iterdir()} == {*FIGURES, *QUALITY_FIGURES}
    assert {path.suffix for path in (out / "figures").iterdir()} == {".pdf", ".svg"}
    assert set(json.loads((out / "findings.json").read_bytes())["findings"]) == {"2.1", "2.2", "2.3"}
    assert {path.name for path in out.iterdir()} == {
        "figures", "findings.json", "pages", "provenance.html", "provenance.json", "tables",
    }  # fmt: skip
    assert {path.name for path in out.parent.iterdir()} == {"out"}


SMALLEST = {
    "no case": Wanted(cases=0),
    "one case": Wanted(cases=1),
    "one source": Wanted(cases=2, sources=["model-a"]),
    "ground truth alone": Wanted(cases=2, sources=[]),
    "one metric": Wanted(cases=2, metrics=["wall_ns"]),
    "nothing measured": Wanted(cases=2, metrics=[]),
    "one replicate": Wanted(cases=2, replicates=1),
    "all indistinguishable": Wanted(cases=3, spread=0, noise=0.01),
    "no difference at all": Wanted(cases=2, spread=0, noise=0),
}


@pytest.mark.parametrize("wanted", SMALLEST.values(), ids=SMALLEST)
def test_tables_and_pages_come_out_of_any_records_and_say_what_there_is(wanted: Wanted, tmp_path: Path) -> None:
    raw = write_records(tmp_path / "raw", wanted)
    tables = write_tables(raw, tmp_path / "tables")
    write_site(raw, tables, tmp_path)
    index = (tmp_path / "pages" / "index.html").read_text("utf-8")
    assert len(list((tmp_path / "pages").glob("owner*.html"))) == wanted.cases
    assert ("There are no cases" in index) == (wanted.cases == 0)
    measured = wanted.metrics if wanted.cases else ()
    for metric, name in {"instructions": "Instructions", "wall_ns": "Wall clock"}.items():
        assert (f"{name}: not measured." in index) == (metric not in measured)
    cases = pd.read_csv(tables["cases"])
    for metric, name in {"instructions": "Instructions", "wall_ns": "Wall clock"}.items():
        of_metric = cases[cases.metric == metric]
        told = f"{name}: {of_metric.distinguishable.sum()} of {of_metric.p.notna().sum()} tested case"
        assert (told in index) == (metric in measured)
    page = tmp_path / "pages" / "owner0__project-0.html"
    if wanted.cases:
        assert ("not measured" in page.read_text("utf-8").lower()) == (len(wanted.metrics) < 2)


@pytest.mark.parametrize("wanted", SMALLEST.values(), ids=SMALLEST)
def test_figures_come_out_of_any_records(wanted: Wanted, tmp_path: Path) -> None:
    tables = write_tables(write_records(tmp_path / "raw", wanted), tmp_path / "tables")
    for plot in (FIGURES | QUALITY_FIGURES).values():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert plot.draw(read_table(tables[plot.table], plot.schema)).axes


def test_speeds_of_the_settings_stand_beside_the_sizes(raw: Path, tmp_path: Path) -> None:
    settings = json.loads((raw / SETTINGS_FILE).read_bytes())
    settings["quality"]["speeds"] = {"model-a": {"tokens_per_second": 40, "total_parameters": 8}, "model-b": 80}
    (raw / SETTINGS_FILE).write_text(json.dumps(settings), "utf-8")
    table = pd.read_csv(write_tables(raw, tmp_path / "tables")["generation_speed"]).set_index("source")
    assert table["relative_speed"].to_dict() == {"model-b": 1, "model-a": 0.5}
    assert table["total_parameters"].dropna().to_dict() == {"model-a": 8}


def test_an_empty_table_of_measurements_has_no_columns_and_is_read(tmp_path: Path) -> None:
    raw = write_records(tmp_path / "raw", Wanted(cases=0))
    pd.DataFrame().to_parquet(raw / "measurements.parquet")
    write_site(raw, write_tables(raw, tmp_path / "tables"), tmp_path)
    assert json.loads((tmp_path / "provenance.json").read_bytes())["measuring"]["rows"] == 0


def test_a_candidate_that_is_no_solution_is_no_gap(raw: Path, tmp_path: Path) -> None:
    path = raw / "outcomes.parquet"
    wrong = {"outcome": "No-Op", "f2p": "none", "f2p_passed": 0, "solution": None}
    table = pd.read_parquet(path)
    for column, value in wrong.items():
        table.loc[table.index[1], column] = value
    table.to_parquet(path)
    assert recompute(raw, tmp_path / "out").exit_code == 0


@pytest.mark.parametrize("name", [*(f"{table}.parquet" for table in TABLES), *FILES, SETTINGS_FILE, "instances"])
def test_what_is_missing_is_named(raw: Path, tmp_path: Path, name: str) -> None:
    path = raw / name
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert re.search(
        rf"raw: not there: {re.escape(name)}: give a finished study's results", said(recompute(raw, tmp_path / "out"))
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", [*(f"{table}.parquet" for table in TABLES), *FILES, SETTINGS_FILE])
def test_what_is_cut_short_is_named_and_nothing_is_left(raw: Path, tmp_path: Path, name: str) -> None:
    content = (raw / name).read_bytes()
    (raw / name).write_bytes(content[: len(content) // 2])
    assert name in said(recompute(raw, tmp_path / "out"))
    assert {path.name for path in tmp_path.iterdir()} == {"raw"}


def test_a_table_of_another_version_is_told_by_its_columns(raw: Path, tmp_path: Path) -> None:
    pd.read_parquet(raw / "ledger.parquet").drop(columns="detail").to_parquet(raw / "ledger.parquet")
    assert "ledger.parquet: no column detail: it is of another version" in said(recompute(raw, tmp_path / "out"))


def test_a_case_without_its_patches_is_named(raw: Path, tmp_path: Path) -> None:
    (raw / "instances" / "owner0__project-0.json").unlink()
    assert "instances/owner0__project-0.json is missing" in said(recompute(raw, tmp_path / "out"))
    assert not (tmp_path / "out").exists()


def test_settings_are_checked(raw: Path, tmp_path: Path) -> None:
    settings = json.loads((raw / SETTINGS_FILE).read_bytes())
    (raw / SETTINGS_FILE).write_text(json.dumps(settings | {"alpha": 5}), "utf-8")
    assert "settings/study.json: alpha: " in said(recompute(raw, tmp_path / "out"))


def changed(column: str, value: object) -> Callable[[pd.DataFrame], pd.DataFrame]:
    return lambda table: table.assign(**{column: [value, *table[column][1:]]})


def doubled(table: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([table, table[:1]], ignore_index=True)


STRANGE = {
    "an id that leaves the folder": ("cases", changed("instance_id", "../../../evil"), "'../../../evil' is no"),
    "an id of measurements": ("measurements", changed("instance_id", "/evil"), "'/evil' is no instance_id"),
    "an id of the ledger": ("ledger", changed("instance_id", ".."), "'..' is no instance_id"),
    "an id of an outcome": ("outcomes", changed("instance_id", "a/b"), "'a/b' is no instance_id"),
    "an id of a patch": ("patches", changed("instance_id", ""), "'' is no instance_id"),
    "an outcome": ("outcomes", changed("outcome", "Solved"), "outcome 'Solved' is none of Resolved, "),
    "an outcome elsewhere": ("outcomes", changed("other_outcome", "Solved"), "outcome 'Solved' is none of Resolved, "),
    "an outcome twice": ("outcomes", doubled, "two rows for ground_truth of owner0__project-0"),
    "a solution twice": ("cases", doubled, "two rows for 00ab34cd56 of owner0__project-0"),
    "a patch twice": ("patches", doubled, "two rows for ground_truth of owner0__project-0"),
    "a source twice": ("sources", doubled, "two rows for model-a"),
    "a case without a row in the ledger": ("ledger", lambda table: table[1:], "no row for owner0__project-0"),
    "no value": ("measurements", lambda table: table.assign(value=float("nan")), "is not void, but has no value"),
    "no repetitions": ("measurements", changed("repetitions", 0), "is not void, but has no repetitions"),
    "a word for void": ("measurements", lambda table: table.assign(void="false"), "void is not true or false"),
    "an unknown void": (
        "measurements",
        lambda table: table.assign(void=pd.array([None, *table["void"][1:]], dtype="boolean")),
        "void is not true or false",
    ),
    "no solution": ("measurements", changed("solution", None), "row 1: no solution"),
    "no metric": ("measurements", changed("metric", None), "row 1: no metric"),
    "no instance": ("measurements", changed("instance_id", None), "row 1: no instance_id"),
    "no list of sources": ("cases", changed("sources", None), "sources is no list everywhere"),
    "fewer than no findings": ("patches", changed("findings", -1), "findings of owner0__project-0 is no count"),
    "endless complexity": ("patches", changed("complexity", float("inf")), "complexity of owner0__project-0 is no"),
    "no number": ("sources", lambda table: table.assign(candidates="many"), "'many'"),
}


@pytest.mark.parametrize(("table", "change", "reason"), STRANGE.values(), ids=STRANGE)
def test_rows_that_no_study_writes_are_refused(
    raw: Path, tmp_path: Path, table: str, change: Callable[[pd.DataFrame], pd.DataFrame], reason: str
) -> None:
    path = raw / f"{table}.parquet"
    change(pd.read_parquet(path)).to_parquet(path)
    told = said(recompute(raw, tmp_path / "out"))
    assert f"{table}.parquet: " in told
    assert reason in told
    assert "copy it from the study" in told
    assert {path.name for path in tmp_path.iterdir()} == {"raw"}


@pytest.mark.parametrize("name", [*FILES, SETTINGS_FILE])
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "cut short, or no such record"),
        (b"{", "cut short, or no such record"),
        (b"[]", "no such record"),
        (b"{}", "Field required"),
    ],
)
def test_a_record_that_cannot_be_read_is_to_be_copied_again(
    raw: Path, tmp_path: Path, name: str, content: bytes, reason: str
) -> None:
    (raw / name).write_bytes(content)
    told = said(recompute(raw, tmp_path / "out"))
    assert f"{name}: " in told
    assert ": :" not in told
    assert reason in told
    assert told.endswith(": copy it from the study once more")


def test_nothing_is_overwritten(raw: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").touch()
    assert "out: not an empty folder" in said(recompute(raw, tmp_path / "out"))
    assert "raw: not an empty folder" in said(recompute(raw, raw))


def test_a_study_s_folder_in_place_of_its_results_is_recognised(tmp_path: Path) -> None:
    write_records(tmp_path / "study" / "results", Wanted(cases=0))
    assert said(recompute(tmp_path / "study", tmp_path / "out")).endswith(
        f"did you mean {tmp_path / 'study' / 'results'}?"
    )
    assert "nowhere: no such folder" in said(recompute(tmp_path / "nowhere", tmp_path / "out"))


def test_a_place_that_cannot_be_made_is_named(raw: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "name a folder that can be made" in said(recompute(raw, tmp_path / "file" / "out"))
