"""The machine's control groups, version 2, and in one line why partitions cannot be had where they cannot."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from patchperf.errors import MachineError

ROOT = Path("/sys/fs/cgroup")
CONTROLLERS = ("cpuset", "memory", "pids")
"""What partitions and the limits in them need."""

_KERNEL_THREAD = 0x00200000
"""PF_KTHREAD of the kernel's include/linux/sched.h, in the ninth field of /proc/PID/stat."""

_UNIFIED = (
    "boot with systemd.unified_cgroup_hierarchy=1 (systemd) or cgroup_no_v1=all and mount cgroup2 on /sys/fs/cgroup"
)


@dataclass(frozen=True)
class Tree:
    """The hierarchy mounted on a folder. Groups are named by their path below it, "" being the root of the machine."""

    root: Path = ROOT

    def read(self, group: str, file: str) -> str:
        """What a file of a group says, without the newline; raises OSError."""
        return (self.root / group / file).read_text("ascii").strip()

    def write(self, group: str, file: str, text: str) -> None:
        """Write a file of a group; raises MachineError that names it where the kernel refuses."""
        try:
            (self.root / group / file).write_text(f"{text}\n", "ascii")
        except OSError as error:
            raise MachineError(f"{self.root / group / file}: cannot write {text!r}: {error.strerror}") from None

    def exists(self, group: str, file: str = "") -> bool:
        """Whether there is a group, or a file of it."""
        return (self.root / group / file).exists()

    def make(self, group: str) -> None:
        """Make a group; raises MachineError where the kernel refuses."""
        try:
            (self.root / group).mkdir()
        except OSError as error:
            raise MachineError(f"{self.root / group}: the control group cannot be made: {error.strerror}") from None

    def children(self, group: str) -> tuple[str, ...]:
        """The groups directly below one, by name."""
        folder = self.root / group
        return tuple(sorted(str(one.relative_to(self.root)) for one in folder.iterdir() if one.is_dir()))

    def processes(self, group: str) -> tuple[int, ...]:
        """The processes in a group itself; 0 stands for those of other pid namespaces."""
        return tuple(map(int, self.read(group, "cgroup.procs").split()))

    def controllers(self, group: str) -> frozenset[str]:
        """What a group hands to its children."""
        return frozenset(self.read(group, "cgroup.subtree_control").split())

    def move(self, process: int, group: str) -> bool:
        """Move a process with all its threads; whether it could be done (it may have ended, or be the kernel's)."""
        try:
            (self.root / group / "cgroup.procs").write_text(f"{process}\n", "ascii")
        except OSError:
            return False
        return True


@dataclass(frozen=True)
class Facts:
    """What decides whether this machine can be partitioned by this process.

    ``mount`` is the kind and the options of the file system on /sys/fs/cgroup (empty: none); ``whole`` tells that its
    root is that of the machine and not a container's; ``controllers`` are those that this root has.
    """

    user: int
    mount: tuple[str, ...]
    whole: bool
    controllers: frozenset[str]


def facts(root: Path = ROOT) -> Facts:
    """The facts of this machine."""
    mount = _mount(Path("/proc/self/mountinfo").read_text(), str(root))
    controllers = ""
    with suppress(OSError):
        controllers = (root / "cgroup.controllers").read_text("ascii")
    return Facts(os.geteuid(), mount, not (root / "cgroup.type").exists(), frozenset(controllers.split()))


def problem(found: Facts) -> str | None:
    """Why partitions cannot be had, and what to do; None if they can, as far as one can tell without trying."""
    kind, options = (found.mount[0], found.mount[1:]) if found.mount else ("", ())
    missing = ", ".join(name for name in CONTROLLERS if name not in found.controllers)
    obstacles = {
        f"this machine has control groups of version 1 (/sys/fs/cgroup is {kind}): {_UNIFIED}": kind
        in ("tmpfs", "cgroup"),
        "no control groups of version 2 are mounted on /sys/fs/cgroup: mount -t cgroup2 none /sys/fs/cgroup": kind
        != "cgroup2",
        "/sys/fs/cgroup is that of a container, which cannot take CPUs from the machine: run patchperf outside of it, "
        "or give it the machine's (--privileged --pid=host --cgroupns=host)": not found.whole,
        f"control groups of version 2 lack {missing}, which version 1 or the kernel's command line has taken: "
        f"{_UNIFIED}": bool(missing),
        "/sys/fs/cgroup is mounted read-only, as containers have it: run patchperf outside of the container": "ro"
        in options,
        "only root may partition the machine: run as root": found.user != 0,
    }
    return next((said for said, holds in obstacles.items() if holds), None)


def is_kernel_thread(process: int) -> bool:
    """Whether a process is one of the kernel's own, or has ended; not where it cannot be seen (0)."""
    if process == 0:
        return False
    try:
        text = Path(f"/proc/{process}/stat").read_text("ascii", "replace")
    except OSError:
        return True
    return bool(int(text.rpartition(")")[2].split()[6]) & _KERNEL_THREAD)


def groups_of(names: Iterable[str], proc: Path = Path("/proc")) -> dict[int, str]:
    """The groups of the processes of some names, by process."""
    wanted = frozenset(names)
    found = {}
    for process in proc.iterdir():
        if process.name.isdecimal():
            with suppress(OSError):
                if (process / "comm").read_text().strip() in wanted:
                    found[int(process.name)] = group_in((process / "cgroup").read_text())
    return found


def group_in(cgroup: str) -> str:
    """The group of version 2 that /proc/PID/cgroup tells, by its path below the root."""
    return next((line[3:].strip("/") for line in cgroup.splitlines() if line.startswith("0::")), "")


def _mount(mountinfo: str, folder: str) -> tuple[str, ...]:
    """Kind and options of what is mounted last on a folder; empty if nothing is."""
    found: tuple[str, ...] = ()
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        place, options = before.split()[4:6]
        if re.sub(r"\\040", " ", place) == folder:
            kind, _, of_file_system = after.split(maxsplit=2)
            found = (kind, *options.split(","), *of_file_system.split(","))
    return found
