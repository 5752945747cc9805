from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from patchperf.cli.main import app

SPEEDS = {"14B": 24, "3B": 100, "7B": 45, "lite": 81}
PARAMETERS = {"14B": 14.8, "3B": 3.1, "7B": 7.6, "lite": 16}
SOLVED = {"14B": 52, "3B": 20, "7B": 40, "lite": 42}
PLAIN = {"NO_COLOR": "1", "COLUMNS": "80"}


def write_patches(folder: Path, bugs: int = 130) -> Path:
    rows = [
        f"bug-{bug:03},{source},{int(bug < solved)},{10 + bug % 3},10,0,0,{bug % 3 + 1}"
        for source, solved in SOLVED.items()
        for bug in range(bugs)
    ]
    header = "instance_id,source,correct,complexity,complexity_reference,findings,findings_reference,lines"
    file = folder / "patches.csv"
    file.write_text("\n".join([header, *rows, ""]))
    (folder / "sources.csv").write_text(
        "source,tokens_per_second,total_parameters\n"
        + "".join(f"{source},{speed},{PARAMETERS[source]}\n" for source, speed in SPEEDS.items())
    )
    return file


def quality(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["quality", *map(str, arguments)], env=PLAIN)


def test_a_table_of_patches_becomes_all_tables(tmp_path: Path) -> None:
    file, out = write_patches(tmp_path), tmp_path / "out"
    done = quality(
        file, "-o", out, "--sources", tmp_path / "sources.csv", "--scheme", "fix:correctness=0.9,security=0.1"
    )
    assert (done.exit_code, done.stderr) == (0, "")
    names = ["correctness_by_size", "generation_speed", "mcnemar", "quality", "quality_patches", "quality_weights"]
    figures = ["correctness_by_size", "generation_speed", "normalisation", "quality", "quality_weights"]
    assert {path.name for path in out.iterdir()} == {
        *(f"{name}.{kind}" for name in names for kind in ("csv", "tex")),
        *(f"figure_{name}.{kind}" for name in figures for kind in ("pdf", "svg")),
    }
    table = pd.read_csv(out / "quality.csv").set_index(["normalisation", "scheme", "source"])
    assert table.loc[("ratio", "fix", "14B"), "rank"] == 1
    assert table.loc[("ratio", "equal", "14B"), "efficiency"] == 0.24
    assert table.loc[("min-max", "equal", "14B"), "efficiency"] == 0
    assert table.loc[("min-max", "equal", "3B"), "rank"] == 1
    assert len(pd.read_csv(out / "mcnemar.csv")) == 6
    speed = pd.read_csv(out / "generation_speed.csv").set_index("source")
    assert speed["relative_speed"].to_dict() == {"3B": 1, "lite": 0.81, "7B": 0.45, "14B": 0.24}
    assert speed["rho_total"].unique() == pytest.approx([-0.4])
    assert pd.read_csv(out / "correctness_by_size.csv")["lines"].unique().tolist() == [1, 2, 3]


def test_a_table_that_is_read_is_not_overwritten(tmp_path: Path) -> None:
    file = write_patches(tmp_path, bugs=5).rename(tmp_path / "quality_patches.csv")
    before = file.read_bytes()
    done = quality(file, "-o", tmp_path, "--efficiency", "none")
    assert done.exit_code == 1
    assert "quality_patches.csv: would be overwritten by the table of that name" in done.stderr
    assert file.read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"quality_patches.csv", "sources.csv"}


def test_a_scheme_may_have_dollars_in_its_name(tmp_path: Path) -> None:
    file = write_patches(tmp_path, bugs=5)
    done = quality(file, "-o", tmp_path / "out", "--efficiency", "none", "--scheme", r"$\frac$:correctness=1")
    assert (done.exit_code, done.stderr) == (0, "")


def test_equal_tables_give_equal_bytes(tmp_path: Path) -> None:
    file = write_patches(tmp_path, bugs=20)
    for name in ("one", "two"):
        assert quality(file, "-o", tmp_path / name, "--efficiency", "none").exit_code == 0
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "efficiency generation needs tokens_per_second, which no patch or source has: "),
        ((), "--efficiency none"),
        (("--efficiency", "runtime"), "efficiency runtime needs runtime, which"),
        (("--efficiency", "none", "--scheme", "mine"), "write it as NAME:DIMENSION=WEIGHT"),
        (
            ("--efficiency", "none", "--scheme", "mine:correctness=0.5"),
            "--scheme mine:correctness=0.5: the weights add up to 0.5, not 1",
        ),
        (("--efficiency", "none", "--scheme", "mine:correctness=1.00000001"), "add up to 1.00000001, not 1"),
        (("--efficiency", "none", "--scheme", ":correctness=1"), "write it as NAME:DIMENSION=WEIGHT"),
        (("--efficiency", "none", "--scheme", "m:security=1,security=1"), "a dimension stands in it twice"),
        (("--efficiency", "none", "--scheme", "equal:security=1"), "equal is a scheme already"),
        (("--efficiency", "none", "--scheme", "m\n:security=1"), "a name has no blanks around it, and can be printed"),
        (
            ("--efficiency", "none", "--scheme", "m:security=1", "--scheme", "m:correctness=1"),
            "--scheme m:correctness=1: m is a scheme already",
        ),
        (("--efficiency", "none", "--half", "0"), "--half 0: name a finite number above 0"),
        (("--efficiency", "none", "--half", "inf"), "--half inf: name a finite number above 0"),
        (("--efficiency", "none", "--half", "nan"), "--half nan: name a finite number above 0"),
        (("--efficiency", "none", "--seed", "-1"), "--seed -1: name a whole number of 0 or more"),
    ],
)
def test_what_cannot_be_done_is_one_line(tmp_path: Path, arguments: tuple[str, ...], reason: str) -> None:
    done = quality(write_patches(tmp_path, bugs=5), "-o", tmp_path / "out", *arguments)
    assert done.exit_code == 1
    assert reason in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()
