"""Which sandbox a machine gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from patchperf.config import SandboxSettings
from patchperf.errors import MachineError
from patchperf.sandbox import local
from patchperf.sandbox.namespaces import Namespaces
from patchperf.sandbox.processes import Processes

REQUIRED = SandboxSettings(confinement="required")
BEST_EFFORT = SandboxSettings(confinement="best-effort")


def fake_bwrap(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir()
    program = folder / "bwrap"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


def test_a_machine_with_namespaces_gets_them_whatever_is_asked(tmp_path: Path) -> None:
    for settings in (REQUIRED, BEST_EFFORT):
        sandbox = local.local_sandbox(settings, tmp_path)
        assert isinstance(sandbox, Namespaces)
        assert sandbox.confinement in local.DESCRIPTIONS
        assert sandbox.reason == ""


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (None, "bwrap is not installed"),
        ("echo 'bwrap: No permissions to create new namespace' >&2; exit 1", "No permissions to create new namespace"),
        ("exit 1", "no message"),
    ],
)
def test_where_namespaces_are_refused_it_is_one_line_or_processes_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None, why: str
) -> None:
    if script is None:
        monkeypatch.setenv("PATH", str(tmp_path))
    else:
        fake_bwrap(tmp_path / "bin", script, monkeypatch)
    with pytest.raises(MachineError) as raised:
        local.local_sandbox(REQUIRED, tmp_path / "work")
    for part in (why, "bubblewrap", "user namespaces", "sandbox.confinement to best-effort"):
        assert part in str(raised.value)
    assert "\n" not in str(raised.value)
    sandbox = local.local_sandbox(BEST_EFFORT, tmp_path / "work")
    assert isinstance(sandbox, Processes)
    assert why in sandbox.reason
    assert sandbox.confinement in local.DESCRIPTIONS
    assert "no isolation" in local.DESCRIPTIONS[sandbox.confinement]


def test_a_bwrap_that_makes_no_namespaces_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_bwrap(tmp_path / "bin", 'while [ "$1" != -- ]; do shift || exit; done; shift; "$@"; exit', monkeypatch)
    monkeypatch.setattr("patchperf.sandbox.namespaces.HOME", str(tmp_path))
    with pytest.raises(MachineError, match=r"own user, net, pid, ipc, uts, mnt namespace"):
        local.local_sandbox(REQUIRED, tmp_path / "work")
