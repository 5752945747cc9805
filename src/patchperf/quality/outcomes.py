"""What became of a patch: the cross of the fail-to-pass and the pass-to-pass tests that it satisfies."""

from __future__ import annotations

from typing import Literal

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

_Share = Literal["all", "some", "none"]

_CELLS: dict[_Share, tuple[Outcome, Outcome]] = {
    "all": ("Resolved", "Breaking Resolved"),
    "some": ("Partially Resolved", "Work in Progress"),
    "none": ("No-Op", "Regression"),
}


def outcome(f2p_passed: int, f2p_total: int, p2p_passed: int, p2p_total: int) -> Outcome:
    """The outcome of a patch whose tests were run (SWE-bench, Appendix C.5).

    ========  ==================  =================  =================
    F2P       all P2P             some P2P           no P2P
    ========  ==================  =================  =================
    all       Resolved            Breaking Resolved  Breaking Resolved
    some      Partially Resolved  Work in Progress   Work in Progress
    none      No-Op               Regression         Regression
    ========  ==================  =================  =================

    An instance without pass-to-pass tests has nothing that could break: all of none hold, as in the benchmark. Raises
    InputError for counts out of range and for an instance without fail-to-pass tests, which asks for nothing.
    """
    if f2p_total < 1 or not 0 <= f2p_passed <= f2p_total or not 0 <= p2p_passed <= p2p_total:
        raise InputError(f"no outcome for {f2p_passed} of {f2p_total} F2P and {p2p_passed} of {p2p_total} P2P tests")
    share: _Share = "all" if f2p_passed == f2p_total else "some" if f2p_passed else "none"
    kept, broke = _CELLS[share]
    return kept if p2p_passed == p2p_total else broke
