"""Which process reported, as this host's kernel numbers it: sandboxes give every process the same few numbers."""

from __future__ import annotations

import os
import select
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

SOCKET = "process.sock"
"""Name of the socket in a command's ``out`` folder that the measured process connects to when it has reported."""

_CREDENTIALS = struct.Struct("3i")

Look = Callable[[int], None]


class Caller:
    """A listening socket: the kernel keeps who connected, also when that process is gone.

    With ``look``, whoever connects is looked at (given as its pid) and let go then, by a thread of its own; without,
    nobody answers.
    """

    def __init__(self, listening: socket.socket, look: Look | None = None) -> None:
        self._listening = listening
        self._look = look
        self._pids: list[int] = []
        self._stopped, self._stopping = socket.socketpair()
        self._thread = None if look is None else threading.Thread(target=self._attend, daemon=True)
        if self._thread is not None:
            self._thread.start()

    def pid(self) -> int | None:
        """The one process that connected, in the numbering of this process; None if none or several did."""
        self.close()
        while self._accept():
            pass
        return self._pids[0] if len(self._pids) == 1 and self._pids[0] > 0 else None

    def close(self) -> None:
        """Attend nobody any more."""
        self._stopping.close()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._stopped.close()

    def _attend(self) -> None:
        while True:
            ready, _, _ = select.select([self._listening, self._stopped], [], [])
            if self._stopped in ready:
                return
            self._accept()

    def _accept(self) -> bool:
        """Take one that has connected, if there is one."""
        try:
            connection, _ = self._listening.accept()
        except BlockingIOError:
            return False
        with connection:
            told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
            pid: int = _CREDENTIALS.unpack(told)[0]
            self._pids.append(pid)
            if self._look is not None:
                self._look(pid)
        return True


@contextmanager
def awaited_caller(folder: Path, look: Look | None = None) -> Iterator[Caller]:
    """Listen in a folder (of any path length) while a command runs."""
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) as listening:
            listening.bind(f"/proc/self/fd/{descriptor}/{SOCKET}")
            (folder / SOCKET).chmod(0o666)
            listening.listen()
            caller = Caller(listening, look)
            try:
                yield caller
            finally:
                caller.close()
    finally:
        os.close(descriptor)
