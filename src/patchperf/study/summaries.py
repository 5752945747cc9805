"""The runner's own summary against the results in its log: what a patch prints is not what a runner found.

Parsers take every line that looks like a result for one. A runner counts its tests itself and prints that once, at its
end. So a log is in conflict with itself where it has no summary, or several, where results stand behind the summary,
where more tests have passed than it counts, or where pytest's own list of those that passed (``-rA``) lacks one.
"""

from __future__ import annotations

import re

from patchperf.study.calls import Runner
from patchperf.study.derivation import Underivable
from patchperf.study.instance import Instance
from patchperf.study.logs import SUMMARIES, Statuses, parse_log, tests_run
from patchperf.study.native import runner_of

NO_SUMMARY = "the log has no summary of the test runner"

_LIST = re.compile(r"^=+ short test summary info =+$", re.MULTILINE)
_SKIPPED = re.compile(r"\bskipped=(\d+)")
_PASSING = ("PASSED", "XFAIL")
_PASSED = re.compile(r"(\d+) (?:passed|xfailed)\b")


def summary_conflict(output: str, statuses: Statuses, instance: Instance) -> str:
    """In one line why the results in a log are not those that its runner sums up; empty where they may be.

    ``statuses`` are what the instance's parser reads from ``output``. Only for runs of a native command whose ground
    truth prints one summary: of several, none can be told from a printed one.
    """
    try:
        runner = runner_of(instance)
    except Underivable:
        return ""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", output)
    summaries = list(SUMMARIES[runner].finditer(plain))
    if len(summaries) != 1:
        return f"the log has {len(summaries)} summaries of the test runner" if summaries else NO_SUMMARY
    behind = _listed(_passing(parse_log(plain[summaries[0].end() :], instance)), instance)
    if behind:
        return f"results are printed behind the runner's summary: {_some(behind)}"
    passing = _passing(statuses)
    own = _own_list(plain[: summaries[0].start()], instance) if runner == "pytest" else None
    if own is not None:
        more = _listed([test for test in passing if own.get(test) not in _PASSING], instance)
        return f"passed tests are not in the runner's own list: {_some(more)}" if more else ""
    told = _told(summaries[0], plain, runner)
    if told is not None and len(passing) > told:
        return f"the log names {len(passing)} passed tests, its runner counts {told}"
    return ""


def _told(summary: re.Match[str], output: str, runner: Runner) -> int | None:
    """How many tests may have passed: what the summary says has; of unittest's, all that were run and not skipped."""
    if runner in ("pytest", "sympy"):
        return sum(map(int, _PASSED.findall(summary[0])))
    run, skipped = tests_run(output, runner), _SKIPPED.search(summary[0])
    return None if run is None else run - (int(skipped[1]) if skipped else 0)


def _own_list(before: str, instance: Instance) -> Statuses | None:
    """The statuses in pytest's last list before its summary, where it lists what has passed (``-rA``); else None."""
    _, *lists = _LIST.split(before)
    listed = parse_log(lists[-1], instance) if lists else {}
    return listed if "PASSED" in listed.values() else None


def _listed(tests: list[str], instance: Instance) -> list[str]:
    """Those of the tests that an instance's lists have, also as a name that was cut; others are anybody's words."""
    names = {*instance.fail_to_pass, *instance.pass_to_pass}
    cut = tuple(name for name in names if name.count("[") > name.count("]"))
    return [test for test in tests if test in names or test.startswith(cut)]


def _passing(statuses: Statuses) -> list[str]:
    return sorted(test for test, status in statuses.items() if status in _PASSING)


def _some(tests: list[str]) -> str:
    return tests[0] if len(tests) == 1 else f"{tests[0]} and {len(tests) - 1} more"
