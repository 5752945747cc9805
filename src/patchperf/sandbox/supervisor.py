"""A small process between the driver and one command: it adopts every orphan of the command and ends them all.

It runs with the standard library alone. Its standard input is a socket to the driver: first comes the
specification (JSON, one line), it answers "started", and in the end "exit <code>", or "missing <why>" if there is no
such program. When the socket ends, because the driver wants the end or has died, all is killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import socket
from typing import Any, NoReturn

from patchperf.sandbox.descendants import descendants

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def become_subreaper() -> None:
    """Let orphans below this process become its children rather than init's."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def main() -> None:
    """Run one command to its end or the driver's word."""
    gate = socket.socket(fileno=0)
    specification = json.loads(gate.makefile("r", encoding="utf-8").readline())
    become_subreaper()
    woken, waking = os.pipe()
    for end in (woken, waking):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    held, holding = os.pipe()
    failed, failing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(holding)
        os.read(held, 1)
        _become(specification, failing)
    os.close(failing)
    gate.sendall(b"started\n")
    os.close(holding)
    problem = os.read(failed, 4096)
    code = 0 if problem else _wait(child, gate, woken)
    kill_below(os.getpid())
    with contextlib.suppress(OSError):
        gate.sendall(b"missing " + problem + b"\n" if problem else f"exit {code}\n".encode())


def kill_below(pid: int) -> None:
    """Kill all descendants of this process and reap them until none is left."""
    while True:
        for below in descendants(pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(below, signal.SIGKILL)
        try:
            reaped, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if reaped == 0:
            select.select([], [], [], 0.002)


def _become(specification: dict[str, Any], failing: int) -> NoReturn:
    try:
        os.setsid()
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        for name, wanted in specification["rlimits"].items():
            kind = getattr(resource, name)
            hard = resource.getrlimit(kind)[1]
            bound = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
            resource.setrlimit(kind, (bound, bound))
        os.chdir(specification["folder"])
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.set_inheritable(0, True)
        for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        os.closerange(3, failing)
        os.closerange(failing + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
        os.execvpe(specification["argv"][0], specification["argv"], specification["environment"])
    except BaseException as error:  # whatever it is has to reach the driver, and this copy must not go on
        os.write(failing, str(getattr(error, "strerror", None) or error).encode(errors="replace"))
    os._exit(127)


def _wait(child: int, gate: socket.socket, woken: int) -> int:
    """The command's exit code (negative: a signal's number); 0 when the driver ended the wait."""
    poll = select.poll()
    poll.register(gate, select.POLLIN)
    poll.register(woken, select.POLLIN)
    while True:
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == child:
                return os.waitstatus_to_exitcode(status)
            if pid == 0:
                break
        ready = dict(poll.poll())
        if gate.fileno() in ready:
            return 0
        with contextlib.suppress(BlockingIOError):
            os.read(woken, 4096)


def _prctl(option: int, value: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {option}")
