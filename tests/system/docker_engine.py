"""A Docker engine of the tests' own, in a folder of its own, that is gone with all it started when they end."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import docker
import pytest
from debian_packages import need

TOOLS = {
    "mmdebstrap": "mmdebstrap",
    "dockerd": "docker.io",
    "containerd": "containerd",
    "setpriv": "util-linux",
    "strace": "strace",
}
START_SECONDS = 120


@contextlib.contextmanager
def running_engine() -> Iterator[str]:
    """The address of an engine that runs as long as the context."""
    need(TOOLS)
    groups = _groups("docker")
    if os.geteuid() != 0:
        pytest.fail("a Docker engine of its own can be started by root only: run the system tests as root")
    home = Path(tempfile.mkdtemp(prefix="patchperf-engine-"))
    address = f"unix://{home}/docker.sock"
    argv = [
        "setpriv", "--pdeathsig", "TERM", "dockerd", "--data-root", str(home / "data"),
        "--exec-root", str(home / "exec"), "--pidfile", str(home / "pid"), "--host", address, "--bridge", "none",
        "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false",
    ]  # fmt: skip
    with (home / "log").open("wb") as log, subprocess.Popen(argv, stdout=log, stderr=log) as engine:
        try:
            _await(address, engine, home / "log")
            yield address
        finally:
            _stop(engine, home)
            remove_groups(_groups("docker") - groups)


def _await(address: str, engine: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and engine.poll() is None:
        with contextlib.suppress(docker.errors.DockerException, OSError):
            client = docker.DockerClient(address, timeout=10)
            client.ping()
            client.close()
            return
        time.sleep(0.2)
    pytest.fail(f"dockerd did not start: {log.read_text('utf-8', 'replace')[-2000:]}", pytrace=False)


def _stop(engine: subprocess.Popen[bytes], home: Path) -> None:
    """End the engine with its containers, and remove all it has left: processes, mounts, files."""
    engine.terminate()
    try:
        engine.wait(120)
    except subprocess.TimeoutExpired:
        engine.kill()
    deadline = time.monotonic() + 60
    while (left := _processes_of(home)) and time.monotonic() < deadline:
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.2)
    mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    for mount in sorted((one for one in mounts if Path(one).is_relative_to(home)), reverse=True):
        subprocess.run(["umount", "--lazy", mount], check=False)
    shutil.rmtree(home)
    assert left == []


def _groups(name: str) -> set[Path]:
    """The control groups of a name in all hierarchies."""
    return {*Path("/sys/fs/cgroup").glob(name), *Path("/sys/fs/cgroup").glob(f"*/{name}")}


def remove_groups(groups: Iterable[Path]) -> None:
    """Remove empty control groups that an engine has left."""
    for group in groups:
        for folder in (*sorted((path for path in group.rglob("*") if path.is_dir()), reverse=True), group):
            with contextlib.suppress(FileNotFoundError):
                folder.rmdir()


@contextlib.contextmanager
def own_group() -> Iterator[str]:
    """A name of a control group for an engine to make, that is gone afterwards."""
    name = f"patchperf-test-{os.getpid()}"
    try:
        yield name
    finally:
        remove_groups(_groups(name))


def _processes_of(home: Path) -> list[int]:
    """The processes whose command line names the engine's folder: the engine, its containerd and shims."""
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdecimal() and int(process.name) != os.getpid():
            with contextlib.suppress(OSError):
                if os.fsencode(home) in (process / "cmdline").read_bytes():
                    found.append(int(process.name))
    return found


def import_image(client: docker.DockerClient, tar: Path, name: str) -> str:
    """An image from a root file system, under a name; its id."""
    repository, _, tag = name.partition(":")
    client.api.import_image_from_file(str(tar), repository=repository, tag=tag)
    return str(client.images.get(name).id)
