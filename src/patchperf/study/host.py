"""The record of the machine a study is measured on."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from patchperf.counters.preflight import Choice
from patchperf.counters.protocol import Backend, Emulation

HARDWARE: frozenset[Backend] = frozenset({"cirron", "perf"})
"""Counters that need the kernel's performance events."""


class Host(BaseModel):
    """The machine a study is measured on: its kind, the counter that works there, and how patches are confined.

    ``emulation`` is what a simulated counter counts under, ``environment`` the variables that every command has,
    ``kernel`` and ``software`` what ran when the record was made, right before the measuring.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: str
    counter: Choice
    emulation: Emulation | None = None
    environment: dict[str, str] = {}
    confinement: str
    kernel: str = ""
    software: dict[str, str] = {}
    warning: str = ""


def read_host(file: Path) -> Host:
    """The record of the machine."""
    return Host.model_validate_json(file.read_bytes())
