"""How fast a trace is read, and in how much memory: a synthetic log of the given size, streamed through a pipe.

    python benchmarks/trace_reading.py [MEGABYTES]

prints megabytes and lines per second of the parts before and inside the window, and the reader's peak of memory.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
import tracemalloc
from pathlib import Path

from patchperf.study.trace import Window, read_window

NONCE = "0" * 32
MARK = f'10    pwrite64(2</tmp/err>, "PATCHPERF {NONCE} {{}}\\n", 49, -1) = -1 EINVAL (Invalid argument)\n'
CALLS = (
    b'10    openat(AT_FDCWD</testbed>, "/testbed/data.txt", O_RDONLY|O_CLOEXEC) = 3</testbed/data.txt>\n'
    b'10    read(3</testbed/data.txt>, "some data", 4096) = 9\n'
    b"10    mmap(NULL, 8192, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0) = 0x7f47559d4000\n"
)


def write_log(pipe: Path, before: int, inside: int) -> None:
    """Write a log with this many bytes before the window and inside it."""
    with pipe.open("wb", buffering=1 << 20) as log:
        log.writelines(CALLS for _ in range(before // len(CALLS)))
        log.write(MARK.format("begin").encode())
        log.writelines(CALLS for _ in range(inside // len(CALLS)))
        log.write(MARK.format("end").encode())


def read(before: int, inside: int) -> tuple[float, int]:
    """Seconds to read such a log, and the calls counted."""
    with tempfile.TemporaryDirectory() as folder:
        pipe = Path(folder, "log")
        os.mkfifo(pipe)
        writer = threading.Thread(target=write_log, args=(pipe, before, inside))
        writer.start()
        start = time.perf_counter()
        window = read_window(pipe, NONCE)
        seconds = time.perf_counter() - start
        writer.join()
    assert isinstance(window, Window), window
    return seconds, sum(window.counts.values())


def main(megabytes: int) -> None:
    """Print one line per part, and the peak."""
    size = megabytes * 1_000_000 // 2
    for part, sizes in {"before the window": (size, 0), "inside the window": (0, size)}.items():
        seconds, calls = read(*sizes)
        print(f"{part:18} {size / 1e6 / seconds:7.1f} MB/s  {calls:10} calls counted")
    tracemalloc.start()
    read(size // 100, size // 100)
    print(f"peak of memory     {tracemalloc.get_traced_memory()[1] / 1e6:7.1f} MB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
