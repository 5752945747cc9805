"""The project's notebooks and how notebooks are run; about ten seconds, since a kernel is started three times."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import nbformat
import psutil
import pytest
from synthetic_study import Wanted, write_records

from patchperf.analysis.findings import FINDINGS_TABLES, write_findings
from patchperf.notebooks import NotebookError, run_notebook
from patchperf.recompute import write_tables
from patchperf.results import FOLDER_VARIABLE

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


def notebook(path: Path, *cells: str) -> Path:
    document = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbformat.write(document, path)
    return path


def kernels() -> list[int]:
    """Running processes of notebooks among our own descendants: other tests may keep servers, and leave dead ones."""
    running = [one for one in psutil.Process().children(recursive=True) if one.status() != psutil.STATUS_ZOMBIE]
    return [one.pid for one in running if any("ipykernel" in word for word in one.cmdline())]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_kept_without_outputs(path: Path) -> None:
    document: dict[str, Any] = json.loads(path.read_bytes())
    code = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    assert code
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)
    assert "widgets" not in document["metadata"]


def test_a_notebook_runs_in_this_python_on_the_results_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    results = tmp_path / "results"
    results.mkdir()
    told = notebook(
        tmp_path / "told.ipynb", f"import os, sys\nprint(sys.executable, os.environ['{FOLDER_VARIABLE}'], os.getcwd())"
    )
    run_notebook(told, results, tmp_path / "made" / "told.ipynb", tmp_path / "made" / "told.html")
    (cell,) = nbformat.read(tmp_path / "made" / "told.ipynb", as_version=4).cells
    assert cell.outputs[0].text.split() == [sys.executable, str(results), str(results)]
    assert str(results) in (tmp_path / "made" / "told.html").read_text("utf-8")
    assert list(home.iterdir()) == []
    assert list(results.iterdir()) == []
    assert kernels() == []
    assert capfd.readouterr().err == ""


def test_a_cell_that_fails_is_told_in_one_line(tmp_path: Path) -> None:
    failing = notebook(tmp_path / "failing.ipynb", "1 / 0")
    with pytest.raises(NotebookError, match=r"^failing\.ipynb: ZeroDivisionError: division by zero$"):
        run_notebook(failing, tmp_path, tmp_path / "a.ipynb", tmp_path / "a.html")
    assert not (tmp_path / "a.html").exists()
    assert kernels() == []


def test_pages_of_notebooks_load_nothing(tmp_path: Path) -> None:
    shown = notebook(tmp_path / "shown.ipynb", "import pandas as pd\npd.DataFrame({'<script>alert(1)</script>': [1]})")
    run_notebook(shown, tmp_path, tmp_path / "a.ipynb", tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text("utf-8")
    assert "<script" not in page
    assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//", page)
    assert "default-src 'none'" in page


@pytest.mark.parametrize(
    "wanted",
    [Wanted(cases=0), Wanted(cases=1, sources=["model-a"], metrics=["wall_ns"])],
    ids=["no case", "one case, one source, one metric"],
)
def test_the_notebooks_run_on_the_smallest_studies(tmp_path: Path, wanted: Wanted) -> None:
    results = write_records(tmp_path / "results", wanted)
    tables = write_tables(results, results / "tables")
    write_findings({name: tables[name] for name in FINDINGS_TABLES}, results / "findings.json")
    for path in NOTEBOOKS:
        run_notebook(path, results, tmp_path / path.name, tmp_path / f"{path.stem}.html")
        document = nbformat.read(tmp_path / path.name, as_version=4)
        shown = [cell for cell in document.cells if cell.cell_type == "code" and cell.source.count("\n") < 3]
        assert sum(bool(cell.outputs) for cell in shown) >= len(shown) - 1
