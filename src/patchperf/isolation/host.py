"""What kind of machine this is: measurements of different kinds are never put beside each other."""

from __future__ import annotations

import os
import platform
from pathlib import Path


def host_class(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Processor model, number of logical CPUs and architecture, e.g. "AMD EPYC, 2 CPUs, x86_64"."""
    model = platform.processor() or "unknown processor"
    for line in cpuinfo.read_text("utf-8", "replace").splitlines() if cpuinfo.exists() else ():
        key, _, value = line.partition(":")
        if key.strip() in ("model name", "Processor"):
            model = value.strip()
            break
    return f"{model}, {os.cpu_count()} CPUs, {platform.machine()}"
