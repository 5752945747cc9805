"""Where trees lie while they are used: in memory if there is room, so that no disk and no journal of it is measured."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

from patchperf.config import Config

MEMORY = Path("/dev/shm")
ROOM_BYTES = 4 << 30


def scratch_root(config: Config, study: Path, memory: Path = MEMORY) -> Path:
    """The folder for all scratch of one study (a working directory), of which nothing outlives a job.

    ``config.scratch`` names its parent; without it, that is the machine's shared memory where at least 4 GiB of it are
    free, else ``results/work``.
    """
    name = f"patchperf-{os.getuid()}-{hashlib.sha256(os.fsencode(study.resolve())).hexdigest()[:12]}"
    if config.scratch is not None:
        return Path(config.scratch).expanduser().resolve() / name
    if os.access(memory, os.W_OK) and shutil.disk_usage(memory).free >= ROOM_BYTES:
        return memory / name
    return study.resolve() / "results" / "work"
