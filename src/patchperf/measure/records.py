"""The table of measurements: one row per replicate and metric, with the conditions it was taken under."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Literal, get_args

import pandas as pd
from pydantic import BaseModel, ConfigDict

from patchperf.counters.protocol import Backend
from patchperf.isolation.verification import Seen
from patchperf.measure.calibration import WindowPosition
from patchperf.measure.case import CasePlan
from patchperf.measure.collector import Collector
from patchperf.measure.conditions import Conditions
from patchperf.measure.coverage import kernel_share, not_covered
from patchperf.measure.journal import Entry
from patchperf.measure.self_report import SelfReport, Snapshot

Metric = Literal["instructions", "wall_ns"]


class Record(BaseModel):
    """One value of ``results/measurements.parquet``.

    ``value`` is the total over all ``repetitions`` of the loop: user-mode instructions or nanoseconds; None where a
    void replicate gave none. ``replicate`` is the round (0-based) and the number of the layout; ``order`` the position
    among all replicates of the case; ``attempt`` counts runs of one replicate (1-based), of which at most the last is
    not void. ``pid`` is this host's number of the measured process, ``namespace_pid`` its own; where the kernel cannot
    tell the first, both are the second. ``backend`` is the counter, or the clock's name for wall_ns. ``anchor`` tells
    whether N was calibrated on this solution, ``window_position`` where the loop's time lies.

    Of the warm-up: ``first_call_ns``, of which ``first_call_import_ns`` went into importing modules that were not there
    yet, and ``second_call_ns``. Environment and arguments are those the process started with, their size with the zeros
    between them.

    Wall time is always native. A simulated backend counts in a process of its own, whose conditions its row carries:
    ``emulator`` and ``emulated_cpu`` are set, ``counted_repetitions`` were run, and ``value`` is scaled from these to
    ``repetitions``, less ``count_constant`` (what the same loop counts with no repetitions). ``not_covered`` says what
    a count leaves out of the loop, see ``coverage``.

    Where something is promised about its CPUs (``isolation`` is not "none"), a native replicate's row has what the host
    saw of its process when it had reported: ``core_group``, ``host_cgroup``, state of its ``partition``, limits
    ``memory_max`` and ``swap_max`` (bytes, or "max"); and over its life: seconds that the CPUs to stay idle were busy,
    and that a hypervisor took from those in use; how often these were ``throttled``. ``cpus_allowed``,
    ``mems_allowed`` and ``cgroup`` are always the process's own words.

    Seconds: ``process`` is the whole process; within it ``startup`` up to the call of the test, ``warmup``, ``loop``
    and ``harness`` (what our module in it took); ``host`` is what passed on our side since the process before.
    Switches, faults, user, system, steal and ``gc_collections`` (of all generations) are differences over the loop.
    ``case_digest`` and ``tree_digest`` say what was measured.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    instance_id: str
    solution: str
    sources: tuple[str, ...]
    replicate: int
    order: int
    attempt: int
    repetitions: int
    metric: Metric
    value: float | None
    backend: str
    void: bool
    reason: str
    anchor: bool
    window_min_seconds: float
    window_max_seconds: float
    window_position: WindowPosition | None
    warmup: int
    first_call_ns: int | None
    first_call_import_ns: int | None
    second_call_ns: int | None
    hash_seed: int
    layout: int
    padding_bytes: int
    garbage_collector: Collector
    environment_bytes: int | None
    environment_crc32: int | None
    arguments_bytes: int | None
    arguments_crc32: int | None
    address_randomization: str | None
    pid: int | None
    namespace_pid: int | None
    start_ticks: int | None
    python: str | None
    implementation: str | None
    host: str
    confinement: str
    isolation: str
    cpus_allowed: str | None
    mems_allowed: str | None
    cgroup: str | None
    core_group: int | None
    host_cgroup: str | None
    partition: str | None
    memory_max: str | None
    swap_max: str | None
    sibling_busy_seconds: float | None
    group_steal_seconds: float | None
    throttled: int | None
    counter_enabled_ns: int | None
    counter_running_ns: int | None
    counter_events: int | None
    counted_repetitions: int | None
    count_constant: int | None
    emulator: str | None
    emulated_cpu: str | None
    not_covered: str
    voluntary_switches: int | None
    involuntary_switches: int | None
    minor_faults: int | None
    major_faults: int | None
    user_seconds: float | None
    system_seconds: float | None
    steal_seconds: float | None
    frequency_khz: int | None
    threads: int | None
    gc_enabled: bool | None
    gc_collections: int | None
    process_seconds: float
    startup_seconds: float | None
    warmup_seconds: float | None
    loop_seconds: float | None
    harness_seconds: float | None
    host_seconds: float
    peak_memory_mb: float | None
    case_digest: str
    tree_digest: str
    started_at: datetime


def _dtype(annotation: Any) -> str:
    kinds = {kind for kind in get_args(annotation) if isinstance(kind, type)} or {annotation}
    optional = type(None) in kinds
    (kind,) = kinds - {type(None)} or {str}
    if kind is int:
        return "Int64" if optional else "int64"
    if kind is bool:
        return "boolean" if optional else "bool"
    return {float: "float64", datetime: "datetime64[us, UTC]"}.get(kind, "str")


DTYPES: dict[str, str] = {
    name: "object" if name == "sources" else _dtype(field.annotation) for name, field in Record.model_fields.items()
}
"""Column name to pandas type, in the order of the table's columns."""


def to_frame(records: Iterable[Record]) -> pd.DataFrame:
    """The records as a table, with the same columns and types also when there are none; ``sources`` holds lists."""
    rows = [record.model_dump() | {"sources": list(record.sources)} for record in records]
    return pd.DataFrame(rows, columns=list(DTYPES), dtype=object).astype(DTYPES)


def records_of(entry: Entry, *, plan: CasePlan, anchor: str, clock: str) -> list[Record]:
    """The rows of a native replicate, also a void one: wall time, and instructions if a counter read along."""
    report = entry.report
    wall_ns = report.wall_ns if report else None
    backend = "none" if plan.emulated else plan.counter.backend
    repetitions = entry.repetitions or 0
    common = {
        **_common(entry, plan, anchor, repetitions),
        "window_position": None if wall_ns is None else plan.window.position(wall_ns / 1e9),
    }
    rows: list[dict[str, Any]] = [_UNCOUNTED | {"metric": "wall_ns", "value": wall_ns, "backend": clock}]
    if backend != "none":
        loop = _differences(report.before if report else None, report.after if report else None)
        kernel = kernel_share(loop["user_seconds"], loop["system_seconds"])
        rows.append({"metric": "instructions", "backend": backend, **_counted(entry, backend, repetitions, kernel)})
    return [Record.model_validate(common | row) for row in rows]


def count_of(entry: Entry, *, plan: CasePlan, anchor: str, repetitions: int, kernel: float | None) -> Record:
    """The row of a counting under an emulator, also a void one, for ``repetitions`` of the loop.

    ``kernel`` is the kernel's share of the same replicate's processor time without an emulator, None if unknown.
    """
    backend = plan.counter.backend
    row = {"metric": "instructions", "backend": backend, **_counted(entry, backend, repetitions, kernel)}
    return Record.model_validate({**_common(entry, plan, anchor, repetitions), "window_position": None, **row})


def _common(entry: Entry, plan: CasePlan, anchor: str, repetitions: int) -> dict[str, Any]:
    told_pid = entry.report.pid if entry.report else None
    solution = next(one for one in plan.solutions if one.id == entry.solution)
    return {
        "instance_id": plan.instance_id,
        "solution": entry.solution,
        "sources": solution.sources,
        "replicate": entry.replicate,
        "order": entry.order,
        "attempt": entry.attempt,
        "repetitions": repetitions,
        "void": entry.void is not None,
        "reason": entry.void or "",
        "anchor": entry.solution == anchor,
        "window_min_seconds": plan.window.min_seconds,
        "window_max_seconds": plan.window.max_seconds,
        "hash_seed": entry.hash_seed,
        "layout": entry.replicate,
        "padding_bytes": entry.padding,
        "garbage_collector": plan.garbage_collector,
        "host": entry.host,
        "confinement": entry.confinement,
        "isolation": entry.isolation,
        **_ground(entry.conditions),
        "pid": entry.pid if entry.pid is not None else told_pid,
        "namespace_pid": told_pid,
        "process_seconds": entry.seconds,
        "host_seconds": entry.host_seconds,
        "peak_memory_mb": entry.peak_memory_mb,
        "case_digest": entry.digest,
        "tree_digest": solution.tree_digest,
        "started_at": entry.started_at,
        **_conditions(entry.report),
    }


_UNCOUNTED: dict[str, Any] = {
    "counted_repetitions": None,
    "count_constant": None,
    "emulator": None,
    "emulated_cpu": None,
    "not_covered": "",
}


def _counted(entry: Entry, backend: Backend, repetitions: int, kernel: float | None) -> dict[str, Any]:
    """The columns of a count: its value for all repetitions, and how it came about."""
    report, emulation = entry.report, entry.emulation
    count = report.counter if report else None
    value = count.value if count else None
    return {
        "value": value if value is None or entry.repetitions is None else value * repetitions / entry.repetitions,
        "counted_repetitions": entry.repetitions,
        "count_constant": count.constant if count else None,
        "emulator": emulation.emulator if emulation else None,
        "emulated_cpu": emulation.cpu if emulation else None,
        "not_covered": not_covered(
            backend,
            count,
            report,
            kernel,
            emulation.lacking if emulation else (),
            own_pids=entry.pid is not None and entry.pid != report.pid,
            scaled=entry.repetitions != repetitions,
        )
        if report
        else "",
    }


def _ground(conditions: Conditions | None) -> dict[str, Any]:
    """What the host saw of the process and around it; all None where nothing was promised."""
    seen = Seen() if conditions is None else conditions.seen
    return {
        "core_group": conditions.core_group if conditions else None,
        "host_cgroup": seen.cgroup,
        "partition": seen.partition,
        "memory_max": seen.memory_max,
        "swap_max": seen.swap_max,
        "sibling_busy_seconds": conditions.sibling_busy_seconds if conditions else None,
        "group_steal_seconds": conditions.steal_seconds if conditions else None,
        "throttled": conditions.throttled if conditions else None,
    }


def _conditions(report: SelfReport | None) -> dict[str, Any]:
    told = report.model_dump() if report else {}
    counter = (report.counter.model_dump() if report and report.counter else None) or {}
    return {
        "warmup": report.warmup if report else 0,
        **{name: told.get(name) for name in _TOLD},
        **_differences(report.before if report else None, report.after if report else None),
        "second_call_ns": report.warmup_ns[1] if report and len(report.warmup_ns) > 1 else None,
        "counter_enabled_ns": counter.get("time_enabled_ns"),
        "counter_running_ns": counter.get("time_running_ns"),
        "counter_events": counter.get("events"),
        "warmup_seconds": sum(report.warmup_ns) / 1e9 if report else None,
        "loop_seconds": _seconds(report.wall_ns if report else None),
        "harness_seconds": _seconds(report.harness_ns if report else None),
    }


_TOLD = (
    "first_call_ns",
    "first_call_import_ns",
    "environment_bytes",
    "environment_crc32",
    "arguments_bytes",
    "arguments_crc32",
    "address_randomization",
    "start_ticks",
    "python",
    "implementation",
    "startup_seconds",
    "gc_enabled",
)


def _seconds(ns: int | None) -> float | None:
    return None if ns is None else ns / 1e9


def _differences(before: Snapshot | None, after: Snapshot | None) -> dict[str, Any]:
    names = ("voluntary_switches", "involuntary_switches", "minor_faults", "major_faults", "user_seconds")
    differences = {
        name: None if before is None or after is None else _minus(getattr(after, name), getattr(before, name))
        for name in (*names, "system_seconds", "steal_seconds")
    }
    cgroup = after.cgroup if after else None
    return {
        **differences,
        "frequency_khz": after.frequency_khz if after else None,
        "threads": after.threads if after else None,
        "gc_collections": _minus(_collections(after), _collections(before)),
        "cpus_allowed": after.cpus_allowed if after else None,
        "mems_allowed": after.mems_allowed if after else None,
        "cgroup": cgroup.replace("\n", ";") if cgroup else None,
    }


def _collections(snapshot: Snapshot | None) -> int | None:
    return None if snapshot is None or snapshot.gc_collections is None else sum(snapshot.gc_collections)


def _minus(late: float | None, early: float | None) -> float | None:
    return None if late is None or early is None else late - early
