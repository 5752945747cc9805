"""Which process reported, as this host's kernel numbers it: sandboxes give every process the same few numbers."""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SOCKET = "process.sock"
"""Name of the socket in a command's ``out`` folder that the measured process connects to when it has reported."""

_CREDENTIALS = struct.Struct("3i")


class Caller:
    """A listening socket that nobody answers: the kernel keeps who connected, also when that process is gone."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening

    def pid(self) -> int | None:
        """The one process that connected, in the numbering of this process; None if none or several did."""
        pids = []
        while True:
            try:
                connection, _ = self._listening.accept()
            except BlockingIOError:
                break
            with connection:
                told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
                pids.append(_CREDENTIALS.unpack(told)[0])
        return pids[0] if len(pids) == 1 and pids[0] > 0 else None


@contextmanager
def awaited_caller(folder: Path) -> Iterator[Caller]:
    """Listen in a folder (of any path length) while a command runs."""
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) as listening:
            listening.bind(f"/proc/self/fd/{descriptor}/{SOCKET}")
            (folder / SOCKET).chmod(0o666)
            listening.listen()
            yield Caller(listening)
    finally:
        os.close(descriptor)
