from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from small_benches import make_bench

from patchperf.study.reused_tree import ReusedTree


@pytest.fixture
def tree(tmp_path: Path) -> ReusedTree:
    return ReusedTree(make_bench(tmp_path, "def test_x():\n    pass\n"), "tree", None)


def leave_cache(tree: Path) -> None:
    (tree / "__pycache__" / "folder").mkdir(parents=True)
    (tree / "__pycache__" / "code.cpython-311.pyc").write_bytes(b"x")


def test_a_tree_in_which_nothing_but_caches_changed_serves_again(tree: ReusedTree) -> None:
    leave_cache(tree.path)
    assert (tree.fresh() / "__pycache__").is_dir()


@pytest.mark.parametrize(
    "change",
    [
        lambda tree: (tree / "left.txt").touch(),
        lambda tree: (tree / "code.py").write_text("x = 2"),
        lambda tree: (tree / "code.py").unlink(),
        lambda tree: (tree / "code.py").chmod(0o755),
        lambda tree: (tree / "empty").mkdir(),
        lambda tree: os.mkfifo(tree / "pipe"),
        lambda tree: (tree / "link").symlink_to("/"),
        lambda tree: tree.chmod(0o700),
    ],
    ids=["file", "content", "gone", "mode", "empty folder", "pipe", "link", "folder's mode"],
)
def test_whatever_a_run_leaves_is_gone_when_the_tree_is_asked_for(
    tree: ReusedTree, change: Callable[[Path], object]
) -> None:
    before = sorted(tree.path.rglob("*")), (tree.path / "code.py").stat().st_mode, tree.digest
    change(tree.path)
    path = tree.fresh()
    assert (sorted(path.rglob("*")), (path / "code.py").stat().st_mode, tree.digest) == before
    assert (path / "code.py").read_text() == "answer = 41\n"
