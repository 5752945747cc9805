"""Bundled tools run where nothing of this machine is: in a root that holds a copied Python and the bundles alone."""

from __future__ import annotations

import itertools
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from patchperf.counters.bundle import bundle, licences, starting
from patchperf.counters.preflight import COUNTERS, judge
from patchperf.counters.programs import elf_interpreter
from patchperf.counters.protocol import INPROCESS, Count, Simulator
from patchperf.errors import MachineError

STRACE = shutil.which("strace")
BWRAP = shutil.which("bwrap")


def test_equal_files_are_bundled_once(tmp_path):
    program = Path(shutil.which("true") or "")
    first = bundle(tmp_path, "tool", [program])
    stamp = (first / "bin" / "true").stat().st_ino
    assert bundle(tmp_path, "tool", [program]) == first
    assert (first / "bin" / "true").stat().st_ino == stamp
    assert sorted(path.name for path in tmp_path.iterdir()) == [first.name, "tool.lock"]


def test_a_bundled_program_needs_its_bundle_only(tmp_path):
    folder = bundle(tmp_path, "tool", [Path(shutil.which("true") or "")])
    words = starting(folder, "true")
    assert subprocess.run(words, env={}, check=False).returncode == 0
    assert {Path(word).is_relative_to(folder) for word in words if word.startswith("/")} == {True}


def test_other_files_are_another_bundle(tmp_path):
    extra = tmp_path / "extra"
    extra.write_text("one")
    first = bundle(tmp_path, "tool", [], [extra])
    extra.write_text("two")
    second = bundle(tmp_path, "tool", [], [extra])
    assert first != second
    assert (first / "bin" / "extra").read_text() == "one"


def test_a_missing_program_is_named(tmp_path):
    with pytest.raises(MachineError, match=r"^cannot bundle tool: /no/such is not installed$"):
        bundle(tmp_path, "tool", [Path("/no/such")])


@pytest.mark.skipif(shutil.which("dpkg") is None, reason="packages are known from dpkg only")
@pytest.mark.skipif(STRACE is None, reason="strace is not installed")
def test_whose_files_are_bundled_and_under_which_licences_is_listed(tmp_path):
    folder = bundle(tmp_path, "strace", [Path(STRACE or "")])
    known = {entry.package.partition(":")[0]: entry for entry in licences(folder)}
    assert any(name.startswith("LGPL-2.1") for name in known["strace"].licences)
    assert known["strace"].files == ("bin/strace",)
    assert "lib/libc.so.6" in known["libc6"].files
    for entry in known.values():
        assert entry.version
        assert "copyright" in (folder / str(entry.copyright)).read_text().lower()
    listed = {name for entry in known.values() for name in entry.files}
    assert listed == {str(file.relative_to(folder)) for part in ("bin", "lib") for file in (folder / part).iterdir()}


def python_root(root: Path) -> Path:
    """A root file system with this Python, the libraries it needs, a shell and env, and no other file."""
    prefix, home = Path(sys.base_prefix), Path(sys.executable).resolve()
    programs = [home, Path("/bin/sh").resolve(), Path(shutil.which("env") or "")]
    extensions = [prefix.glob(f"lib/python3*/lib-dynload/{name}.*.so") for name in ("_ctypes", "zlib")]
    libraries = [*prefix.glob("lib/lib*.so*"), *itertools.chain(*extensions)]
    needed = {found for path in [*programs, *libraries] for found in linked(path)}
    for path in [*programs, *libraries, *needed]:
        target = root / path.relative_to("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            shutil.copy(path, target)
    for name, program in (("bin/sh", programs[1]), ("usr/bin/env", programs[2])):
        target = root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            shutil.copy(program, target)
    library = next(prefix.glob("lib/python3*/os.py")).parent
    skipped = shutil.ignore_patterns("test", "site-packages", "idlelib", "__pycache__", "ensurepip", "config-*")
    shutil.copytree(library, root / library.relative_to("/"), ignore=skipped, dirs_exist_ok=True)
    return home


def linked(path: Path) -> set[Path]:
    told = subprocess.run(["ldd", path], capture_output=True, text=True, check=False).stdout.split()
    loader = elf_interpreter(path)
    return {Path(word) for word in told if word.startswith("/")} | ({loader} if loader else set())


@pytest.fixture(scope="module")
def inside(tmp_path_factory):
    """Runs words in the small root, with a folder of tools read-only and a folder to write to."""
    if BWRAP is None:
        pytest.skip("bubblewrap is not installed")
    root = tmp_path_factory.mktemp("root")
    python = python_root(root)
    for folder in ("proc", "dev", "tmp", "tools", "out"):
        (root / folder).mkdir()

    def run(words: list[str], tools: Path, out: Path) -> subprocess.CompletedProcess[str]:
        mounts = [
            "--ro-bind",
            root,
            "/",
            "--tmpfs",
            "/tmp",
            "--ro-bind",
            tools,
            tools,
            "--bind",
            out,
            "/out",
            "--proc",
            "/proc",
        ]
        mounts += ["--ro-bind", INPROCESS.parent, "/tools", "--dev", "/dev"]
        argv = [BWRAP, "--unshare-all", *mounts, "--clearenv", *words]
        return subprocess.run(argv, capture_output=True, text=True, check=False)

    return run, str(python)


@pytest.mark.skipif(STRACE is None, reason="strace is not installed")
def test_strace_runs_in_a_root_without_this_machines_libraries(inside, tools_cache, tmp_path):
    run, python = inside
    folder = bundle(tools_cache, "strace", [Path(STRACE or "")])
    done = run([*starting(folder, "strace"), "-f", "-o", "/out/trace", python, "-c", "print(6 * 7)"], folder, tmp_path)
    assert (done.stdout, done.returncode) == ("42\n", 0)
    assert 'write(1, "42\\n", 3)' in (tmp_path / "trace").read_text()


@pytest.mark.parametrize("backend", ["qemu", "callgrind"])
def test_simulators_count_in_a_root_without_this_machines_libraries(inside, emulate, tmp_path, backend):
    run, python = inside
    simulator, folder = COUNTERS[backend], emulate(backend).folder
    assert isinstance(simulator, Simulator)
    words = [*simulator.words(folder, "/out", 0), python, f"/tools/{INPROCESS.name}", backend]
    done = run(words, folder, tmp_path)
    assert done.returncode == 0, done.stderr
    counts = [
        Count(backend=simulator.backend, value=region.instructions, time_enabled_ns=None, time_running_ns=None,
              events=0, problem=None)
        for region in simulator.regions(tmp_path)
    ]  # fmt: skip
    assert judge(simulator, *counts) is None
