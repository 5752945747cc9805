"""Takes every counter of the first processor, system-wide and before all others, so that nobody else gets one.

``python3 occupant.py COMMAND...`` runs a command meanwhile; without one, the lines "take" and "give" are obeyed and
each answered by the number of counters held.
"""

import ctypes
import os
import struct
import subprocess
import sys

PERF_EVENT_OPEN = 241
HARDWARE_INSTRUCTIONS = (0, 1)
TOTAL_TIMES, PINNED = 3, 1 << 2
FIRST_PROCESSOR = 0

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def take():
    held = []
    while True:
        descriptor = pinned_event()
        if len(os.read(descriptor, 24)) < 24:
            os.close(descriptor)
            return held
        held.append(descriptor)


def pinned_event():
    kind, event = HARDWARE_INSTRUCTIONS
    attributes = struct.pack("=IIQQQQQIIQ", kind, 64, event, 0, 0, TOTAL_TIMES, PINNED, 0, 0, 0)
    everyone, no_group, close_on_exec = -1, -1, 8
    arguments = [ctypes.c_long(value) for value in (everyone, FIRST_PROCESSOR, no_group, close_on_exec)]
    number = libc.syscall(ctypes.c_long(PERF_EVENT_OPEN), ctypes.create_string_buffer(attributes, 64), *arguments)
    if number < 0:
        raise OSError(ctypes.get_errno(), "perf_event_open")
    return number


if len(sys.argv) > 1:
    descriptors = take()
    sys.exit(subprocess.call(sys.argv[1:]))
descriptors = []
for line in sys.stdin:
    for descriptor in descriptors:
        os.close(descriptor)
    descriptors = take() if line == "take\n" else []
    print(len(descriptors), flush=True)
