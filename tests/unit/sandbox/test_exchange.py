from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from patchperf.errors import MachineError
from patchperf.sandbox.exchange import Exchange


@pytest.fixture
def exchange(tmp_path: Path) -> Exchange:
    return Exchange(tmp_path / "exchange")


def folder(path: Path, *files: str) -> Path:
    path.mkdir()
    for name in files:
        (path / name).write_text(name)
    return path


def names(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir())


def test_contents_are_at_their_places_for_a_while_and_back_with_what_was_added(exchange, tmp_path):
    tree, out, tools = (folder(tmp_path / name, f"in-{name}") for name in ("tree", "out", "tools"))
    with exchange.lent(tree, tools, out):
        assert (names(exchange.tree), names(exchange.out), names(exchange.tools)) == (
            ["in-tree"], ["in-out"], ["in-tools"],
        )  # fmt: skip
        assert (names(tree), names(out), names(tools)) == ([], [], ["in-tools"])
        (exchange.tree / "new").mkdir()
        (exchange.out / "result").write_text("")
    assert (names(tree), names(out), names(tools)) == (["in-tree", "new"], ["in-out", "result"], ["in-tools"])
    assert names(exchange.tree) == names(exchange.out) == names(exchange.tools) == []


def test_contents_come_back_after_an_error(exchange, tmp_path):
    tree = folder(tmp_path / "tree", "file")
    with pytest.raises(ZeroDivisionError), exchange.lent(tree, None, None):
        raise ZeroDivisionError
    assert names(tree) == ["file"]


def test_what_cannot_be_entered_comes_back_too(exchange, tmp_path):
    tree = folder(tmp_path / "tree")
    with exchange.lent(tree, None, None):
        (exchange.tree / "closed").mkdir()
        (exchange.tree / "closed").chmod(0)
        (exchange.tree / "link").symlink_to("/etc")
        exchange.tree.chmod(0)
    assert names(tree) == ["closed", "link"]


def test_a_socket_keeps_listening_while_it_is_lent(exchange, tmp_path):
    tree, out = folder(tmp_path / "tree"), folder(tmp_path / "out")
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as calling:
        listening.bind(str(out / "s"))
        listening.listen()
        with exchange.lent(tree, None, out):
            calling.connect(str(exchange.out / "s"))


def test_another_file_system_is_refused_and_nothing_is_moved(exchange, tmp_path):
    other = Path(f"/dev/shm/patchperf-exchange-{os.getpid()}")
    tree = folder(tmp_path / "tree", "file")
    if other.parent.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("temporary files and shared memory are one file system here")
    try:
        folder(other, "kept")
        with pytest.raises(MachineError, match="not on the file system of"), exchange.lent(tree, None, other):
            pass
        assert (names(tree), names(other)) == (["file"], ["kept"])
    finally:
        (other / "kept").unlink()
        other.rmdir()
