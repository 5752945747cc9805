"""Programs of our own, run for real in the sandbox: about a second each."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from patchperf.cli.main import app
from patchperf.errors import InputError
from patchperf.quality.decay import Decay
from patchperf.quality.patches import read_patches
from patchperf.study.programs import Benchmark, programs_of

BUGGY = "def {0}(n):\n    return n - 1\n"
FIXED = 'def {0}(n):\n    """What comes next."""\n    return n+1  # not n - 1\n'
TEST = "from programs.{0} import {0}\ndef test_1():\n    assert {0}(1) == 2\ndef test_2():\n    assert {0}(2) == 3\n"
NAMES = ("looping", "plain", "quitting", "risky", "unfixed", "wrong")
MINE = {
    "looping": "while True:\n    pass\n",
    "plain": "def plain(n):\n    if n == 1:\n        return 2\n    return n + 1\n",
    "quitting": "import os\nprint('2 passed')\nos._exit(0)\n",
    "risky": "def risky(n):\n    return eval('n + 1')\n",
    "wrong": "def wrong(n:\n",
}


def write_benchmark(folder: Path) -> None:
    for name in NAMES:
        for kind, text in (("buggy", BUGGY), ("fixed", BUGGY if name == "unfixed" else FIXED)):
            (folder / kind).mkdir(exist_ok=True)
            (folder / kind / f"{name}.py").write_text(text.format(name))
        (folder / "tree" / "tests").mkdir(parents=True, exist_ok=True)
        (folder / "tree" / "tests" / f"test_{name}.py").write_text(TEST.format(name))
    (folder / "fixed" / "helper.py").write_text("")
    (folder / "mine").mkdir()
    for name, text in MINE.items():
        (folder / "mine" / f"{name}.py").write_text(text)


def programs(folder: Path, *arguments: str):
    return CliRunner().invoke(
        app,
        [
            *("programs", "-o", str(folder / "patches.csv"), "--place", "programs/{program}.py"),
            *("--test", "tests/test_{program}.py", "--timeout", "5"),
            *(part for name in ("buggy", "fixed", "tree") for part in (f"--{name}", str(folder / name))),
            *("--source", f"buggy={folder / 'buggy'}", "--source", f"mine={folder / 'mine'}", *arguments),
        ],
    )


def test_programs_become_a_table_that_can_be_rated(tmp_path: Path) -> None:
    write_benchmark(tmp_path)
    done = programs(tmp_path)
    assert (done.exit_code, done.stderr) == (0, "left out: unfixed: its fixed version does not pass\n")
    table = read_patches(tmp_path / "patches.csv", Decay()).set_index(["source", "instance_id"])
    assert len(table) == 3 * 5
    assert table.loc["ground_truth", "correct"].all()
    assert not table.loc["buggy", "correct"].any()
    assert table.loc["mine", "correct"].to_dict() == {
        "looping": False,
        "plain": True,
        "quitting": False,
        "risky": True,
        "wrong": False,
    }
    assert table.loc[("mine", "plain"), "maintainability"] == 0.5
    assert table.loc[("mine", "risky"), "security"] == 0.5
    assert table.loc[("mine", "wrong"), ["compiles", "maintainability", "security"]].tolist() == [False, 0, 0]
    assert table["lines"].unique().tolist() == [1]


def test_options_of_the_trees_own_change_no_verdict(tmp_path: Path) -> None:
    write_benchmark(tmp_path)
    (tmp_path / "tree" / "pytest.ini").write_text("[pytest]\naddopts = -q --color=yes\n")
    assert programs(tmp_path).exit_code == 0
    table = read_patches(tmp_path / "patches.csv", Decay())
    assert table.loc[table["source"] == "ground_truth", "instance_id"].nunique() == 5


def test_where_no_fixed_version_passes_it_says_so(tmp_path: Path) -> None:
    write_benchmark(tmp_path)
    for file in (tmp_path / "tree" / "tests").iterdir():
        file.write_text("def test_1():\n    assert False\n")
    done = programs(tmp_path)
    assert done.exit_code == 1
    assert "no fixed version passes its tests" in done.stderr
    assert not (tmp_path / "patches.csv").exists()


def test_a_file_that_is_read_is_not_overwritten(tmp_path: Path) -> None:
    write_benchmark(tmp_path)
    done = programs(tmp_path, "-o", str(tmp_path / "fixed" / "plain.py"))
    assert "plain.py: a file of" in done.stderr
    assert (tmp_path / "fixed" / "plain.py").read_text() == FIXED.format("plain")


def test_a_program_needs_a_buggy_file_and_a_test(tmp_path: Path) -> None:
    write_benchmark(tmp_path)
    benchmark = Benchmark(tmp_path / "buggy", tmp_path / "fixed", tmp_path / "tree", "x", "tests/test_{program}.py")
    assert programs_of(benchmark) == NAMES
    with pytest.raises(InputError, match="no program"):
        programs_of(Benchmark(tmp_path / "buggy", tmp_path / "fixed", tmp_path / "tree", "x", "none/{program}.py"))


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--source", "other"), "write it as NAME=DIR"),
        (("--source", "other=/no/such"), "no folder"),
        (("--source", "mine=."), "mine has a folder already"),
        (("--source", "ground_truth=."), "ground_truth is the name of the fixed programs"),
        (("--place", "../../{program}.py"), "place '../../{program}.py': name a file in the tree"),
        (("--place", "programs/../../{program}.py"), "name a file in the tree"),
        (("--place", "/tmp/{program}.py"), "name a file in the tree"),
        (("--place", ""), "place '': name a file in the tree"),
        (("--place", "{x}.py"), "place '{x}.py': write {program} for the program's name"),
        (("--place", "{program.py"), "and no other braces"),
        (("--test", "../tree/tests/test_{program}.py"), "test '../tree/tests/test_{program}.py': name a file"),
        (("--test", "{}.py"), "test '{}.py': write {program} for the program's name"),
        (("--place", "out/{program}.py"), "out/looping.py: a link leads out of the tree"),
        (("-o", "."), "a folder: name the file of the table"),
        (("--python", "/no/such"), "no Python that runs"),
        (("--python", "/usr/bin/false"), "has no pytest"),
        (("--python", "/usr/bin/true"), "/usr/bin/true: is no Python"),
        (("--source", "none=."), "none has no file for any of the 6 programs"),
    ],
)
def test_what_cannot_be_done_is_one_line(tmp_path: Path, arguments: tuple[str, ...], reason: str) -> None:
    write_benchmark(tmp_path)
    (tmp_path / "outside").mkdir()
    (tmp_path / "tree" / "out").symlink_to(tmp_path / "outside")
    done = programs(tmp_path, *arguments)
    assert done.exit_code == 1
    assert reason in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not any((tmp_path / "outside").iterdir())
    assert not (tmp_path / "patches.csv").exists()
