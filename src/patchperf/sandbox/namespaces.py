"""The sandbox that keeps a command away from network, files and processes: namespaces, made by bubblewrap."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import select
import shutil
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from patchperf.errors import MachineError
from patchperf.sandbox import cgroups
from patchperf.sandbox.capture import capture, drain, output_pipe
from patchperf.sandbox.descendants import children, descendants
from patchperf.sandbox.files import keep_plain_files
from patchperf.sandbox.placement import ANYWHERE, Placement
from patchperf.sandbox.protocol import Command, Completed, Layout, Limits
from patchperf.sandbox.space import with_room
from patchperf.sandbox.watchdog import Watchdog

LAYOUT = Layout(tree="/testbed", tools="/patchperf/tools", out="/patchperf/out")
HOME = "/patchperf/home"
TMPDIR = "/tmp"

_UNSHARED = ("user", "net", "pid", "ipc", "uts")
_SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/etc", "/opt")
_USER = 1000
_PASSWD = f"""root:x:0:0:root:/:/bin/sh
daemon:x:1:1:daemon:/:/usr/sbin/nologin
testbed:x:{_USER}:{_USER}:testbed:{HOME}:/bin/sh
nobody:x:65534:65534:nobody:/:/usr/sbin/nologin
"""
_GROUP = f"root:x:0:\ndaemon:x:1:\ntty:x:5:\ntestbed:x:{_USER}:\nnogroup:x:65534:\n"

_START_SECONDS = 120.0
_MEBIBYTE = 1024 * 1024
_OWN_PROCESSES = 2
_EXACT_PROCESS_RLIMIT = (5, 14)
_PROCESS_MARGIN = 16
_LAST_SIGNAL = 64


@dataclass(frozen=True)
class _Started:
    """A sandbox whose command waits for the word: bubblewrap's process outside, its init inside, and the gate."""

    outer: subprocess.Popen[bytes]
    init: int
    init_handle: int
    gate: socket.socket


class Namespaces:
    """Runs commands under bubblewrap, each in its own user, network, pid, ipc, uts and mount namespaces.

    What holds: a command sees the system's programs (read-only), its tree, ``out``, ``tools`` and ``readable`` and no
    other file, has a loopback of its own and no other network, and dies to its last process with this driver.
    It runs as one and the same unprivileged user, host name and user table on every machine. ``confinement`` says who
    enforces memory and process limits: "namespaces+cgroup" (the kernel, for the sum) or "namespaces+rlimits"
    (RLIMIT_AS for each process and RLIMIT_NPROC, and a look at the sums twice a second; for root, whom RLIMIT_NPROC
    does not bind, only the look).

    Raises MachineError where bubblewrap is not installed.
    """

    layout = LAYOUT
    reason = ""

    def __init__(self, *, use_cgroups: bool = True, placement: Placement = ANYWHERE) -> None:
        bwrap = shutil.which("bwrap")
        if bwrap is None:
            raise MachineError("bwrap is not installed: install the package bubblewrap")
        self._bwrap = bwrap
        self._options = frozenset(re.findall(r"^ +(--[a-z-]+)", _help(bwrap), re.MULTILINE))
        self._placement = placement
        self._home = cgroups.home_for(placement) if use_cgroups else None
        if self._home is not None:
            cgroups.remove_stale(self._home)

    @property
    def confinement(self) -> str:
        """The promises kept, as records name them."""
        return "namespaces+rlimits" if self._home is None else "namespaces+cgroup"

    def run(self, command: Command, limits: Limits) -> Completed:
        """Run a command; ``timeout`` and ``seconds`` count from the moment all namespaces stand.

        An exit status of 128 + n, which is how both shells and bubblewrap report a death by signal n, comes back as -n.
        What the command left in ``out`` is reduced to plain files and folders, so that reading them follows no link.
        Raises MachineError if the sandbox or the command cannot be started (bubblewrap takes some 8,900 arguments), or
        where the tree or ``out`` has no room left.
        """
        with with_room(command.tree, command.out):
            group = None if self._home is None else cgroups.create(self._home, limits, _OWN_PROCESSES)
            try:
                return self._run_on(_System.now(), command, limits, group)
            finally:
                if group is not None:
                    group.remove()
                if command.out is not None:
                    keep_plain_files(command.out)

    def _run_on(self, system: _System, command: Command, limits: Limits, group: cgroups.Group | None) -> Completed:
        """Run with the system as it was looked at; once more where it has changed before the sandbox stood."""
        try:
            return self._run(system, command, limits, group)
        except MachineError:
            if not system.has_changed():
                raise
            return self._run(_System.now(), command, limits, group)

    def _run(self, system: _System, command: Command, limits: Limits, group: cgroups.Group | None) -> Completed:
        reading, writing = output_pipe()
        with contextlib.ExitStack() as stack:
            stack.callback(os.close, reading)
            try:
                started = stack.enter_context(
                    self._start(system, command, limits, group, reading=reading, writing=writing)
                )
            finally:
                os.close(writing)
            bounds = group or Watchdog(lambda: descendants(started.init), limits)
            outer_handle = os.pidfd_open(started.outer.pid)
            stack.callback(os.close, outer_handle)
            begun = time.perf_counter()
            started.gate.sendall(b"go\n")
            started.gate.close()
            captured = capture(
                reading,
                outer_handle,
                timeout=command.timeout,
                output_limit=limits.output_mb * _MEBIBYTE,
                check=bounds.exceeded,
                kill=lambda: _end(started),
            )
            seconds = time.perf_counter() - begun
            peak = bounds.peak_memory_mb()
        return Completed(_exit_code(started.outer.returncode), captured.ended, captured.output, seconds, peak)

    @contextlib.contextmanager
    def _start(
        self,
        system: _System,
        command: Command,
        limits: Limits,
        group: cgroups.Group | None,
        *,
        reading: int,
        writing: int,
    ) -> Iterator[_Started]:
        ours, theirs = socket.socketpair()
        tables = [_memory_file(name, text) for name, text in (("passwd", _PASSWD), ("group", _GROUP))]
        try:
            argv = [
                *cgroups.entering(group),
                *self._arguments(system, command, limits, tables),
                *_launcher(command, limits, bounded=group is not None),
            ]
            with self._placement.starting():
                outer = subprocess.Popen(
                    argv,
                    stdin=theirs.fileno(),
                    stdout=writing,
                    stderr=writing,
                    env={},
                    cwd="/",
                    pass_fds=tables,
                    start_new_session=True,
                )
        except OSError as error:
            ours.close()
            raise MachineError(f"{command.argv[0]}: the sandbox cannot be started: {error}") from None
        finally:
            theirs.close()
            for table in tables:
                os.close(table)
        with outer, ours:
            try:
                self._await_ready(command, ours, reading)
                init = children(outer.pid)[0]
                handle = os.pidfd_open(init)
            except BaseException:
                outer.kill()
                raise
            started = _Started(outer, init, handle, ours)
            try:
                yield started
            finally:
                _end(started)
                os.close(handle)

    def _await_ready(self, command: Command, gate: socket.socket, reading: int) -> None:
        gate.settimeout(_START_SECONDS)
        try:
            word = gate.recv(16)
        except TimeoutError:
            raise MachineError(f"{command.argv[0]}: the sandbox did not start within {_START_SECONDS:.0f} s") from None
        if word == b"missing\n":
            raise MachineError(
                f"{command.argv[0]}: not an executable inside the sandbox; is its folder among the readable ones?"
            )
        if word != b"ready\n":
            said = drain(reading, 4096).decode(errors="replace").strip().splitlines() or ["no message"]
            raise MachineError(f"{command.argv[0]}: the sandbox cannot be started: {said[-1]}")

    def _arguments(self, system: _System, command: Command, limits: Limits, tables: list[int]) -> list[str]:
        passwd, group = map(str, tables)
        arguments = [self._bwrap, *(f"--unshare-{namespace}" for namespace in _UNSHARED)]
        if "--disable-userns" in self._options:
            arguments.append("--disable-userns")
        if "--unshare-cgroup-try" in self._options:
            arguments.append("--unshare-cgroup-try")
        arguments += ["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "localhost"]
        arguments += ["--uid", str(_USER), "--gid", str(_USER)]
        arguments += system.mounts()
        arguments += ["--ro-bind-data", passwd, "/etc/passwd", "--ro-bind-data", group, "/etc/group"]
        arguments += ["--proc", "/proc", "--dev", "/dev"]
        for folder, share in (("/dev/shm", 4), (TMPDIR, 2), (HOME, 4)):
            arguments += self._tmpfs(folder, limits.memory_mb * _MEBIBYTE // share)
        for path in command.readable:
            for name in dict.fromkeys((path.absolute(), path.resolve())):
                arguments += ["--ro-bind", str(name), str(name)]
        arguments += ["--bind", str(command.tree.absolute()), LAYOUT.tree]
        if command.tools is not None:
            arguments += ["--ro-bind", str(command.tools.absolute()), LAYOUT.tools]
        if command.out is not None:
            arguments += ["--bind", str(command.out.absolute()), LAYOUT.out]
        arguments += ["--remount-ro", "/proc", "--remount-ro", "/dev", "--remount-ro", "/", "--chdir", LAYOUT.tree]
        if "PATH" in command.environment:
            arguments += ["--setenv", "PATH", command.environment["PATH"]]
        return [*arguments, "--"]

    def _tmpfs(self, folder: str, size: int) -> list[str]:
        return [*(("--size", str(size)) if "--size" in self._options else ()), "--tmpfs", folder]


def _help(bwrap: str) -> str:
    return subprocess.run([bwrap, "--help"], capture_output=True, text=True, check=False, env={}).stdout


@dataclass(frozen=True)
class _System:
    """The system's folders of programs at one moment, and what only the driver's own user may read in them."""

    folders: tuple[Path, ...]
    hidden: tuple[Path, ...]

    @classmethod
    def now(cls) -> _System:
        folders = (*map(Path, _SYSTEM_FOLDERS), *sorted(Path("/").glob("lib*")))
        return cls(folders, (*_private(Path("/etc"), deep=True), *_private(Path("/opt"), deep=False)))

    def has_changed(self) -> bool:
        """Whether something to hide is gone (a program's lock file), so that no mount can be put over it."""
        return not all(os.path.lexists(path) for path in self.hidden)

    def mounts(self) -> Iterator[str]:
        """Arguments that show the folders and hide what is private in them."""
        for folder in self.folders:
            if folder.is_symlink():
                yield from ("--symlink", str(folder.readlink()), str(folder))
            elif folder.is_dir():
                yield from ("--ro-bind", str(folder), str(folder))
        for private in self.hidden:
            if private.is_dir():
                yield from ("--tmpfs", str(private), "--remount-ro", str(private))
            else:
                yield from ("--ro-bind", "/dev/null", str(private))


def _private(folder: Path, *, deep: bool) -> Iterator[Path]:
    """Files and folders below that this process can read and not everybody may."""
    for path in _listed(folder):
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            continue
        if stat.S_ISLNK(mode):
            continue
        public = stat.S_IROTH | stat.S_IXOTH if stat.S_ISDIR(mode) else stat.S_IROTH
        if mode & public != public:
            if os.access(path, os.R_OK):
                yield path
        elif stat.S_ISDIR(mode) and deep:
            yield from _private(path, deep=True)


def _listed(folder: Path) -> list[Path]:
    """What is in a folder now; programs at work in it (a lock file, a package being installed) may change that."""
    try:
        return sorted(folder.iterdir())
    except FileNotFoundError:
        return []


def _launcher(command: Command, limits: Limits, *, bounded: bool) -> list[str]:
    """What runs inside first: it says that all stands, waits for the word, and becomes the command.

    If the driver dies before the word, the socket ends and so does this.
    """
    argv0 = command.argv[0]
    if "=" in argv0:
        raise MachineError(f"{argv0}: a program whose path has an equals sign in it cannot be run; rename its folder")
    bounds = ["ulimit -c 0", f"ulimit -f {limits.file_mb * _MEBIBYTE // 512}"]
    if not bounded:
        bounds.append(f"ulimit -v {limits.memory_mb * 1024}")
        if _kernel_version() >= _EXACT_PROCESS_RLIMIT:
            processes = limits.processes + 1 + _PROCESS_MARGIN
            bounds.append(f"{{ ulimit -u {processes} 2>/dev/null || ulimit -p {processes}; }}")
    script = (
        'command -v -- "$1" >/dev/null || { echo missing >&0; exit 1; }; shift; '
        f'echo ready >&0 && read -r word && {" && ".join(bounds)} && exec "$@" </dev/null'
    )
    environment = {**command.environment, "HOME": HOME, "TMPDIR": TMPDIR, "PWD": LAYOUT.tree}
    return [
        *("/bin/sh", "-c", script, "sh", argv0),
        *("/usr/bin/env", "-i", "--", *_assignments(environment), *command.argv),
    ]


def _assignments(environment: Mapping[str, str]) -> list[str]:
    return [f"{name}={environment[name]}" for name in sorted(environment)]


def _kernel_version() -> tuple[int, int]:
    """From 5.14 on RLIMIT_NPROC counts per user namespace; before, it would count all that the user runs."""
    major, minor = re.findall(r"\d+", platform.release())[:2]
    return int(major), int(minor)


def _end(started: _Started) -> None:
    """Kill the pid namespace and wait until it is empty: its init ends only after all its other processes."""
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(started.init_handle, signal.SIGKILL)
    gone = select.poll()
    gone.register(started.init_handle, select.POLLIN)
    gone.poll()
    started.outer.wait()


def _exit_code(status: int) -> int:
    return 128 - status if 128 < status <= 128 + _LAST_SIGNAL else status


def _memory_file(name: str, text: str) -> int:
    file = os.memfd_create(name)
    os.write(file, text.encode())
    os.lseek(file, 0, os.SEEK_SET)
    return file
