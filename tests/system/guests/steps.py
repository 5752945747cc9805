"""Work of known length, and a body measured as ``spec.json`` says; it imports little, since the machine is slow."""

import ctypes
import json
import mmap
import os
import struct

from patchperf_inprocess import measured

_STEP_LOOP = struct.pack("<III", 0xF1000400, 0x54FFFFE1, 0xD65F03C0)
"""aarch64: ``subs x0, x0, #1``; ``b.ne`` back to it; ``ret``"""

_page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
_page.write(_STEP_LOOP)

take_steps = ctypes.CFUNCTYPE(None, ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(_page)))
"""Takes that many steps of two instructions each, so that the difference of two counts is known beforehand."""


def measure(body):
    """Run a replicate of a body; prints which files were open before and after it."""
    before = _open_files()
    measured(body)()
    print(json.dumps({"before": before, "after": _open_files()}))


def in_a_child(body):
    """Call a body in a child process."""
    child = os.fork()
    if child == 0:
        body()
        os._exit(0)
    os.waitpid(child, 0)


def _open_files():
    return sorted(os.listdir("/proc/self/fd"))  # noqa: PTH208  (importing pathlib takes long)
