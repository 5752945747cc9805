from __future__ import annotations

from pathlib import Path

import pytest

from patchperf.config import Config
from patchperf.scratch import scratch_root


def config(**settings: object) -> Config:
    needed = {"datasets": [{"name": "d", "path": "d.jsonl"}], "repositories": {"trees": "t"}}
    return Config.model_validate(needed | settings)


def test_scratch_lies_in_memory_where_there_is_room(tmp_path: Path) -> None:
    assert scratch_root(config(), Path("/study"), memory=tmp_path).parent == tmp_path


def test_a_study_has_one_scratch_folder_and_another_study_another(tmp_path: Path) -> None:
    first, again, other = (scratch_root(config(), Path(study), memory=tmp_path) for study in ("/a", "/a", "/b"))
    assert first == again
    assert first != other
    assert len(str(first)) == len(str(other))


def test_without_shared_memory_scratch_lies_in_the_results(tmp_path: Path) -> None:
    assert scratch_root(config(), tmp_path, memory=tmp_path / "absent") == tmp_path / "results" / "work"


def test_too_little_free_memory_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("patchperf.scratch.ROOM_BYTES", 1 << 62)
    assert scratch_root(config(), tmp_path, memory=tmp_path) == tmp_path / "results" / "work"


def test_the_user_names_the_place(tmp_path: Path) -> None:
    assert scratch_root(config(scratch=str(tmp_path / "fast")), Path("/study")).parent == tmp_path / "fast"
