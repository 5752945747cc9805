"""A machine with counters of its own, emulated instruction by instruction: what runs in it can be counted."""

from __future__ import annotations

import json
import shutil
import stat
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from consoles import printed_by
from debian_roots import Recipe, made_once
from initramfs import Initramfs

from patchperf.measure.tools import RESULT, write_tools
from patchperf.sandbox.protocol import Completed

TOOLS = {
    "qemu-system-aarch64": "qemu-system-arm",
    "mmdebstrap": "mmdebstrap",
    "aarch64-linux-gnu-g++": "g++-aarch64-linux-gnu",
    "bwrap": "bubblewrap",
    "c++": "g++",
}
PROGRAMS = Path(__file__).parent / "guests"
WITH_COUNTERS, WITHOUT = "cortex-a57", "cortex-a57,pmu=off"

_RECIPE = Recipe("bookworm", "arm64", "extract", ("python3", "linux-image-cloud-arm64", "libstdc++6", "util-linux"))
_KEPT = (
    "lib/ld-*",
    "lib/aarch64-linux-gnu/*",
    "usr/lib/aarch64-linux-gnu/lib*",
    "usr/lib/python3*",
    "usr/bin/python3*",
    "usr/bin/setpriv",
)
_SECONDS = 900
_JOB_SECONDS = 60
"""By the machine's own clock, which stands still while this machine is busy with something else."""

_MARK = "PATCHPERF-GUEST "


@dataclass(frozen=True)
class Job:
    """A command line for the guest, in a folder with our in-process module, its ``spec`` and the guest's programs.

    The guest adds to the spec where results go. ``folders`` are further folders to put there.
    """

    name: str
    argv: tuple[str, ...]
    spec: Mapping[str, Any] = field(default_factory=dict)
    folders: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Done:
    """What came of a job: as a sandbox tells it, and the records of the in-process module."""

    job: Job
    completed: Completed
    results: list[Any]


def boot(processor: str, jobs: Sequence[Job]) -> dict[str, Done]:
    """Start a machine, run jobs one after the other, and turn it off; their outcomes by name."""
    machine = made_once("counting-guest", _RECIPE, _machine)
    with tempfile.TemporaryDirectory() as scratch:
        initramfs = Path(scratch) / "initramfs"
        shutil.copyfile(machine / "base", initramfs)
        with initramfs.open("ab") as file:
            _add_jobs(Initramfs(file), jobs, Path(scratch))
        console = _console(processor, machine / "kernel", initramfs)
    told = dict(_told(console))
    missing = [job.name for job in jobs if job.name not in told]
    assert not missing, f"the guest did not run {', '.join(missing)}; its last words:\n{console[-3000:]}"
    return {job.name: Done(job, *told[job.name]) for job in jobs}


def _machine(tar: Path, folder: Path) -> None:
    with tarfile.open(tar) as archive, (folder / "base").open("wb") as file:
        base = Initramfs(file)
        base.add_console()
        for member in archive:
            name = member.name.removeprefix("./")
            if fnmatch(name, "boot/vmlinuz-*") and (kernel := archive.extractfile(member)) is not None:
                (folder / "kernel").write_bytes(kernel.read())
            elif member.isdir() or any(fnmatch(name, kept) for kept in _KEPT):
                base.add_member(archive, member)
        base.end()


def _add_jobs(archive: Initramfs, jobs: Sequence[Job], scratch: Path) -> None:
    archive.add("init", stat.S_IFREG | 0o755, (PROGRAMS / "init.py").read_bytes())
    archive.add("jobs", stat.S_IFDIR | 0o755)
    listed = [{"name": job.name, "argv": job.argv, "seconds": _JOB_SECONDS} for job in jobs]
    archive.add("jobs.json", stat.S_IFREG | 0o644, json.dumps(listed).encode())
    for job in jobs:
        folder = scratch / "jobs" / job.name
        write_tools(folder, {"out": f"/jobs/{job.name}/{RESULT}", **job.spec})
        shutil.copytree(PROGRAMS, folder, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
        for given in job.folders:
            shutil.copytree(given, folder / given.name)
        archive.add_folder(f"jobs/{job.name}", folder)
    archive.end()


def _console(processor: str, kernel: Path, initramfs: Path) -> str:
    """Everything a machine printed until it was turned off. Its counters are exact at one instruction per tick."""
    machine = f"-M virt,gic-version=3 -cpu {processor} -accel tcg -icount shift=1,sleep=off -m 1024".split()
    devices = ["-nographic", "-no-reboot", "-nic", "none"]
    system = ("-kernel", kernel, "-initrd", initramfs, "-append", "console=ttyAMA0 quiet loglevel=1 panic=-1")
    return printed_by(["qemu-system-aarch64", *machine, *devices, *system], _SECONDS)


def _told(console: str) -> Iterator[tuple[str, tuple[Completed, list[Any]]]]:
    for line in console.splitlines():
        if line.startswith(_MARK):
            told = json.loads(line.removeprefix(_MARK))
            completed = Completed(told["exit_code"], told["ended"], told["output"], told["seconds"])
            yield told["name"], (completed, [json.loads(record) for record in told["records"]])
