"""What goes into the measured process and what comes back: the tools folder and the lines of its result file."""

from __future__ import annotations

import functools
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from patchperf.counters.protocol import INPROCESS

RESULT = "result.jsonl"
"""Name of the result file in a command's ``out`` folder."""

RESULT_BYTES = 8 << 20


def write_tools(folder: Path, spec: Mapping[str, Any]) -> None:
    """Make a tools folder: our in-process module, and beside it what it shall do (its docstring lists the keys)."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / INPROCESS.name).write_bytes(_module())
    (folder / "spec.json").write_text(json.dumps(spec, sort_keys=True), encoding="utf-8")


@functools.cache
def _module() -> bytes:
    """Our in-process module, read once, so that all processes of a job run the same one."""
    return INPROCESS.read_bytes()


def read_results(path: Path) -> list[dict[str, Any]]:
    """The records in a result file, one per invocation of the measured test; none if there is no file.

    The file comes from untrusted code: links are not followed, nothing but a regular file is read, and at most 8 MiB.
    Whatever is no record counts as one that failed, so that neither the count nor the verdict looks better than it is.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return []
    except OSError as error:
        return [_unreadable(f"{error.strerror}")]
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > RESULT_BYTES:
            return [_unreadable(f"no regular file of at most {RESULT_BYTES} bytes")]
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return [_record(line) for line in file.read(RESULT_BYTES).splitlines() if line.strip()]
    finally:
        os.close(descriptor)


def _record(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return _unreadable(f"no JSON: {line[:60]!r}")
    return value if isinstance(value, dict) else _unreadable(f"no record: {line[:60]!r}")


def _unreadable(why: str) -> dict[str, Any]:
    return {"failed": {"stage": "result", "call": 0, "error": f"unreadable result file: {why}"}}
