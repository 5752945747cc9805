from __future__ import annotations

import os
from pathlib import Path

import pytest

from patchperf.sandbox import disk
from patchperf.sandbox.disk import DiskWatch

MEBIBYTE = 1024 * 1024


@pytest.fixture
def shrinking(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A file system that has lost this many bytes and files, to whomever."""
    lost = [0, 0]
    monkeypatch.setattr(DiskWatch, "_left", lambda _: (10**15 - lost[0], 10**9 - lost[1]))
    return lost


def watch(folder: Path, *pids: int) -> DiskWatch:
    return DiskWatch((folder,), 1, lambda: pids)


def written(path: Path, size: int) -> Path:
    path.write_bytes(os.urandom(size))
    return path


def test_what_the_command_has_written_counts_once_the_file_system_shrinks(tmp_path, shrinking):
    bound = watch(tmp_path)
    written(tmp_path / "big", 2 * MEBIBYTE)
    assert bound.exceeded() is None
    shrinking[0] = 2 * MEBIBYTE
    assert bound.exceeded() == "disk"


def test_what_others_write_does_not_count(tmp_path, shrinking):
    written(tmp_path / "before", 2 * MEBIBYTE)
    os.sync()
    bound = watch(tmp_path)
    bound._since += 1
    shrinking[0] = 2 * MEBIBYTE
    assert bound.exceeded() is None


def test_open_files_without_a_name_count(tmp_path, shrinking):
    bound = watch(tmp_path, os.getpid())
    with written(tmp_path / "gone", 2 * MEBIBYTE).open("rb"):
        (tmp_path / "gone").unlink()
        shrinking[0] = 2 * MEBIBYTE
        assert bound.exceeded() == "disk"
    assert bound.exceeded() is None


def test_many_small_files_count(tmp_path, shrinking, monkeypatch):
    monkeypatch.setattr(disk, "MOST_FILES", 5)
    bound = watch(tmp_path)
    for number in range(10):
        (tmp_path / str(number)).touch()
    shrinking[1] = 10
    assert bound.exceeded() == "disk"


def test_folders_that_disappear_are_passed_over(tmp_path, shrinking):
    bound = DiskWatch((tmp_path, tmp_path / "absent"), 1, tuple)
    shrinking[0] = 2 * MEBIBYTE
    assert bound.exceeded() is None
