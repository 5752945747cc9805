from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from small_cases import DIGEST

from patchperf.config import SandboxSettings
from patchperf.counters.protocol import Count
from patchperf.measure.journal import Entry
from patchperf.measure.self_report import SelfReport, Snapshot
from patchperf.sandbox.local import local_sandbox
from patchperf.sandbox.protocol import Sandbox


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Sandbox:
    return local_sandbox(SandboxSettings(), tmp_path_factory.mktemp("sandbox"))


def snapshot(**changes: Any) -> Snapshot:
    values: dict[str, Any] = {
        "voluntary_switches": 1,
        "involuntary_switches": 2,
        "minor_faults": 3,
        "major_faults": 4,
        "user_seconds": 0.5,
        "system_seconds": 0.25,
        "threads": 1,
        "children_faults": 0,
        "last_task": 3,
        "gc_counts": (1, 2, 3),
        "gc_collections": (4, 5, 6),
        "cpus_allowed": "0-1",
        "mems_allowed": "0",
        "cgroup": "1:cpu:/a\n0::/b",
        "steal_seconds": 7.0,
        "frequency_khz": None,
    }
    return Snapshot(**values | changes)


@pytest.fixture
def make_report() -> Callable[..., SelfReport]:
    def make(**changes: Any) -> SelfReport:
        after = snapshot(involuntary_switches=12, minor_faults=33, user_seconds=1.5, steal_seconds=7.5)
        values: dict[str, Any] = {
            "format": 1,
            "token": "token",
            "invocation": 1,
            "mode": "replicate",
            "pid": 3,
            "start_ticks": 100,
            "startup_seconds": 0.2,
            "python": "3.9.18",
            "implementation": "cpython",
            "hash_seed": "0",
            "hash_randomization": 1,
            "environment_bytes": 900,
            "environment_crc32": 77,
            "arguments_bytes": 40,
            "arguments_crc32": 88,
            "address_randomization": "2",
            "clock": "perf_counter_ns",
            "call_shape": "_",
            "asynchronous": False,
            "warmup": 2,
            "warmup_ns": (3_000_000, 1_000_000),
            "first_call_ns": 3_000_000,
            "first_call_import_ns": 2_000_000,
            "repetitions": 10,
            "wall_ns": 5_000_000_000,
            "seconds_per_repetition": None,
            "batches": (),
            "steps": (),
            "counter": Count(backend="perf", value=4321, time_enabled_ns=9, time_running_ns=9, events=1, problem=None),
            "before": snapshot(),
            "after": after,
            "children": 0,
            "gc_enabled": True,
            "import_path": None,
            "announced": None,
            "harness_ns": 20_000_000,
            "failed": None,
        }
        return SelfReport(**values | changes)

    return make


@pytest.fixture
def make_entry(make_report: Callable[..., SelfReport]) -> Callable[..., Entry]:
    def make(**changes: Any) -> Entry:
        values: dict[str, Any] = {
            "digest": DIGEST,
            "stage": "replicate",
            "solution": "a",
            "attempt": 1,
            "hash_seed": 0,
            "padding": 17,
            "replicate": 0,
            "order": 0,
            "repetitions": 10,
            "started_at": "2030-01-02T03:04:05.000006Z",
            "ended": "exit",
            "exit_code": 0,
            "seconds": 6.0,
            "host_seconds": 0.1,
            "peak_memory_mb": 55.5,
            "pid": 4567,
            "confinement": "namespaces+cgroup",
            "isolation": "none",
            "conditions": None,
            "host": "somewhere",
            "emulation": None,
            "void": None,
            "output_tail": "",
            "report": make_report(),
        }
        return Entry.model_validate(values | changes)

    return make
