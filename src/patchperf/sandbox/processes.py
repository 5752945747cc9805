"""The sandbox for machines that grant no namespaces: limits and a sure end, but network and files stay within reach."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import patchperf
from patchperf.errors import MachineError
from patchperf.sandbox import cgroups
from patchperf.sandbox.capture import capture, output_pipe
from patchperf.sandbox.descendants import children, descendants
from patchperf.sandbox.files import erase, keep_plain_files
from patchperf.sandbox.placement import ANYWHERE, Placement
from patchperf.sandbox.protocol import Command, Completed, Layout, Limits
from patchperf.sandbox.space import with_room
from patchperf.sandbox.supervisor import become_subreaper
from patchperf.sandbox.watchdog import Watchdog

_SUPERVISOR = "import sys; sys.path.insert(0, sys.argv[1]); from patchperf.sandbox import supervisor; supervisor.main()"
_START_SECONDS = 120.0
_END_SECONDS = 30.0
_MEBIBYTE = 1024 * 1024
_OWN_PROCESSES = 1


class Processes:
    """Runs commands as ordinary processes of this user; ``confinement`` "processes-only" promises the following alone.

    Memory, processes, output and file size are bounded (by a control group where one can be made), HOME and TMPDIR
    are private, no process outlives the command, and every tree stands under one and the same path while it runs.
    The network is open and every file of this user is within reach: only for patches that one trusts.

    ``work`` is a folder of our own on the trees' file system; one command at a time uses it, others wait.
    The tree is renamed to ``work/testbed`` and back. Before, its own path is written to ``work/shown``, so that after a
    crash the next user of ``work`` puts it back: a rename either happened or not, and both can be told.
    ``out`` and ``tools`` are links.
    """

    confinement = "processes-only"

    def __init__(
        self, work: Path, *, reason: str = "", use_cgroups: bool = True, placement: Placement = ANYWHERE
    ) -> None:
        self.reason = reason
        self._work = work.absolute()
        self._work.mkdir(parents=True, exist_ok=True)
        self.layout = Layout(*(str(self._work / name) for name in ("testbed", "tools", "out")))
        self._placement = placement
        self._home = cgroups.home_for(placement) if use_cgroups else None
        if self._home is not None:
            cgroups.remove_stale(self._home)
        become_subreaper()
        with self._alone():
            self._put_back()

    def run(self, command: Command, limits: Limits) -> Completed:
        """Run a command.

        Raises MachineError if it cannot be started, if its tree is on another file system than ``work``, or where the
        tree or ``out`` has no room left.
        """
        with with_room(command.tree, command.out), self._alone() as lock:
            self._put_back()
            group = None if self._home is None else cgroups.create(self._home, limits, _OWN_PROCESSES)
            try:
                with self._shown(command):
                    return self._run(command, limits, group, lock)
            finally:
                if group is not None:
                    group.remove()
                if command.out is not None:
                    keep_plain_files(command.out)

    def _run(self, command: Command, limits: Limits, group: cgroups.Group | None, lock: int) -> Completed:
        specification = {
            "argv": command.argv,
            "folder": self.layout.tree,
            "environment": dict(sorted(self._environment(command).items())),
            "rlimits": _rlimits(limits, bounded=group is not None),
        }
        with contextlib.ExitStack() as stack:
            reading, writing = output_pipe()
            stack.callback(os.close, reading)
            ours, theirs = socket.socketpair()
            stack.enter_context(ours)
            try:
                with self._placement.starting():
                    supervisor = subprocess.Popen(
                        [*cgroups.entering(group), *_supervisor()],
                        stdin=theirs.fileno(),
                        stdout=writing,
                        stderr=writing,
                        env={},
                        cwd="/",
                        pass_fds=(lock,),
                        start_new_session=True,
                    )
            finally:
                theirs.close()
                os.close(writing)
            stack.enter_context(supervisor)
            stack.callback(self._end, supervisor, ours, group)
            ours.settimeout(_START_SECONDS)
            answers = ours.makefile("r", encoding="utf-8", errors="replace")
            ours.sendall(json.dumps(specification).encode() + b"\n")
            if answers.readline() != "started\n":
                raise MachineError(f"{command.argv[0]}: its supervisor cannot be started with {sys.executable}")
            begun = time.perf_counter()
            handle = os.pidfd_open(supervisor.pid)
            stack.callback(os.close, handle)
            bounds = group or Watchdog(lambda: descendants(supervisor.pid), limits)
            captured = capture(
                reading,
                handle,
                timeout=command.timeout,
                output_limit=limits.output_mb * _MEBIBYTE,
                check=bounds.exceeded,
                kill=lambda: self._end(supervisor, ours, group),
            )
            seconds = time.perf_counter() - begun
            peak = bounds.peak_memory_mb()
            word, _, said = answers.readline().strip().partition(" ")
        if word == "missing":
            raise MachineError(f"{command.argv[0]}: cannot be started: {said}")
        exit_code = int(said) if word == "exit" and captured.ended == "exit" else -signal.SIGKILL
        return Completed(exit_code, captured.ended, captured.output, seconds, peak)

    def _environment(self, command: Command) -> dict[str, str]:
        return {
            **command.environment,
            "HOME": str(self._work / "home"),
            "TMPDIR": str(self._work / "tmp"),
            "PWD": self.layout.tree,
        }

    def _end(self, supervisor: subprocess.Popen[bytes], gate: socket.socket, group: cgroups.Group | None) -> None:
        """Have the supervisor kill all that it has; if the command has killed it, kill what came to us instead."""
        with contextlib.suppress(OSError):
            gate.shutdown(socket.SHUT_WR)
        try:
            supervisor.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            supervisor.kill()
            supervisor.wait()
        while strays := self._strays(group):
            for pid in strays:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            for pid in strays:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, 0)

    def _strays(self, group: cgroups.Group | None) -> tuple[int, ...]:
        if group is not None:
            return group.processes()
        mark = f"HOME={self._work / 'home'}".encode()
        adopted = [pid for pid in children(os.getpid()) if mark in _environment_of(pid)]
        return tuple(dict.fromkeys(pid for parent in adopted for pid in (parent, *descendants(parent))))

    @contextlib.contextmanager
    def _alone(self) -> Iterator[int]:
        """Hold ``work``. A supervisor gets the lock too: it lasts until the last process of a dead driver is gone."""
        with (self._work / "lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield lock.fileno()

    @contextlib.contextmanager
    def _shown(self, command: Command) -> Iterator[None]:
        note, place = self._work / "shown", Path(self.layout.tree)
        tree = command.tree.absolute()
        with note.open("w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(str(tree))
            file.flush()
            os.fsync(file.fileno())
        try:
            tree.rename(place)
        except OSError as error:
            note.unlink()
            raise MachineError(f"{tree}: cannot be shown as {place}: {error.strerror}") from None
        try:
            for name, target in (("out", command.out), ("tools", command.tools)):
                if target is not None:
                    (self._work / name).symlink_to(target.absolute())
            for name in ("home", "tmp"):
                (self._work / name).mkdir(mode=0o700)
            yield
        finally:
            self._put_back()

    def _put_back(self) -> None:
        """Undo what a run, finished or cut off, has shown in ``work``."""
        for name in ("out", "tools", "home", "tmp"):
            erase(self._work / name)
        note, place = self._work / "shown", Path(self.layout.tree)
        if not note.exists():
            return
        tree = Path(note.read_text(encoding="utf-8", errors="surrogateescape"))
        if place.exists():
            if tree.exists():
                erase(place)
            else:
                place.rename(tree)
        note.unlink()


def _supervisor() -> list[str]:
    root = Path(patchperf.__file__).parent.parent
    return [sys.executable, "-I", "-S", "-c", _SUPERVISOR, str(root)]


def _rlimits(limits: Limits, *, bounded: bool) -> dict[str, int]:
    rlimits = {"RLIMIT_CORE": 0, "RLIMIT_FSIZE": limits.file_mb * _MEBIBYTE}
    if not bounded:
        rlimits["RLIMIT_AS"] = limits.memory_mb * _MEBIBYTE
        rlimits["RLIMIT_NPROC"] = _tasks_of_user() + limits.processes
    return rlimits


def _tasks_of_user() -> int:
    """How many threads this user runs now: RLIMIT_NPROC counts them all (and binds everybody but root)."""
    user = os.getuid()
    count = 0
    for process in Path("/proc").iterdir():
        if process.name.isdecimal():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                if process.stat().st_uid == user:
                    count += len(os.listdir(process / "task"))  # noqa: PTH208
    return count


def _environment_of(pid: int) -> tuple[bytes, ...]:
    try:
        return tuple(Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"))
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return ()
