"""Bundled tools in the root of an older distribution, untouched: what runs under them there is its own Python."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from debian_packages import need
from debian_roots import Recipe, made_once, unpacked
from replicates import WARMUP, instructions, judged, replicate_spec

from patchperf.counters.bundle import bundle, starting
from patchperf.counters.preflight import COUNTERS
from patchperf.counters.protocol import Backend, Simulator
from patchperf.measure.tools import RESULT, read_results, write_tools
from patchperf.sandbox.protocol import Completed
from patchperf.study.trace import WindowProblem, read_window, strace_command

OLDER = Recipe("bullseye", "amd64", "essential", ("python3",))
TOOLS = {
    "mmdebstrap": "mmdebstrap",
    "bwrap": "bubblewrap",
    "strace": "strace",
    "qemu-x86_64": "qemu-user",
    "cc": "gcc libc6-dev",
    "valgrind": "valgrind",
}
BUNDLED = ("strace", "qemu", "valgrind", "callgrind")
REPETITIONS = 200
NONCE = "0123456789abcdef" * 2
LOOP = "for _ in range(250): pass"
"""Makes no object, whose memory would lie elsewhere in each process and cost more or less."""

OPEN = "open('/etc/debian_version').close()"


@pytest.fixture(scope="module")
def root() -> Path:
    """A Debian release of some years ago with its own Python."""
    need(TOOLS)
    return made_once("older-root", OLDER, unpacked)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where bundles are made."""
    return tmp_path_factory.mktemp("bundles")


class Inside:
    """Runs commands in a read-only root that shows nothing of this machine but a bundle, our tools and the results.

    The bundle is read-only too and has its own name there.
    """

    tools, out = "/mnt/tools", "/mnt/out"

    def __init__(self, root: Path, scratch: Path) -> None:
        self._root = root
        self._tools, self.results = scratch / "tools", scratch / "out"
        self.results.mkdir()

    def measure(
        self, body: str, spec: Mapping[str, Any], words: tuple[str, ...], bundled: Path, **variables: str
    ) -> Completed:
        """The root's Python with our in-process module and a body of one line; ``words`` stand before it."""
        write_tools(self._tools, {"out": f"{self.out}/{RESULT}", **spec})
        source = f"import patchperf_inprocess\n@patchperf_inprocess.measured\ndef body():\n    {body}\nbody()\n"
        (self._tools / "body.py").write_text(source)
        return self.run((*words, "/usr/bin/python3", f"{self.tools}/body.py"), bundled, **variables)

    def run(self, argv: tuple[str, ...], bundled: Path, **variables: str) -> Completed:
        """One command; what it prints is its output."""
        self._tools.mkdir(exist_ok=True)
        mounts: list[str | Path] = ["--ro-bind", self._root, "/", "--proc", "/proc", "--dev", "/dev"]
        for place in ("/mnt", "/tmp", Path(*bundled.parts[:2])):
            mounts += ["--tmpfs", place]
        for kind, source, target in (
            ("--ro-bind", bundled, bundled),
            ("--ro-bind", self._tools, self.tools),
            ("--bind", self.results, self.out),
        ):
            mounts += [kind, source, target]
        environment = {"PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "0", **variables}
        settings = [word for name, value in environment.items() for word in ("--setenv", name, value)]
        started = time.monotonic()
        done = subprocess.run(
            ["bwrap", "--unshare-all", "--die-with-parent", *mounts, "--clearenv", *settings, *argv],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        return Completed(done.returncode, "exit", done.stdout, time.monotonic() - started)


@pytest.fixture
def inside(root: Path, tmp_path: Path) -> Inside:
    return Inside(root, tmp_path)


def test_the_root_has_an_older_python_and_none_of_the_tools(root, inside, tmp_path):
    done = inside.run(("/usr/bin/python3", "-c", "import sys; print(sys.version_info >= (3, 10))"), tmp_path)
    assert (done.exit_code, done.output) == (0, "False\n")
    found = [path for path in root.rglob("*") if path.is_file() and path.name.startswith(BUNDLED)]
    assert found == []


def test_strace_writes_the_probed_call_between_both_markers(inside, cache):
    program, *options = strace_command(f"{inside.out}/trace")
    folder = bundle(cache, program, [Path(shutil.which(program) or "")])
    spec = {"mode": "probe", "warmup": WARMUP, "marker": NONCE}
    done = inside.measure(OPEN, spec, (*starting(folder, program), *options), folder)
    assert done.exit_code == 0, done.output
    (record,) = read_results(inside.results / RESULT)
    assert record["failed"] is None
    window = read_window(inside.results / "trace", NONCE)
    assert not isinstance(window, WindowProblem), window
    opened, _ = window.deciding[0]
    assert (opened.name, "/etc/debian_version" in opened.arguments) == ("openat", True)


@pytest.fixture(scope="module")
def counts(root: Path, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[Backend, list[int]]:
    """Instructions by simulator, of replicates with REPETITIONS, twice and four times as many."""
    found: dict[Backend, list[int]] = {"qemu": [], "callgrind": []}
    for backend, values in found.items():
        simulator = COUNTERS[backend]
        assert isinstance(simulator, Simulator)
        folder = simulator.prepare(cache, Path(sys.executable))
        for factor in (1, 2, 4):
            inside = Inside(root, tmp_path_factory.mktemp(backend))
            spec = replicate_spec(f"{backend} {factor}", factor * REPETITIONS, backend)
            done = inside.measure(LOOP, spec, simulator.words(folder, inside.out, 0), folder, **simulator.environment)
            regions = simulator.regions(inside.results)
            assert len(regions) == 3
            values.append(instructions(*judged(spec, done, read_results(inside.results / RESULT), regions)))
    return found


@pytest.mark.parametrize("backend", ["qemu", "callgrind"])
def test_simulators_count_in_proportion_to_the_repetitions(counts, backend):
    once, twice, four_times = counts[backend]
    assert once > REPETITIONS * 250
    assert (four_times - twice) / (twice - once) == pytest.approx(2, rel=1e-4)


def test_simulators_agree_on_an_older_python(counts):
    assert counts["qemu"] == pytest.approx(counts["callgrind"], rel=1e-4)
