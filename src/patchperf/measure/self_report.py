"""The measured process's own account of one run, as the in-process module writes it."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from patchperf.counters.protocol import Count

Process = int | tuple[int, int | None]
Mode = Literal["probe", "trial", "calibrate", "replicate"]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Failure(_Part):
    """Which call of the body raised (1-based, warm-up included), in which stage, and what."""

    stage: str
    call: int
    call_of_stage: int
    type: str
    text: str
    error: str
    skipped: bool


class Snapshot(_Part):
    """The process's counters at one moment; None where the sandbox or the kernel does not tell.

    ``children_faults`` are the page faults of child processes that were waited for, ``last_task`` is the number of the
    thread or process started last in the pid namespace. ``steal_seconds`` is of all CPUs together since boot,
    ``frequency_khz`` of the CPU the process ran on.
    """

    voluntary_switches: int
    involuntary_switches: int
    minor_faults: int
    major_faults: int
    user_seconds: float
    system_seconds: float
    threads: int | None
    children_faults: int
    last_task: int | None
    gc_counts: tuple[int, ...] | None
    gc_collections: tuple[int, ...] | None
    cpus_allowed: str | None
    mems_allowed: str | None
    cgroup: str | None
    steal_seconds: float | None
    frequency_khz: int | None


class SelfReport(_Part):
    """One invocation of the measured test.

    ``wall_ns`` is of the loop of ``repetitions`` alone (of the last batch in a trial); ``batches`` and ``steps`` are
    (count, nanoseconds) of a trial, and of a calibration, which runs a quarter of the count it times, or of the parts
    of a replicate's loop, which is one unless it runs under an emulator; ``start_ticks``
    is the process's start in clock ticks since boot; ``startup_seconds`` lie between that and the call of the test;
    ``first_call_import_ns`` is what the first call took to import modules that were not there yet;
    ``harness_ns`` is what the in-process module itself took. ``announced`` says why the process could not tell the
    host which one it is; None if it could. ``children`` says how many child
    processes more a replicate has after its loop than before its warm-up.
    """

    format: Literal[1]
    token: str | None
    invocation: int
    mode: Mode
    pid: int
    start_ticks: int | None
    startup_seconds: float | None
    python: str
    implementation: str
    hash_seed: str | None
    hash_randomization: int
    environment_bytes: int | None
    environment_crc32: int | None
    arguments_bytes: int | None
    arguments_crc32: int | None
    address_randomization: str | None
    clock: str
    call_shape: str | None
    asynchronous: bool | None
    warmup: int
    warmup_ns: tuple[int, ...]
    first_call_ns: int | None
    first_call_import_ns: int | None
    repetitions: int
    wall_ns: int | None
    seconds_per_repetition: float | None
    batches: tuple[tuple[int, int], ...]
    steps: tuple[tuple[int, int], ...]
    counter: Count | None
    children: int | None
    before: Snapshot | None
    after: Snapshot
    gc_enabled: bool
    import_path: tuple[str, ...] | None
    announced: str | None
    harness_ns: int | None
    failed: Failure | None

    @property
    def environment(self) -> str:
        """What tells the process's environment from others."""
        return f"{self.environment_bytes} bytes (CRC-32 {self.environment_crc32})"

    @property
    def arguments(self) -> str:
        """What tells the process's command line from others."""
        return f"{self.arguments_bytes} bytes (CRC-32 {self.arguments_crc32})"


def process_of(report: SelfReport, pid: int | None) -> Process:
    """What tells one process from another: its number on this host, or its own number with its start."""
    return pid if pid is not None else (report.pid, report.start_ticks)


def parse_report(record: object) -> SelfReport | str:
    """The report in a record, or in one line why it is none."""
    try:
        return SelfReport.model_validate(record)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
