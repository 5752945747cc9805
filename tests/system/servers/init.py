#!/usr/bin/python3
"""The first process of the emulated server where that is not systemd: runs the scenario, and turns the server off."""

import ctypes
import os
import subprocess
from pathlib import Path

MOUNTS = (
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("devtmpfs", "/dev"),
    ("devpts", "/dev/pts"),
    ("tmpfs", "/dev/shm"),
    ("tmpfs", "/tmp"),
    ("tmpfs", "/run"),
    ("cgroup2", "/sys/fs/cgroup"),
)
POWER_OFF = 0x4321FEDC

libc = ctypes.CDLL(None, use_errno=True)
for kind, where in MOUNTS:
    Path(where).mkdir(exist_ok=True)
    libc.mount(kind.encode(), where.encode(), kind.encode(), 0, None)
os.environ.update(PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", HOME="/root")
with Path("/dev/ttyS1").open("wb") as told:
    scenario = subprocess.Popen(["/bin/sh", "/work/run.sh"], stdin=subprocess.DEVNULL, stdout=told, stderr=told)
    while os.wait()[0] != scenario.pid:
        pass
libc.reboot(POWER_OFF)
