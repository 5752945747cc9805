from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import patchperf
from patchperf import workflow
from patchperf.config import Config
from patchperf.errors import InputError, MachineError
from patchperf.scratch import scratch_root

SOURCES = [
    {"name": "atlas", "predictions": "atlas.jsonl", "resolved": "resolved.json"},
    {"name": "birch", "predictions": "birch", "resolved": "resolved.json"},
    {"name": "cedar", "predictions": "atlas.jsonl", "resolved": ["a__b-1"]},
]


def config(**changes: object) -> Config:
    least = {"datasets": [{"name": "d", "path": "rows.jsonl"}], "repositories": {"trees": "trees"}}
    return Config.model_validate(least | changes)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name in ("rows.jsonl", "atlas.jsonl", "resolved.json", "environments.json"):
        (tmp_path / name).touch()
    (tmp_path / "birch").mkdir()
    return tmp_path


def test_input_files_are_found_by_role_each_once(files: Path) -> None:
    study = config(sources=SOURCES, environments={"file": "environments.json"})
    assert workflow.input_files(study, (files / "elsewhere", files)) == {
        "datasets": [str(files / "rows.jsonl")],
        "predictions": [str(files / "atlas.jsonl"), str(files / "birch")],
        "resolved": [str(files / "resolved.json")],
        "environments": [str(files / "environments.json")],
    }


def test_a_role_without_files_is_left_out_and_a_hub_dataset_is_no_file(files: Path) -> None:
    study = config(datasets=[{"name": "h", "hub": "o/n"}, {"name": "d", "path": "rows.jsonl"}])
    assert workflow.input_files(study, (files,)) == {"datasets": [str(files / "rows.jsonl")]}


def test_an_input_file_that_does_not_exist_is_named(files: Path) -> None:
    with pytest.raises(InputError, match=r"^gone\.jsonl: no such file or folder; looked at "):
        workflow.input_files(config(sources=[{"name": "dune", "predictions": "gone.jsonl"}]), (files,))


def test_a_file_of_settings_is_written_anew_when_one_of_its_keys_changes_and_only_then(tmp_path: Path) -> None:
    def written(settings: Config, *keys: str) -> Path:
        return Path(workflow.settings_file(settings, tmp_path / "settings", "cases", *keys))

    file = written(config(), "seed", "calibration")
    assert json.loads(file.read_bytes()) == {"calibration": {"max_seconds": 8.0, "min_seconds": 4.0}, "seed": 1}
    os.utime(file, ns=(0, 0))
    assert written(config(alpha=0.01), "calibration", "seed").stat().st_mtime_ns == 0
    assert written(config(seed=2), "seed", "calibration").stat().st_mtime_ns > 0


def test_a_code_digest_covers_a_module_or_a_whole_package() -> None:
    root = Path(patchperf.__file__).parent
    tables = (root / "tables.py").read_bytes()
    stats = b"".join(path.read_bytes() for path in sorted((root / "stats").rglob("*.py")))
    assert workflow.code_digest("tables") == hashlib.sha256(tables).hexdigest()
    assert workflow.code_digest("stats", "tables") == hashlib.sha256(stats + tables).hexdigest()


def test_a_code_digest_of_no_module_is_a_defect() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"patchperf\.no_such"):
        workflow.code_digest("no_such")


def test_the_versions_of_tools_are_those_that_are_imported() -> None:
    told = workflow.tool_versions("pandas", "pytest")
    assert told == {"python": sys.version.split()[0], "pandas": pd.__version__, "pytest": pytest.__version__}


def test_a_table_is_read_again_when_it_was_written_again(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    pd.DataFrame({"a": [1]}).to_parquet(path)
    first = workflow.read_table(path)
    assert workflow.read_table(path) is first
    pd.DataFrame({"a": [2]}).to_parquet(path)
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))
    assert workflow.read_table(path).a.tolist() == [2]


def host(path: Path, backend: str, warning: str) -> Path:
    path.write_text(json.dumps({"counter": {"backend": backend, "reason": "why"}, "warning": warning}), "utf-8")
    return path


def test_a_reader_is_warned_of_missing_counts_and_of_open_patches(tmp_path: Path) -> None:
    assert workflow.host_warnings(tmp_path / "absent") == []
    assert workflow.host_warnings(host(tmp_path / "host.json", "cirron", "")) == []
    assert workflow.host_warnings(host(tmp_path / "host.json", "none", "open")) == ["why", "open"]


def test_scratch_of_a_study_is_cleared_and_that_of_another_is_not(tmp_path: Path) -> None:
    study = config(scratch=str(tmp_path))
    ours, theirs = (scratch_root(study, tmp_path / name) for name in ("ours", "theirs"))
    for folder in (ours, theirs):
        (folder / "probe").mkdir(parents=True)
    workflow.clear_scratch(study, tmp_path / "ours")
    assert not ours.exists()
    assert theirs.exists()
    workflow.clear_scratch(study, tmp_path / "ours")


def test_a_folder_is_held_by_one_run_until_it_lets_go(tmp_path: Path) -> None:
    held = workflow.hold(tmp_path / "results")
    with pytest.raises(MachineError) as raised:
        workflow.hold(tmp_path / "results")
    assert str(raised.value) == (
        f"another run is working in {tmp_path}/results: wait for it, or use another --directory"
    )
    workflow.hold(tmp_path / "other").close()
    held.close()
    workflow.hold(tmp_path / "results").close()


def test_a_killed_run_holds_nothing(tmp_path: Path) -> None:
    code = "import sys, time; from pathlib import Path; from patchperf.workflow import hold\n"
    code += "held = hold(Path(sys.argv[1])); print('held', flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            with pytest.raises(MachineError):
                workflow.hold(tmp_path)
        finally:
            process.kill()
    workflow.hold(tmp_path).close()


def test_a_new_or_writable_folder_can_take_a_study(tmp_path: Path) -> None:
    workflow.check_folder(tmp_path)
    (tmp_path / "results").mkdir()
    workflow.check_folder(tmp_path)


def test_results_that_are_no_folder_are_named(tmp_path: Path) -> None:
    (tmp_path / "results").touch()
    with pytest.raises(MachineError, match=rf"^{tmp_path}/results: not a folder; move it away"):
        workflow.check_folder(tmp_path)


def test_a_folder_that_may_not_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "results").mkdir()
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path / "results")
    with pytest.raises(MachineError, match=rf"^{tmp_path}/results: not writable for this user; allow it"):
        workflow.check_folder(tmp_path)


def test_a_full_disk_is_told_before_anything_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("patchperf.sandbox.space.LEAST_BYTES", 1 << 62)
    with pytest.raises(MachineError, match=r"^no space left on .*: free some and run the same command again"):
        workflow.check_folder(tmp_path)


def test_where_counts_come_from_is_asked_again_when_the_machines_record_is_there(tmp_path: Path) -> None:
    host = tmp_path / "host.json"
    assert not workflow.counts_separately(host)
    for emulation, separately in ((None, False), ({"emulator": "qemu"}, True)):
        host.write_text(json.dumps({"emulation": emulation}))
        assert workflow.counts_separately(host) is separately
