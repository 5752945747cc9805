"""A study as a user has it: a folder, a configuration, the documented command; and what its runs leave behind."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from patchperf.config import load_config
from patchperf.scratch import scratch_root

ROOT = Path(__file__).resolve().parents[2]
MINI = ROOT / "resources" / "mini"

_JOB = re.compile(r"^local(?:rule|checkpoint) (\w+):\n((?: {4}.*\n)*)", re.MULTILINE)


@dataclass(frozen=True)
class Run:
    """One call of snakemake: its exit code, everything it printed, and its own full log."""

    code: int
    output: str
    log: str

    def jobs(self, rule: str) -> int:
        """How many jobs of a rule were started."""
        return self.started[rule]

    @property
    def started(self) -> Counter[str]:
        """Rules with the number of their jobs that were started."""
        return Counter(rule for rule, _ in _JOB.findall(self.log))

    def instances(self, rule: str) -> list[str]:
        """The instances that jobs of a rule were started for, sorted."""
        told = [
            re.search(r"wildcards: instance=(\S+)", block) for name, block in _JOB.findall(self.log) if name == rule
        ]
        return sorted(match[1] for match in told if match)


@dataclass(frozen=True)
class Study:
    """A folder with a configuration, as a user has it."""

    folder: Path
    config: Path

    def configure(self, settings: Mapping[str, Any]) -> None:
        """Write the configuration."""
        self.config.write_text(yaml.safe_dump(dict(settings)), "utf-8")

    def change(self, **settings: Any) -> None:
        """Replace some settings of the configuration."""
        self.configure(yaml.safe_load(self.config.read_text("utf-8")) | settings)

    def copy(self, folder: Path) -> Study:
        """The same study, as far as it has come, in a folder that does not exist yet."""
        shutil.copytree(self.folder, folder, symlinks=True)
        return Study(folder, folder / self.config.name)

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

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start it in a session of its own; what it prints goes to the file ``console`` in its folder."""
        with self.console.open("ab") as console:
            return subprocess.Popen(
                self.command(*arguments), cwd=ROOT, stdout=console, stderr=console, start_new_session=True
            )

    @property
    def console(self) -> Path:
        """What started runs have printed."""
        return self.folder / "console"

    @property
    def scratch(self) -> Path:
        """Where its jobs have their trees."""
        return scratch_root(load_config(yaml.safe_load(self.config.read_text("utf-8"))), self.folder)

    def result(self, path: str) -> Path:
        """A file below results."""
        return self.folder / "results" / path

    def journals(self) -> dict[str, bytes]:
        """The journals of measurements by instance and case digest."""
        return {
            f"{path.parent.name}/{path.stem}": path.read_bytes() for path in self.result("journal").glob("*/*.jsonl")
        }

    def verdicts(self) -> dict[str, int]:
        """The graders' remembered verdicts with the time (ns) each was written."""
        return {str(path): path.stat().st_mtime_ns for path in self.result("journal/grades").glob("*/*.json")}

    def processes(self) -> dict[int, str]:
        """Living processes that have to do with this folder, sandboxed ones included, with their command lines.

        A sandboxed process does not name the folder in its arguments; its mounts come from the study's scratch folder.
        """
        marks = [str(self.folder).encode(), self.scratch.name.encode()]
        found = {}
        for process in Path("/proc").iterdir():
            if process.name.isdecimal() and int(process.name) != os.getpid():
                told = [_read(process / name) for name in ("cmdline", "environ", "mountinfo")]
                if any(mark in text for mark in marks for text in told):
                    found[int(process.name)] = told[0].replace(b"\0", b" ").decode("utf-8", "replace")
        return found


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def make_study(folder: Path, settings: Mapping[str, Any]) -> Study:
    """A study in a new folder."""
    folder.mkdir(parents=True)
    study = Study(folder, folder / "config.yaml")
    study.configure(settings)
    return study


def mini_settings(**changes: Any) -> dict[str, Any]:
    """The embedded study's settings, with some changed; nothing is counted unless a counter is among them."""
    settings: dict[str, Any] = yaml.safe_load((ROOT / "config" / "config.yaml").read_text("utf-8"))
    return settings | {"counter": "none"} | changes
