"""What became of a patch: the cross of the fail-to-pass and the pass-to-pass tests that it satisfies."""

from __future__ import annotations

from typing import Literal, get_args

from patchperf.errors import InputError

Outcome = Literal[
    "Resolved",
    "Breaking Resolved",
    "Partially Resolved",
    "Work in Progress",
    "No-Op",
    "Regression",
    "not applied",
    "empty",
    "test only",
    "timed out",
    "infrastructure failure",
]
"""The six cells' names for a patch whose tests were run, and why those of another were not, or not to their end."""

Level = Literal["all", "partial", "none"]
"""How many of some tests hold."""

ORDER: tuple[Outcome, ...] = get_args(Outcome)
"""All outcomes, from the best cell to those that no test has judged."""

CELLS = ORDER[:6]
"""The outcomes of candidates whose tests were run to their end."""

_CELLS: dict[Level, tuple[Outcome, Outcome]] = {
    "all": ("Resolved", "Breaking Resolved"),
    "partial": ("Partially Resolved", "Work in Progress"),
    "none": ("No-Op", "Regression"),
}


def outcome(f2p_passed: int, f2p_total: int, p2p_passed: int, p2p_total: int) -> Outcome:
    """The outcome of a patch whose tests were run (SWE-bench, Appendix C.5).

    ========  ==================  =================  =================
    F2P       all P2P             partial            none
    ========  ==================  =================  =================
    all       Resolved            Breaking Resolved  Breaking Resolved
    partial   Partially Resolved  Work in Progress   Work in Progress
    none      No-Op               Regression         Regression
    ========  ==================  =================  =================

    An instance without pass-to-pass tests has nothing that could break: all of none hold, as in the benchmark. Raises
    InputError for counts out of range and for an instance without fail-to-pass tests, which asks for nothing.
    """
    if f2p_total < 1 or not 0 <= f2p_passed <= f2p_total or not 0 <= p2p_passed <= p2p_total:
        raise InputError(f"no outcome for {f2p_passed} of {f2p_total} F2P and {p2p_passed} of {p2p_total} P2P tests")
    kept, broke = _CELLS[level(f2p_passed, f2p_total)]
    return kept if level(p2p_passed, p2p_total) == "all" else broke


def level(passed: int, total: int) -> Level:
    """How many of some tests hold; all, where there are none."""
    return "all" if passed == total else "partial" if passed else "none"
