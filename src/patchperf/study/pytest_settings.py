"""What pytest's own configuration in a tree adds to every command line."""

from __future__ import annotations

import configparser
import shlex
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_INI_SECTIONS = {"pytest.ini": "pytest", ".pytest.ini": "pytest", "tox.ini": "pytest", "setup.cfg": "tool:pytest"}
_FILES = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")


def measure_coverage(tree: Path, file: str) -> bool:
    """Whether the settings that hold for a test file of a tree make pytest measure coverage (``--cov`` in addopts)."""
    return any(word == "--cov" or word.startswith("--cov=") for word in _added_options(tree, file))


def _added_options(tree: Path, file: str) -> list[str]:
    """``addopts`` of the first file with settings, beside the test file or in the nearest folder above.

    A file that cannot be read as what it is adds nothing here: pytest will say so itself.
    """
    for folder in (tree / file).parents:
        for name in _FILES:
            added = _addopts(folder / name)
            if added is not None:
                return added
        if folder == tree:
            break
    return []


def _addopts(path: Path) -> list[str] | None:
    """The words of ``addopts``; None where the file has no settings for pytest."""
    try:
        settings = _settings(path) if path.is_file() else None
        added = (settings or {}).get("addopts", "")
        words = shlex.split(added) if isinstance(added, str) else [str(word) for word in added]
    except (ValueError, configparser.Error):
        return None
    return None if settings is None else words


def _settings(path: Path) -> Mapping[str, Any] | None:
    text = path.read_text("utf-8", "replace")
    if path.suffix == ".toml":
        tables: dict[str, dict[str, Any]] = tomllib.loads(text)
        if path.name != "pyproject.toml":
            return tables.get("pytest", {})
        table: dict[str, Any] | None = tables.get("tool", {}).get("pytest")
        return table if table is None else {**table, **table.get("ini_options", {})}
    parser = configparser.RawConfigParser(strict=False)
    parser.read_string(text)
    section = _INI_SECTIONS[path.name]
    if parser.has_section(section):
        return dict(parser[section])
    return {} if path.stem.endswith("pytest") else None
