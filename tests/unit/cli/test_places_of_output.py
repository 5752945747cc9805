"""Where output cannot go: every command that writes says so in one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from patchperf.cli.main import app

PATCHES = "instance_id,source,correct,maintainability,security\na,one,1,1,1\na,two,0,1,0.5\n"
OUTCOMES = "instance_id,source,outcome\nown__proj-1,one,Resolved\nown__proj-2,one,No-Op\n"


def arguments(command: str, folder: Path) -> tuple[str, ...]:
    given = folder / f"{command}.csv"
    if command == "programs":
        options = [part for name in ("buggy", "fixed", "tree") for part in (f"--{name}", str(folder))]
        return (*options, "--source", f"mine={folder}")
    given.write_text(PATCHES if command == "quality" else OUTCOMES, "utf-8")
    return (str(given), *(("--efficiency", "none") if command == "quality" else ()))


@pytest.mark.parametrize(
    ("command", "out", "reason"),
    [
        ("quality", "file", "file: File exists: a folder goes there: name another place"),
        ("quality", "file/below", "file/below: Not a directory: a folder goes there"),
        ("quality", "/proc/out", "/proc/out: No such file or directory: name a place"),
        ("quality", "taken", "taken/quality.csv: Is a directory: a file goes there: move the folder away"),
        ("outcomes", "file", "file: File exists: a folder goes there: name another place"),
        ("outcomes", "file/below", "file/below: Not a directory: a folder goes there"),
        ("outcomes", "/proc/out", "/proc/out: No such file or directory: name a place"),
        ("outcomes", "taken", "taken/outcomes.csv: Is a directory: a file goes there: move the folder away"),
        ("programs", "file/patches.csv", "file: File exists: a folder goes there"),
        ("programs", "/proc/out/patches.csv", "/proc/out: No such file or directory: name a place"),
        ("programs", "taken", "taken: a folder: name the file of the table"),
    ],
)
def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path, command: str, out: str, reason: str) -> None:
    (tmp_path / "file").write_text("mine", "utf-8")
    for table in ("quality.csv", "outcomes.csv"):
        (tmp_path / "taken" / table).mkdir(parents=True)
    done = CliRunner().invoke(app, [command, *arguments(command, tmp_path), "-o", str(tmp_path / out)])
    assert (done.exit_code, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert reason in line
    assert (tmp_path / "file").read_text("utf-8") == "mine"
