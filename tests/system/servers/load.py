"""Loads for the emulated server, which tell where they ran: load.py KIND [ARGUMENTS], the last line is JSON."""

import json
import mmap
import os
import sys
import threading
import time
import zlib
from pathlib import Path

BUFFER = bytes(1 << 18)
PIECE = 2 << 20
_PROCESSOR = 36


def status():
    """What a process tells of itself."""
    lines = dict(line.split(":\t", 1) for line in Path("/proc/self/status").read_text().splitlines() if ":\t" in line)
    return {
        "cpus": lines["Cpus_allowed_list"],
        "mems": lines["Mems_allowed_list"],
        "swap": lines.get("VmSwap", "0 kB").strip(),
    }


def spin(seconds, ran):
    """Work for some seconds, and note down the CPUs it was done on."""
    file = Path(f"/proc/self/task/{threading.get_native_id()}/stat")
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        zlib.crc32(BUFFER)
        ran.add(int(file.read_text().rpartition(")")[2].split()[_PROCESSOR]))


def in_threads(count, seconds):
    """Threads; the CPUs they may run on, and those they did."""
    ran = set()
    threads = [threading.Thread(target=spin, args=(seconds, ran)) for _ in range(count)]
    for thread in threads:
        thread.start()
    allowed = {tuple(sorted(os.sched_getaffinity(int(task.name)))) for task in Path("/proc/self/task").iterdir()}
    for thread in threads:
        thread.join()
    return {"allowed": sorted(allowed), "ran": sorted(ran)}


def in_children(count, seconds):
    """Forked children; the CPUs they may run on, and those they did."""
    told = []
    for _ in range(count):
        reading, writing = os.pipe()
        if os.fork() == 0:
            ran = set()
            spin(seconds, ran)
            os.write(writing, json.dumps([sorted(os.sched_getaffinity(0)), sorted(ran)]).encode())
            os._exit(0)
        os.close(writing)
        told.append(reading)
    answers = []
    for reading in told:
        with open(reading, "rb") as stream:  # noqa: PTH123
            answers.append(json.loads(stream.read()))
    return {
        "allowed": sorted({tuple(one[0]) for one in answers}),
        "ran": sorted({cpu for one in answers for cpu in one[1]}),
    }


def refused(cpus):
    """Those of some CPUs that the kernel does not let this process go to."""
    usual = os.sched_getaffinity(0)
    found = []
    for cpu in cpus:
        try:
            os.sched_setaffinity(0, {cpu})
        except OSError:
            found.append(cpu)
    os.sched_setaffinity(0, usual)
    return found


def fill(megabytes):
    """Use so much memory, in large pages where the kernel has them."""
    held = mmap.mmap(-1, megabytes << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    held.madvise(mmap.MADV_HUGEPAGE)
    for place in range(0, megabytes << 20, PIECE):
        held[place : place + PIECE] = bytes(PIECE)
    return {"filled": megabytes}


def main():
    kind, *arguments = sys.argv[1:]
    numbers = list(map(int, arguments))
    if kind == "threads":
        told = in_threads(*numbers)
    elif kind == "children":
        told = in_children(*numbers)
    elif kind == "fill":
        told = fill(*numbers)
    elif kind == "refused":
        told = {"refused": refused(numbers)}
    else:
        told = {}
    print(json.dumps({**status(), **told}))


main()
