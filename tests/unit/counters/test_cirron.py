from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

import pytest

from patchperf.counters import cirron
from patchperf.counters.preflight import on_host
from patchperf.errors import MachineError


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    cirron.prepare(folder, Path(sys.executable))
    return folder


def test_the_prepared_folder_holds_cirron_alone_with_its_library_compiled(cache):
    folder = cirron.prepare(cache, Path(sys.executable))
    assert folder == cache / "cirron-0.4"
    library = ctypes.CDLL(str(folder / "cirron" / "cirronlib.so"))
    assert library.start
    assert library.end
    assert not (folder / "pkg_resources").exists()


def test_it_is_prepared_once(cache, monkeypatch):
    monkeypatch.setattr(cirron, "find_uv_bin", lambda: pytest.fail("installed again"))
    cirron.prepare(cache, Path(sys.executable))


def test_cirron_really_counts_or_says_that_it_does_not(cache):
    """Its Collector reports a missing event by an exception; a machine with a PMU counts."""
    problem = on_host(cache, Path(sys.executable))("cirron")
    assert problem is None or problem.startswith("counter-unreadable: Exception: Failed to start collector")


def test_without_a_compiler_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MachineError, match=r"c\+\+, which is not installed"):
        cirron.prepare(tmp_path, Path(sys.executable))


def test_a_failing_installation_leaves_nothing_that_looks_prepared(tmp_path, monkeypatch):
    monkeypatch.setattr(cirron, "find_uv_bin", lambda: "false")
    with pytest.raises(MachineError, match="cannot install cirron"):
        cirron.prepare(tmp_path, Path(sys.executable))
    assert [path.name for path in tmp_path.iterdir()] == ["cirron-0.4.lock"]


def test_a_failing_compilation_leaves_nothing_that_looks_prepared(tmp_path, monkeypatch):
    compiler = tmp_path / "bin" / "c++"
    compiler.parent.mkdir()
    compiler.write_text("#!/bin/sh\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("PATH", f"{compiler.parent}:{os.environ['PATH']}")
    with pytest.raises(MachineError, match=r"cannot compile cirron's library .*Failed to compile cirronlib\.cpp"):
        cirron.prepare(tmp_path / "cache", Path(sys.executable))
    assert not (tmp_path / "cache" / "cirron-0.4").exists()
