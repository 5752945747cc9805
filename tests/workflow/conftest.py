"""Running the real workflow on a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
MINI = ROOT / "resources" / "mini"


@dataclass(frozen=True)
class Run:
    """One call of snakemake: its exit code, everything it printed, and its own full log."""

    code: int
    output: str
    log: str

    def jobs(self, rule: str) -> int:
        """How many jobs of a rule were started."""
        return sum(line.strip() in (f"localrule {rule}:", f"localcheckpoint {rule}:") for line in self.log.splitlines())


@dataclass(frozen=True)
class Study:
    """A folder with a configuration, as a user has it."""

    folder: Path
    config: Path

    def configure(self, settings: Mapping[str, Any]) -> None:
        """Write the configuration."""
        self.config.write_text(yaml.safe_dump(dict(settings)), "utf-8")

    def command(self, *arguments: str) -> list[str]:
        """The documented command line."""
        return [
            sys.executable, "-m", "snakemake", "--cores", "2", "--snakefile", str(ROOT / "Snakefile"),
            "--configfile", str(self.config), "--directory", str(self.folder), *arguments,
        ]  # fmt: skip

    def snakemake(self, *arguments: str, environment: Mapping[str, str] | None = None) -> Run:
        """Run it to its end."""
        done = subprocess.run(
            self.command(*arguments),
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, **(environment or {})},
            check=False,
        )
        logs = sorted(self.folder.glob(".snakemake/log/*.log"))
        return Run(done.returncode, done.stdout, logs[-1].read_text("utf-8") if logs else "")

    def result(self, path: str) -> Path:
        """A file below results."""
        return self.folder / "results" / path


@pytest.fixture
def new_study(tmp_path: Path) -> Callable[..., Study]:
    """Makes a study in an empty folder from settings."""

    def make(settings: Mapping[str, Any], name: str = "study") -> Study:
        folder = tmp_path / name
        folder.mkdir()
        study = Study(folder, folder / "config.yaml")
        study.configure(settings)
        return study

    return make


def mini_settings(**changes: Any) -> dict[str, Any]:
    """The embedded study's settings, with some changed."""
    settings: dict[str, Any] = yaml.safe_load((ROOT / "config" / "config.yaml").read_text("utf-8"))
    return settings | changes


@pytest.fixture
def tool_missing(tmp_path: Path) -> Callable[[str], dict[str, str]]:
    """An environment whose PATH has every program but one."""

    def without(tool: str) -> dict[str, str]:
        folder = tmp_path / f"without-{tool}"
        folder.mkdir()
        for place in os.environ["PATH"].split(os.pathsep):
            for program in Path(place).glob("*") if Path(place).is_dir() else ():
                link = folder / program.name
                if program.name != tool and not link.exists():
                    link.symlink_to(program)
        return {"PATH": str(folder)}

    return without
