"""From test statuses to a grade: which fail-to-pass and pass-to-pass tests a patch satisfies, in a benchmark's dialect.

=====================  ======================================  ==========================================
a test is              SWE-bench, version 5                    SWE-bench-Live
=====================  ======================================  ==========================================
F2P, passed            passes                                  passes
F2P, expected failure  passes                                  fails
F2P, failed or error   fails                                   fails
F2P, skipped, missing  fails                                   fails
P2P, passed            holds                                   holds
P2P, expected failure  holds                                   fails
P2P, skipped           holds                                   holds
P2P, failed or error   fails                                   fails
P2P, missing           fails                                   holds
=====================  ======================================  ==========================================

What the table leaves open (``swebench/harness/grading.py`` and ``evaluation/evaluation.py`` of the two benchmarks):

- SWE-bench-Live asks for every F2P test since June 2026; before, those that were skipped or missing did no harm once
  another had passed. The later rule is the one here.
- A run that proves nothing (see ``grade``) resolves nothing, as in SWE-bench; SWE-bench-Live looks at no exit code.
- Unexpected passes (XPASS) are in no parser of the benchmarks, so such a test is missing; a strict one is FAILED.
- An identifier with an open bracket was cut at a space. In SWE-bench it stands for all tests that begin with it, if
  those agree, and is missing if they do not; an exact name comes first. In SWE-bench-Live it is a name like others.
- An identifier that a list has twice counts once; one that is in both lists counts in both.
- Of several lines on one test the last holds, as in both benchmarks' parsers.
- Without pass-to-pass tests nothing can break: all of none hold. Without fail-to-pass tests there is no outcome.
- Both dialects read the same run: where the other one comes to another outcome, the verdict has it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pydantic import BaseModel, ConfigDict

from patchperf.study.instance import Dialect, Instance
from patchperf.study.logs import Status

MISSING = "missing"

OTHER: dict[Dialect, Dialect] = {"swe-bench": "swe-bench-live", "swe-bench-live": "swe-bench"}
"""The other dialect of each."""

_PASSING = {"swe-bench": {"PASSED", "XFAIL"}, "swe-bench-live": {"PASSED"}}
_HOLDING = {
    "swe-bench": {"PASSED", "XFAIL", "SKIPPED"},
    "swe-bench-live": {"PASSED", "SKIPPED", MISSING},
}


class Grade(BaseModel):
    """The tests of one instance after a patch.

    ``f2p`` and ``p2p`` give each test's status in the log, or "missing"; ``f2p_held`` and ``p2p_held`` whether the
    dialect lets it count as passed. ``invalid`` is empty, or says why the run proves nothing: then no test counts.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    dialect: Dialect
    f2p: dict[str, str]
    p2p: dict[str, str]
    f2p_held: dict[str, bool]
    p2p_held: dict[str, bool]
    invalid: str = ""
    note: str = ""

    @property
    def f2p_passed(self) -> int:
        """How many fail-to-pass tests count as passed."""
        return sum(self.f2p_held.values())

    @property
    def f2p_total(self) -> int:
        """How many fail-to-pass tests there are."""
        return len(self.f2p_held)

    @property
    def p2p_passed(self) -> int:
        """How many pass-to-pass tests count as passed."""
        return sum(self.p2p_held.values())

    @property
    def p2p_total(self) -> int:
        """How many pass-to-pass tests are charged."""
        return len(self.p2p_held)

    @property
    def resolved(self) -> bool:
        """Whether the run is valid and every test counts as passed."""
        return not self.invalid and self.f2p_passed == self.f2p_total and self.p2p_passed == self.p2p_total


def grade(
    instance: Instance,
    statuses: Mapping[str, Status],
    exit_code: int,
    ended: str,
    unreproduced: Collection[str] = (),
    *,
    dialect: Dialect | None = None,
    conflict: str = "",
) -> Grade:
    """The grade of one run of the native command, in the instance's own dialect or another.

    ``ended`` is "exit" or what stopped the command (see ``Completed``). ``unreproduced`` are pass-to-pass tests
    that the ground truth does not pass here: they are left out. A run is invalid if it was stopped, if its log names no
    test, or if it exits with a code other than 0 and its log names no failure: what was printed is not what happened.
    ``conflict`` is what else speaks against it, in one line.
    """
    dialect = dialect or instance.dialect
    f2p = {test: _status(test, statuses, dialect) for test in instance.fail_to_pass}
    left_out = set(unreproduced)
    charged = [test for test in instance.pass_to_pass if test not in left_out]
    p2p = {test: _status(test, statuses, dialect) for test in charged}
    invalid = _invalid(statuses, exit_code, ended) or conflict
    skipped = len(instance.pass_to_pass) - len(charged)
    notes = [invalid] if invalid else []
    if skipped:
        notes.append(f"{skipped} P2P tests not charged: the ground truth does not pass them here")
    return Grade(
        dialect=dialect,
        f2p=f2p,
        p2p=p2p,
        f2p_held={test: not invalid and status in _PASSING[dialect] for test, status in f2p.items()},
        p2p_held={test: not invalid and status in _HOLDING[dialect] for test, status in p2p.items()},
        invalid=invalid,
        note="; ".join(notes),
    )


def _status(test: str, statuses: Mapping[str, Status], dialect: Dialect) -> str:
    if test in statuses:
        return statuses[test]
    if dialect == "swe-bench" and test.count("[") > test.count("]"):
        found = [status for name, status in statuses.items() if name.startswith(test)]
        if found and len({status in _PASSING[dialect] for status in found}) == 1:
            return found[0]
    return MISSING


def _invalid(statuses: Mapping[str, Status], exit_code: int, ended: str) -> str:
    if ended != "exit":
        return f"stopped: {ended}"
    if not statuses:
        return f"the log names no test (exit code {exit_code})"
    if exit_code != 0 and not {"FAILED", "ERROR"} & set(statuses.values()):
        return f"exit code {exit_code}, but the log names no failure"
    return ""
