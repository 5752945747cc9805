"""Leases of core groups: a group is measured on by one job of the machine at a time, whatever ends when.

A lease is a locked file in a folder that everyone on the machine shares. The kernel holds the lock as long as any
process has the descriptor, so a job that gets it as its standard input keeps the lease until its last process ends,
even if whoever started it is killed. (Standard input, as nothing else is handed on by all that runs a job: Snakemake
and Python close other descriptors in their children.)

A file is named after the CPUs in use, and groups with a core in common exclude each other under any name, so that
workflows with groups of different sizes can share a machine. The files stay: if one were removed, two jobs could hold
the lock of one name.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from patchperf.errors import MachineError
from patchperf.isolation.plan import Group, Level, Plan, group_of
from patchperf.isolation.topology import Topology, format_cpus, parse_cpus

LEASE = "PATCHPERF_LEASE"
LEVEL = "PATCHPERF_ISOLATION"
LOCK_FOLDER = "PATCHPERF_LOCK_FOLDER"
"""Variables of a job: its lease as ``<group>:<descriptor>``, what is promised about the group, where the locks are."""

MACHINE_FOLDER = Path("/run/lock/patchperf")
POLL_SECONDS = 0.1
TELL_SECONDS = 60.0
STANDARD_INPUT = 0

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Lease:
    """The right to measure on a group, until the last descriptor of its lock is closed.

    ``level`` is what is promised about the group, which may be less than was asked for.
    """

    group: Group
    level: Level
    file: Path
    descriptor: int

    @property
    def variables(self) -> dict[str, str]:
        """The environment of a job that has the lease as its standard input."""
        return {
            LEASE: f"{self.group.index}:{STANDARD_INPUT}",
            LEVEL: self.level,
            LOCK_FOLDER: str(self.file.parent),
        }

    def release(self) -> None:
        """Close this process's descriptor; the lease ends when no other process has one."""
        os.close(self.descriptor)


def lock_folder() -> Path:
    """The machine's folder of leases: what PATCHPERF_LOCK_FOLDER names, else /run/lock/patchperf, else the user's own.

    The user's own (in XDG_RUNTIME_DIR) keeps only the workflows of one user apart. Raises MachineError where none of
    them can be used.
    """
    given = os.environ.get(LOCK_FOLDER)
    own = os.environ.get("XDG_RUNTIME_DIR")
    usual = [MACHINE_FOLDER, *([Path(own, "patchperf")] if own else [])]
    places = [Path(given).absolute()] if given else usual
    problems = []
    for place in places:
        try:
            _make_folder(place)
        except OSError as error:
            problems.append(f"{place}: {error.strerror}")
        else:
            return place
    raise MachineError(
        f"no folder for the leases of core groups: {'; '.join(problems)}: make {places[0]} writable for all who "
        f"measure here (mode 1777), or name another folder in {LOCK_FOLDER}"
    )


def try_lease(plan: Plan, folder: Path) -> Lease | None:
    """A lease of the first free group of a plan; None where all are leased."""
    for group in plan.groups:
        file = folder / _name(group)
        descriptor = _open(file)
        if _lock(descriptor) and not any(map(_is_locked, _overlapping(folder, group))):
            return Lease(group, plan.level, file, descriptor)
        os.close(descriptor)
    return None


def wait_for_lease(plan: Plan, folder: Path, tell: Tell, pause: Callable[[float], object] = time.sleep) -> Lease:
    """A lease as soon as a group is free; ``tell`` hears of a wait when it begins and once a minute.

    There is no queue: of several who wait, any may be next. ``pause`` waits for some seconds, and may raise to give up.
    """
    told = -TELL_SECONDS
    while (lease := try_lease(plan, folder)) is None:
        if time.monotonic() - told >= TELL_SECONDS:
            told = time.monotonic()
            tell(_waiting(plan, folder))
        pause(POLL_SECONDS)
    return lease


def inherited(topology: Topology, environ: Mapping[str, str] | None = None) -> Lease | None:
    """The lease that this job was started with; None if it was started without one.

    Raises MachineError if what it was told is not so: the descriptor has to be that of a lock in the folder of leases,
    and hold it.
    """
    variables = os.environ if environ is None else environ
    told = variables.get(LEASE)
    if told is None:
        return None
    problem = f"{LEASE}={told} is not a lease of this job"
    advice = "run it with --executor core-groups, or without this variable"
    index, _, number = told.partition(":")
    level = next((level for level in get_args(Level) if level == variables.get(LEVEL)), None)
    if not (index.isdecimal() and number.isdecimal()) or level is None:
        raise MachineError(f"{problem}: <group>:<descriptor> and {LEVEL} are needed; {advice}")
    descriptor = int(number)
    try:
        file = Path(os.readlink(f"/proc/self/fd/{descriptor}"))  # noqa: PTH115
    except OSError as error:
        raise MachineError(f"{problem}: descriptor {descriptor}: {error.strerror}; {advice}") from None
    cpus = _cpus(file)
    if file.parent != lock_folder().resolve() or cpus is None:
        raise MachineError(f"{problem}: descriptor {descriptor} is {file}; {advice}")
    if not _is_locked(file) or not _lock(descriptor):
        raise MachineError(f"{problem}: it does not hold {file}; {advice}")
    return Lease(group_of(topology, int(index), cpus), level, file, descriptor)


@contextmanager
def held(topology: Topology, plan: Callable[[Topology], Plan], tell: Tell) -> Iterator[Lease]:
    """What a job measures under: the lease it was started with, else one of its own, waited for as long as it takes."""
    lease = inherited(topology)
    if lease is not None:
        yield lease
        return
    lease = wait_for_lease(plan(topology), lock_folder(), tell)
    try:
        yield lease
    finally:
        lease.release()


def holders(files: Collection[Path]) -> tuple[int, ...]:
    """The processes that have one of the files open, as far as this user may look."""
    names = set(map(str, files))
    found = []
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            with suppress(OSError):
                if not names.isdisjoint(os.readlink(one) for one in (process / "fd").iterdir()):  # noqa: PTH115
                    found.append(int(process.name))
    return tuple(sorted(found))


def leased(plan: Plan, folder: Path) -> dict[int, str]:
    """The groups of a plan that are leased now, by index: the processes that hold them, in words."""
    found = {}
    for group in plan.groups:
        files = _locked(folder, group)
        if files:
            found[group.index] = _named(holders(files))
    return found


def _waiting(plan: Plan, folder: Path) -> str:
    pids = _named(holders({file for group in plan.groups for file in _locked(folder, group)}))
    return f"waiting for a core group: all {len(plan.groups)} are leased in {folder}, by {pids}"


def _locked(folder: Path, group: Group) -> set[Path]:
    """The locks that keep a group from being leased."""
    files = (folder / _name(group), *_overlapping(folder, group))
    return {file for file in files if file.exists() and _is_locked(file)}


def _named(pids: Collection[int]) -> str:
    return f"processes {', '.join(map(str, pids)) or 'of other users'}"


def _name(group: Group) -> str:
    return f"cpus-{format_cpus(group.cpus)}.lock" if group.cpus else f"pretended-{group.index}.lock"


def _cpus(file: Path) -> tuple[int, ...] | None:
    """The CPUs that a lock is for; None if it is not one of ours."""
    kind, _, rest = file.name.partition("-")
    listed, _, suffix = rest.rpartition(".")
    with suppress(ValueError):
        if suffix == "lock" and kind in ("cpus", "pretended"):
            return tuple(sorted(parse_cpus(listed))) if kind == "cpus" else ()
    return None


def _overlapping(folder: Path, group: Group) -> list[Path]:
    """The locks of other groups with a core of this one."""
    cores = {*group.cpus, *group.idle}
    return [
        file
        for file in sorted(folder.glob("cpus-*.lock"))
        if file.name != _name(group) and not cores.isdisjoint(_cpus(file) or ())
    ]


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        if not folder.is_dir():
            raise
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES)) from None
    else:
        folder.chmod(0o1777)


def _open(file: Path) -> int:
    """A descriptor of a lock file, which is made for all users if there is none yet.

    In a folder where all may write, the kernel lets nobody open another's file with O_CREAT.
    """
    while True:
        with suppress(FileNotFoundError):
            return os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        with suppress(FileExistsError):
            descriptor = os.open(file, os.O_RDONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
            os.fchmod(descriptor, 0o644)
            return descriptor


def _lock(descriptor: int, kind: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_locked(file: Path) -> bool:
    descriptor = _open(file)
    try:
        return not _lock(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)
