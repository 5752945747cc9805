"""What happened in a measured loop that its count of instructions does not cover."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from patchperf.counters.protocol import Backend, Count
from patchperf.measure.self_report import SelfReport

KERNEL_SHARE = 0.01
"""Share of a loop's processor time in the kernel from which on it is worth a word."""

KERNEL_SECONDS = 0.2
"""Processor time of a loop below which the kernel's ticks do not tell the share."""

_WITH_CHILDREN = frozenset({"perf"})
_WITHOUT_THREADS = frozenset({"cirron"})


def not_covered(
    backend: Backend, count: Count | None, report: SelfReport, native: SelfReport | None, lacking: Sequence[str]
) -> str:
    """What a count leaves out of the loop, "code: detail" joined by "; "; empty if nothing is known to be left out.

    ``report`` is of the process that was counted, ``native`` of one that ran the same loop without an emulator,
    ``lacking`` are the vector extensions that the machine has and the emulated processor does not.
    """
    return "; ".join(_left_out(backend, count, report, native, lacking))


def _left_out(
    backend: Backend, count: Count | None, report: SelfReport, native: SelfReport | None, lacking: Sequence[str]
) -> Iterator[str]:
    started = children(report)
    if count is not None and count.processes:
        yield f"children: {count.processes} processes were started"
    elif started and backend not in _WITH_CHILDREN:
        yield "children: processes were started"
    if backend in _WITHOUT_THREADS and (lasting := threads(report)):
        yield f"threads: {lasting}"
    share = kernel_share(native or report)
    if share is not None and share >= KERNEL_SHARE:
        yield f"kernel: {100 * share:.0f} % of the time"
    if lacking:
        yield f"vectors: no {', '.join(lacking)}"


def children(report: SelfReport) -> bool:
    """Whether the loop had child processes: some are left, or some ended and were waited for."""
    before, after = report.before, report.after
    return (report.children or 0) > 0 or (before is not None and after.children_faults > before.children_faults)


def threads(report: SelfReport) -> str:
    """In words which other threads the loop had; empty if none are known.

    The number of the last task tells of threads that came and went, where the process has a pid namespace to itself.
    """
    before, after = report.before, report.after
    if (after.threads or 0) > 1:
        return f"{after.threads} threads at the end"
    if before is None or before.last_task is None or after.last_task is None or children(report):
        return ""
    return "threads were started" if after.last_task != before.last_task else ""


def kernel_share(report: SelfReport) -> float | None:
    """Share of the loop's processor time that was spent in the kernel; None where that is too short to tell."""
    if report.before is None:
        return None
    system = report.after.system_seconds - report.before.system_seconds
    user = report.after.user_seconds - report.before.user_seconds
    return system / (system + user) if system + user >= KERNEL_SECONDS else None
