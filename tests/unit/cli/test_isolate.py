from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from patchperf.cli import isolate
from patchperf.cli.main import app

REASON = "only root may partition the machine: run as root"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["isolate", *arguments])


@pytest.fixture
def obstacle(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that cannot be partitioned, whatever this one is."""
    monkeypatch.setattr(isolate, "problem", lambda _: REASON)
    monkeypatch.setattr(isolate, "read_state", lambda: None)


@pytest.mark.usefixtures("obstacle")
@pytest.mark.parametrize("command", ["up", "down"])
def test_what_keeps_a_machine_from_being_partitioned_is_one_line(command: str):
    done = run(command)
    assert (done.exit_code, done.stdout, done.stderr) == (1, "", f"error: {REASON}\n")


@pytest.mark.usefixtures("obstacle")
def test_status_tells_it_too_with_an_exit_code_of_its_own():
    done = run("status")
    assert (done.exit_code, done.stdout) == (3, f"level none: no partitions are up\nthey cannot be: {REASON}\n")


@pytest.mark.usefixtures("obstacle")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("isolation: affinity\n", "isolation.level is affinity: set it to partition, or leave --configfile out"),
        (
            "isolation: {level: partition, partition: both}\n",
            "key isolation.partition = 'both': expected 'isolated' or",
        ),
        ("[1, 2]\n", "expected keys and values"),
    ],
)
def test_a_configuration_that_asks_for_no_partitions_is_refused(tmp_path: Path, text: str, problem: str):
    file = tmp_path / "study.yaml"
    file.write_text(text)
    done = run("status", "--configfile", str(file))
    assert done.exit_code == 1
    assert done.stderr.startswith(f"error: {file}: {problem}")


@pytest.mark.usefixtures("obstacle")
def test_a_configuration_that_is_not_there_is_named(tmp_path: Path):
    done = run("up", "--configfile", str(tmp_path / "none.yaml"))
    assert (done.exit_code, done.stderr) == (1, f"error: {tmp_path}/none.yaml: No such file or directory\n")
