"""Wait for a process while taking in what it prints, until it ends or has to be ended."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import time
from collections.abc import Callable
from dataclasses import dataclass

CHECK_SECONDS = 0.5
_CHUNK = 65536
_PIPE_SIZE = 1 << 20


@dataclass(frozen=True)
class Captured:
    """What was printed (UTF-8 with replacement, cut at the limit) and why the wait is over.

    ``ended`` is "exit", "timeout", "output" or the check's word.
    """

    output: str
    ended: str


def output_pipe() -> tuple[int, int]:
    """A pipe (read end that never blocks, write end) so roomy that a reader on a busy CPU does not stall the writer."""
    reading, writing = os.pipe()
    with contextlib.suppress(PermissionError):  # the user's pipes have used up their quota: the default size works too
        fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)
    os.set_blocking(reading, False)
    return reading, writing


def capture(
    pipe: int,
    process: int,
    *,
    timeout: float,
    output_limit: int,
    check: Callable[[], str | None],
    kill: Callable[[], None],
) -> Captured:
    """Read ``pipe`` until the process behind the pidfd ``process`` ends or passes a limit, ``kill``, read the rest.

    ``timeout`` is in seconds, ``output_limit`` in bytes. ``check`` is asked twice a second, and once more in the end,
    whether another limit is passed. ``kill`` has to return only when no process can write to the pipe any more.
    """
    output = bytearray()
    try:
        ended = _wait(pipe, process, output, timeout=timeout, output_limit=output_limit, check=check)
    finally:
        kill()
    if ended == "exit" and not _read(pipe, output, output_limit):
        ended = "output"
    _read(pipe, output, output_limit)
    return Captured(output.decode("utf-8", errors="replace"), (check() or ended) if ended == "exit" else ended)


def drain(pipe: int, limit: int) -> bytes:
    """What is in the pipe now, at most ``limit`` bytes of it."""
    output = bytearray()
    _read(pipe, output, limit)
    return bytes(output)


def _wait(
    pipe: int,
    process: int,
    output: bytearray,
    *,
    timeout: float,
    output_limit: int,
    check: Callable[[], str | None],
) -> str:
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    poll.register(process, select.POLLIN)
    deadline = time.monotonic() + timeout
    next_check = time.monotonic() + CHECK_SECONDS
    while True:
        now = time.monotonic()
        if now >= deadline:
            return "timeout"
        if now >= next_check:
            if reason := check():
                return reason
            next_check = time.monotonic() + CHECK_SECONDS
        ready = dict(poll.poll(max(0.0, min(deadline, next_check) - now) * 1000))
        if pipe in ready:
            if not _read_once(pipe, output, output_limit):
                return "output"
            if not ready[pipe] & select.POLLIN:
                poll.unregister(pipe)
        if process in ready:
            return "exit"


def _read(pipe: int, output: bytearray, limit: int) -> bool:
    """Take in all that the pipe holds; False as soon as it is more than the limit allows."""
    before = -1
    while len(output) != before:
        before = len(output)
        if not _read_once(pipe, output, limit):
            return False
    return True


def _read_once(pipe: int, output: bytearray, limit: int) -> bool:
    try:
        chunk = os.read(pipe, _CHUNK)
    except BlockingIOError:
        return True
    room = limit - len(output)
    output += chunk[:room]
    return len(chunk) <= room
