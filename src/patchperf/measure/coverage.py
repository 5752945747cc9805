"""What happened in a measured loop that its count of instructions does not cover."""

from __future__ import annotations

from collections.abc import Sequence

from patchperf.counters.protocol import Backend, Count
from patchperf.counters.readings import STEADY, drift
from patchperf.measure.self_report import SelfReport

KERNEL_SHARE = 0.01
"""Share of a loop's processor time in the kernel from which on it is worth a word."""

KERNEL_SECONDS = 0.2
"""Processor time of a loop below which the kernel's ticks do not tell the share."""

_WITH_CHILDREN = frozenset({"perf"})
_WITHOUT_THREADS = frozenset({"cirron"})


def not_covered(
    backend: Backend,
    count: Count | None,
    report: SelfReport,
    kernel: float | None,
    lacking: Sequence[str],
    *,
    own_pids: bool,
    scaled: bool,
) -> str:
    """What a count leaves out of the loop, each "code" or "code:detail", joined by "; "; empty if nothing is known.

    - *children:n*: n child processes were started (no n: some were), and what they did is not counted;
    - *threads:n*: the process had n threads (no n: it started some), and one of them was counted;
    - *kernel:p*: p percent of the loop's processor time passed in the kernel, where no instruction is counted;
    - *vectors:a,b*: vector extensions that the machine has and the emulated processor has not, so that libraries may
      have taken another path than they do natively;
    - *unsteady:p*: the calls in the two halves of what was counted differ by p percent (no p: only one was counted), so
      the loop of N calls, to which the count is scaled, may differ from it as well.

    ``report`` is of the process that was counted, ``kernel`` the kernel's share of the loop's processor time without an
    emulator (None if unknown), ``lacking`` are those vector extensions. ``own_pids`` says whether the process had a pid
    namespace to itself, ``scaled`` whether fewer repetitions were counted than the value is for.
    """
    flags = (
        _children(backend, count, report),
        threads(report, own_pids=own_pids) if backend in _WITHOUT_THREADS else "",
        "" if kernel is None or kernel < KERNEL_SHARE else f"kernel:{100 * kernel:.0f}",
        f"vectors:{','.join(lacking)}" if lacking else "",
        _unsteady(count) if scaled and count is not None else "",
    )
    return "; ".join(filter(None, flags))


def _children(backend: Backend, count: Count | None, report: SelfReport) -> str:
    if count is not None and count.processes:
        return f"children:{count.processes}"
    return "children" if backend not in _WITH_CHILDREN and children(report) else ""


def _unsteady(count: Count) -> str:
    moved = drift(count)
    if moved is None:
        return "unsteady"
    return "" if abs(moved) <= STEADY else f"unsteady:{100 * abs(moved):.1f}"


def children(report: SelfReport) -> bool:
    """Whether the loop had child processes: some are left, or some ended and were waited for."""
    before, after = report.before, report.after
    return (report.children or 0) > 0 or (before is not None and after.children_faults > before.children_faults)


def threads(report: SelfReport, *, own_pids: bool) -> str:
    """The code of other threads that the loop had; empty if none are known.

    In a pid namespace of its own (``own_pids``) the number of the task started last also tells of threads that came and
    went; elsewhere any process of the machine moves it.
    """
    before, after = report.before, report.after
    if (after.threads or 0) > 1:
        return f"threads:{after.threads}"
    if not own_pids or before is None or before.last_task is None or after.last_task is None or children(report):
        return ""
    return "threads" if after.last_task != before.last_task else ""


def kernel_share(user_seconds: float | None, system_seconds: float | None) -> float | None:
    """Share of a loop's processor time that was spent in the kernel; None where that is too short to tell."""
    if user_seconds is None or system_seconds is None or user_seconds + system_seconds < KERNEL_SECONDS:
        return None
    return system_seconds / (system_seconds + user_seconds)
