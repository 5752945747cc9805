from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from patchperf.errors import MachineError
from patchperf.sandbox import patches, trees
from patchperf.sandbox.mirrors import commit_tree
from patchperf.sandbox.processes import Processes
from patchperf.sandbox.protocol import Command, Limits
from patchperf.sandbox.space import has_room, no_room, require_room, with_room

MEBIBYTE = 1 << 20


def disk(monkeypatch: pytest.MonkeyPatch, **about: int) -> None:
    """A file system with 4 KiB blocks; ``free`` for all and ``reserved`` for root in MiB."""
    free, reserved = (about.get(name, 0) * MEBIBYTE // 4096 for name in ("free", "reserved"))
    files = about.get("files", 100)
    answer = SimpleNamespace(
        f_bavail=free,
        f_bfree=free + reserved,
        f_frsize=4096,
        f_files=about.get("all", 1000),
        f_ffree=files,
        f_favail=files,
    )
    monkeypatch.setattr(os, "statvfs", lambda path: answer)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    source = tmp_path / "source"
    source.mkdir()
    (source / "a.py").write_text("a = 1\n", "utf-8")
    mirror = commit_tree(source, tmp_path / "mirror.git")
    head = (mirror / "refs" / "heads" / "main").read_text("utf-8").strip()
    trees.checkout(mirror, head, tmp_path / "tree")
    return tmp_path / "tree"


@pytest.mark.parametrize(
    ("about", "user", "room"),
    [
        ({"free": 8}, 1000, True),
        ({"free": 7}, 1000, False),
        ({"free": 0, "reserved": 100}, 1000, False),
        ({"free": 0, "reserved": 100}, 0, True),
        ({"free": 100, "files": 0}, 0, False),
        ({"free": 100, "files": 0, "all": 0}, 0, True),
    ],
)
def test_a_disk_has_room_or_is_full(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, about: dict[str, int], user: int, room: bool
) -> None:
    disk(monkeypatch, **about)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert has_room(tmp_path) is room


def test_a_folder_that_is_not_there_is_not_full(tmp_path: Path) -> None:
    assert has_room(tmp_path / "absent")
    require_room(None, tmp_path / "absent")


def test_a_full_disk_is_named_by_where_it_is_mounted() -> None:
    said = "free some and run the same command again, what is measured is kept"
    assert no_room(Path("/proc/self/absent/file")) == f"no space left on /proc: {said}"


def test_what_filled_the_disk_is_found_out_afterwards(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(MachineError, match=r"^no space left on "), with_room(tmp_path):
        disk(monkeypatch, free=1)


def test_a_command_on_a_full_disk_has_no_result(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sandbox = Processes(tmp_path / "work")
    (tmp_path / "tree").mkdir()
    command = Command(("/bin/true",), tmp_path / "tree")
    assert sandbox.run(command, Limits()).ok
    disk(monkeypatch, free=1)
    with pytest.raises(MachineError, match=r"^no space left on "):
        sandbox.run(command, Limits())


def test_a_patch_that_does_not_apply_on_a_full_disk_has_no_outcome(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tree: Path
) -> None:
    wrong = "--- a/absent.py\n+++ b/absent.py\n@@ -1 +1 @@\n-a\n+b\n"
    assert not patches.apply_patch(tree, wrong).applied
    disk(monkeypatch, free=1)
    with pytest.raises(MachineError, match=r"^no space left on "):
        patches.apply_patch(tree, wrong)
