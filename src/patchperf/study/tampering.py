"""Patches that meddle with the measuring or the judging itself: wires that honest code never touches.

Code that runs in the process of the tests can do there whatever it likes. What is beyond its reach is kept there by the
sandbox, files that only meddle are put back (``foreign``), and a log has to agree with itself (``summaries``). What is
left (a module under the name of ours, a runner's insides replaced at run time, a whole report printed before the
process is ended) has to name the things, and that is seen here without a run. A patch that builds the names as it runs
is tried with tests that have to fail (``canaries``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from patchperf.study.solutions import Change

_OUR_NAME = re.compile(rb"patchperf", re.IGNORECASE)

_RUNNER = re.compile(
    rb"\b_pytest\b|\bpytest_(?:runtest|report|terminal|session|collection|pyfunc|cmdline|configure|unconfigure|plugin)"
    rb"|\bpytest11\b|sys\.modules\[.(?:_?pytest|unittest)|\bunittest(?:\.\w+)+\s*=(?!=)"
    rb"|setattr\(\s*unittest\b"
)
"""The insides of runners: hooks and plugins of pytest, and assignments into unittest."""

_TEXTS = (".rst", ".md", ".txt", ".cfg", ".toml", ".ini")
"""Endings of files that only name such things."""

_ENDS = re.compile(rb"\b_exit\(")
_REPORTS = re.compile(rb"\bPASSED\b|\bpassed\b|\.\.\. ok\b|tests? finished|short test summary")


def tampering(changes: Iterable[Change], truth: str = "") -> str | None:
    """The first file that a patch makes meddle, in one line; None for an honest patch.

    A file meddles that has our name or says it, that newly names a runner's insides, or that newly ends the process
    and has words of a report. ``truth`` is the ground truth's patch: where that names a runner's insides, the issue is
    about them, and so may be every candidate.
    """
    of_runners = _RUNNER.search(truth.encode("utf-8", "surrogateescape")) is not None
    for change in changes:
        if change.new is None:
            continue
        base = change.base or b""
        if _OUR_NAME.search(change.path.encode("utf-8", "surrogateescape")) and change.base is None:
            return f"{change.path} has the name of the tools that measure"
        if _OUR_NAME.search(change.new) and not _OUR_NAME.search(base):
            return f"{change.path} names the tools that measure"
        if not of_runners and not change.path.endswith(_TEXTS) and _newly(_RUNNER, change.new, base):
            return f"{change.path} reaches into the test runner"
        if _newly(_ENDS, change.new, base) and _newly(_REPORTS, change.new, base):
            return f"{change.path} ends the process and has words of a test report"
    return None


def _newly(words: re.Pattern[bytes], new: bytes, base: bytes) -> bool:
    return words.search(new) is not None and words.search(base) is None
