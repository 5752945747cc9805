"""Readings of the processor's own counters: which of them to distrust, and what the processor has to do with it."""

from __future__ import annotations

from pathlib import Path

from patchperf.counters.protocol import Backend, Count

DEVICES = Path("/sys/bus/event_source/devices")


def distrust_hardware(backend: Backend, count: Count, devices: Path = DEVICES) -> str | None:
    """Not read, nothing counted, by another backend, or not on the hardware all the time; None for a good reading.

    ``devices`` is where this machine lists its counting units: those of cores of several kinds explain much.
    """
    if count.backend != backend:
        return f"wrong-backend: counted by {count.backend}, not by {backend}"
    if count.problem is not None or count.value is None:
        return f"counter-unreadable: {count.problem or 'no value'}"
    if count.time_running_ns != count.time_enabled_ns:
        times = f"running {count.time_running_ns} of {count.time_enabled_ns} ns enabled"
        return f"counter-multiplexed: {times}{_several_kinds(devices)}"
    return "counter-unreadable: counted nothing" if count.value <= 0 else None


def kinds_of_cores(devices: Path) -> dict[str, str]:
    """CPUs (in the kernel's list format) by the unit that counts on them; empty where one unit counts on all.

    The units of cores name their CPUs in a file ``cpus``, those of anything else (caches, memory) have none.
    """
    return {file.parent.name: file.read_text().strip() for file in sorted(devices.glob("*/cpus"))}


def _several_kinds(devices: Path) -> str:
    kinds = kinds_of_cores(devices)
    if len(kinds) < 2:
        return ""
    listed = ", ".join(f"{name} counts on CPUs {cpus}" for name, cpus in kinds.items())
    return f"; cores of several kinds have counters of their own ({listed}): run on CPUs of one kind only"
