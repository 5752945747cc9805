"""What the rules need beside Snakemake: digests of code and settings, tables that decide jobs, the lock."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import importlib.util
import json
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import TextIO

import pandas as pd

from patchperf.config import Config, resolve_path
from patchperf.errors import InputError, MachineError
from patchperf.sandbox.files import erase
from patchperf.sandbox.space import require_room
from patchperf.scratch import scratch_root


def input_files(config: Config, folders: tuple[Path, ...]) -> dict[str, list[str]]:
    """The files and folders that a study reads, by role; raises InputError for one that does not exist."""
    given = {
        "datasets": [dataset.path for dataset in config.datasets if dataset.path],
        "predictions": [source.predictions for source in config.sources],
        "resolved": [source.resolved for source in config.sources if isinstance(source.resolved, str)],
        "environments": [config.environments.file] if config.environments.file else [],
    }
    found = {role: [str(resolve_path(path, folders)) for path in paths] for role, paths in given.items()}
    return {role: list(dict.fromkeys(paths)) for role, paths in found.items() if paths}


def settings_file(config: Config, folder: Path, rule: str, *keys: str) -> str:
    """The path of a file with some settings, an input of the rule that a change of them, and of no other, has to rerun.

    It is written anew only when its content changes. So results and settings fit together also where Snakemake's own
    records are gone, as in a copy of the results.
    """
    text = json.dumps(config.model_dump(mode="json", include=set(keys)), sort_keys=True)
    file = folder / f"{rule}.json"
    if not file.exists() or file.read_text("utf-8") != text:
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    return str(file)


def code_digest(*modules: str) -> str:
    """SHA-256 (hex) over the source of modules or packages of patchperf, for rules that their change has to rerun."""
    digest = hashlib.sha256()
    for module in modules:
        found = importlib.util.find_spec(f"patchperf.{module}")
        if found is None or found.origin is None:
            raise ModuleNotFoundError(f"patchperf.{module}")
        folders = found.submodule_search_locations
        files = sorted(Path(folders[0]).rglob("*.py")) if folders else [Path(found.origin)]
        for file in files:
            digest.update(file.read_bytes())
    return digest.hexdigest()


def tool_versions(*packages: str) -> dict[str, str]:
    """Python's version and those of packages, for rules that another version of one has to rerun."""
    return {"python": platform.python_version()} | {package: version(package) for package in packages}


def read_table(path: str | Path) -> pd.DataFrame:
    """A stage's table, read once per version of the file."""
    return _read_table(str(path), Path(path).stat().st_mtime_ns)


@functools.lru_cache(maxsize=8)
def _read_table(path: str, _version: int) -> pd.DataFrame:
    try:
        return pd.read_parquet(path)
    except (OSError, ValueError):
        raise InputError(f"{path} cannot be read: delete it and run again") from None


def host_warnings(host: Path) -> list[str]:
    """What a reader of the results has to know of the machine, from its record; nothing if there is none yet."""
    if not host.exists():
        return []
    record = json.loads(host.read_bytes())
    counter = record["counter"]["reason"] if record["counter"]["backend"] == "none" else ""
    return [warning for warning in (counter, record["warning"]) if warning]


def counts_separately(host: Path) -> bool:
    """Whether counts come from an emulator, in a pass of their own, by the machine's record.

    Where there is no record, it is made before anything is measured, and this is asked once more then.
    """
    return host.exists() and json.loads(host.read_bytes())["emulation"] is not None


def clear_scratch(config: Config, study: Path) -> None:
    """Remove all scratch of a study; only for the run that holds its folder."""
    erase(scratch_root(config, study))


def check_folder(study: Path) -> None:
    """Raise MachineError if a study cannot be written to its working directory ``study``."""
    results = study / "results"
    if results.exists() and not results.is_dir():
        raise MachineError(f"{results}: not a folder; move it away, or use another --directory")
    for folder in (study, results) if results.exists() else (study,):
        if not os.access(folder, os.W_OK | os.X_OK):
            raise MachineError(f"{folder}: not writable for this user; allow it, or use another --directory")
        require_room(folder)


def hold(folder: Path) -> TextIO:
    """Hold a working folder for one run, until the file returned is closed or its process ends, however it ends.

    Raises MachineError if another run holds it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = (folder / ".lock").open("a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise MachineError(
            f"another run is working in {folder.resolve()}: wait for it, or use another --directory"
        ) from None
    return file
