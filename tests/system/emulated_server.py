"""A server of cores with two logical CPUs each and control groups of version 2, emulated, with Docker or systemd."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
from consoles import printed_by
from server_machine import make_disk, server_machine

TOOLS = {
    "qemu-system-x86_64": "qemu-system-x86",
    "mmdebstrap": "mmdebstrap",
    "bwrap": "bubblewrap",
    "mke2fs": "e2fsprogs",
}
CORES, CPUS_PER_CORE = 32, 2
MEMORY_GB = 8

Init = Literal["systemd", "own"]

_PROGRAMS = Path(__file__).parent / "servers"
_PROJECT = Path(__file__).parents[2]
_PACKAGES = ("pydantic", "pyyaml", "typer")
_WORK_MB, _SWAP_MB = 600, 512
_SECONDS = 1800
_MASKED = ("getty.target", "systemd-udevd.service", "systemd-udev-trigger.service", "systemd-timesyncd.service")
"""Services of systemd that do nothing here but take a minute."""

_OPTIONS = [
    *("console=ttyS0", "quiet", "loglevel=1", "panic=-1", "apparmor=0"),
    *("no_timer_check", "tsc=reliable", "nowatchdog"),  # or a start fails where this machine is busy
    *(f"systemd.mask={unit}" for unit in _MASKED),
]


def boot(
    scenario: str, init: Init, *, cores: int = CORES, nodes: int = 1, packages: Sequence[str] = ()
) -> dict[str, Any]:
    """Start a server, run one of our programs for it, and turn it off; what the program told, by name.

    The cores belong to so many NUMA nodes, in equal parts. ``packages`` are more Python packages to have there.
    """
    machine = server_machine()
    with tempfile.TemporaryDirectory() as scratch:
        work = make_disk(Path(scratch) / "work.img", _work_folder(Path(scratch) / "work", scenario, packages), _WORK_MB)
        swap = Path(scratch) / "swap.img"
        with swap.open("wb") as file:
            file.truncate(_SWAP_MB << 20)
        told = Path(scratch) / "told"
        disks = [machine / "disk.img", work, swap]
        console = _console(machine / "kernel", machine / f"initramfs-{init}", disks, told, cores=cores, nodes=nodes)
        lines = told.read_text("utf-8", "replace").splitlines() if told.exists() else []
    results = dict(json.loads(line) for line in lines if line.startswith('["'))
    rest = "\n".join(line for line in lines if not line.startswith('["'))
    assert "end" in results, f"the server did not come to its end; it said:\n{rest[-3000:]}\n{console[-2000:]}"
    return results


def _work_folder(folder: Path, scenario: str, packages: Sequence[str]) -> Path:
    """The programs of the server, our package, and the packages that it needs there, for the server's Python."""
    shutil.copytree(_PROGRAMS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "scenario").write_text(scenario)
    shutil.copytree(_PROJECT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    install = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--target", str(folder / "packages")]
    install += ["--python-version", "3.11", "--python-platform", "x86_64-manylinux_2_28"]
    done = subprocess.run(
        [*install, "--constraints", _PROJECT / "requirements.lock", *_PACKAGES, *packages],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        pytest.fail(f"cannot have {', '.join((*_PACKAGES, *packages))} for Python 3.11: {done.stdout}", pytrace=False)
    return folder


def _console(kernel: Path, initramfs: Path, disks: Sequence[Path], told: Path, *, cores: int, nodes: int) -> str:
    """Everything a server printed until it was turned off; what its program told is in the file ``told``."""
    machine = ["-accel", "tcg,thread=multi", "-cpu", "Skylake-Server-v1,vendor=GenuineIntel", "-m", f"{MEMORY_GB}G"]
    cpus = cores * CPUS_PER_CORE
    machine += ["-smp", f"{cpus},sockets=1,cores={cores},threads={CPUS_PER_CORE}"]
    share = cpus // nodes
    for node in range(nodes):
        machine += ["-object", f"memory-backend-ram,id=memory{node},size={MEMORY_GB // nodes}G"]
        machine += ["-numa", f"node,nodeid={node},cpus={node * share}-{(node + 1) * share - 1},memdev=memory{node}"]
    devices = ["-display", "none", "-no-reboot", "-nic", "none", "-serial", "stdio", "-serial", f"file:{told}"]
    devices += [word for disk in disks for word in ("-drive", f"file={disk},if=virtio,format=raw,snapshot=on")]
    system = ["-kernel", kernel, "-initrd", initramfs, "-append", " ".join(_OPTIONS)]
    return printed_by(["qemu-system-x86_64", *machine, *devices, *system], _SECONDS, alive=told)
