"""What pytest's own configuration in a tree adds to every command line."""

from __future__ import annotations

import configparser
import re
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_INI_SECTIONS = {"pytest.ini": "pytest", ".pytest.ini": "pytest", "tox.ini": "pytest", "setup.cfg": "tool:pytest"}
_FILES = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")


@dataclass(frozen=True)
class Added:
    """``options`` are the words of ``addopts``, ``required`` the distributions that ``required_plugins`` names."""

    options: tuple[str, ...] = ()
    required: frozenset[str] = frozenset()


def added(tree: Path, file: str) -> Added:
    """What the settings that hold for a test file of a tree add: the first file with settings, beside the test file or
    in the nearest folder above.

    A file that cannot be read as what it is adds nothing here: pytest will say so itself.
    """
    for folder in (tree / file).parents:
        for name in _FILES:
            found = _added(folder / name)
            if found is not None:
                return found
        if folder == tree:
            break
    return Added()


def _added(path: Path) -> Added | None:
    """What a file adds; None where it has no settings for pytest."""
    try:
        settings = _settings(path) if path.is_file() else None
        if settings is None:
            return None
        required = (re.split(r"[^\w.-]", word)[0] for word in _words(settings.get("required_plugins", "")))
        return Added(tuple(_words(settings.get("addopts", ""))), frozenset(required))
    except (ValueError, configparser.Error):
        return None


def _words(value: Any) -> list[str]:
    return shlex.split(value) if isinstance(value, str) else [str(word) for word in value]


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
