#!/usr/bin/python3
"""The first process of the emulated machine: runs the jobs of /jobs.json, prints what came of each, turns it off."""

import ctypes
import json
import subprocess
import time
from pathlib import Path

MOUNTS = (("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/tmp"))
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0"}
COMPILED = Path("/compiled")
"""All jobs have the same modules, of the same age: the first one compiles them for all."""

POWER_OFF = 0x4321FEDC


def run(job):
    folder = Path("/jobs") / job["name"]
    (folder / "__pycache__").symlink_to(COMPILED)
    started = time.monotonic()
    told = {"name": job["name"], "ended": "exit"}
    try:
        done = subprocess.run(
            job["argv"],
            cwd=folder,
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=job["seconds"],
            check=False,
        )
        told |= {"exit_code": done.returncode, "output": done.stdout.decode("utf-8", "replace")}
    except subprocess.TimeoutExpired:
        told |= {"ended": "timeout", "exit_code": -9, "output": ""}
    except OSError as error:
        told |= {"exit_code": 127, "output": str(error)}
    result = folder / "result.jsonl"
    records = result.read_text().splitlines() if result.exists() else []
    return told | {"seconds": time.monotonic() - started, "records": records}


libc = ctypes.CDLL(None, use_errno=True)
for kind, where in MOUNTS:
    Path(where).mkdir(exist_ok=True)
    libc.mount(kind.encode(), where.encode(), kind.encode(), 0, None)
COMPILED.mkdir()
for job in json.loads(Path("/jobs.json").read_text()):
    print("PATCHPERF-GUEST", json.dumps(run(job)), flush=True)
libc.reboot(POWER_OFF)
