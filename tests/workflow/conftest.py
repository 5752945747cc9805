"""Running the real workflow on a folder of its own."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from studies import MINI, ROOT, Run, Study, make_study, mini_settings

signal.signal(signal.SIGINT, signal.default_int_handler)
"""A test run in the background ignores Ctrl-C, and so would everything it starts."""

__all__ = ["MINI", "ROOT", "Run", "Study", "mini_settings"]


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A cache folder for all studies of a session, so that each environment is built once."""
    return str(tmp_path_factory.mktemp("cache"))


@pytest.fixture
def new_study(tmp_path: Path) -> Callable[..., Study]:
    """Makes a study in an empty folder from settings."""

    def make(settings: Mapping[str, Any], name: str = "study") -> Study:
        return make_study(tmp_path / name, settings)

    return make


@pytest.fixture
def tool_missing(tmp_path: Path) -> Callable[..., dict[str, str]]:
    """An environment whose PATH has every program but some."""

    def without(*tools: str) -> dict[str, str]:
        folder = tmp_path / f"without-{'-'.join(tools)}"
        folder.mkdir()
        for place in os.environ["PATH"].split(os.pathsep):
            for program in Path(place).glob("*") if Path(place).is_dir() else ():
                link = folder / program.name
                if program.name not in tools and not link.exists():
                    link.symlink_to(program)
        return {"PATH": str(folder)}

    return without
