"""Every rule of both grading dialects on a log of its own, as a runner would have printed it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from small_instances import make_instance

from patchperf.errors import InputError
from patchperf.sandbox.protocol import Completed
from patchperf.study.grading import OTHER, grade
from patchperf.study.instance import Dialect
from patchperf.study.logs import parse_log
from patchperf.study.verdicts import outcomes

Counts = tuple[int, int, int, int]
"""F2P tests that pass, F2P tests, P2P tests that hold, P2P tests."""

BOTH = "PASSED t.py::fix\nPASSED t.py::keep\n"


@dataclass(frozen=True)
class Rule:
    """A log, the lists that it is graded against, and what each dialect makes of it."""

    log: str
    swe_bench: tuple[str, Counts]
    live: tuple[str, Counts]
    f2p: tuple[str, ...] = ("t.py::fix",)
    p2p: tuple[str, ...] = ("t.py::keep",)
    exit_code: int = 0
    ended: str = "exit"
    parser: str = "parse_log_pytest"


RULES = {
    "all pass": Rule(BOTH, ("Resolved", (1, 1, 1, 1)), ("Resolved", (1, 1, 1, 1))),
    "no P2P tests": Rule(BOTH, ("Resolved", (1, 1, 0, 0)), ("Resolved", (1, 1, 0, 0)), p2p=()),
    "no P2P tests and no F2P test passes": Rule(
        "FAILED t.py::fix - assert 0\n", ("No-Op", (0, 1, 0, 0)), ("No-Op", (0, 1, 0, 0)), p2p=(), exit_code=1
    ),
    "F2P fails": Rule(
        "FAILED t.py::fix - assert 0\nPASSED t.py::keep\n",
        ("No-Op", (0, 1, 1, 1)),
        ("No-Op", (0, 1, 1, 1)),
        exit_code=1,
    ),
    "F2P in error": Rule(
        "ERROR t.py::fix - OSError\nPASSED t.py::keep\n", ("No-Op", (0, 1, 1, 1)), ("No-Op", (0, 1, 1, 1)), exit_code=1
    ),
    "P2P fails": Rule(
        "PASSED t.py::fix\nFAILED t.py::keep - assert 0\n",
        ("Breaking Resolved", (1, 1, 0, 1)),
        ("Breaking Resolved", (1, 1, 0, 1)),
        exit_code=1,
    ),
    "P2P in error": Rule(
        "PASSED t.py::fix\nERROR t.py::keep\n",
        ("Breaking Resolved", (1, 1, 0, 1)),
        ("Breaking Resolved", (1, 1, 0, 1)),
        exit_code=1,
    ),
    "F2P skipped, as pytest sums it up": Rule(
        "PASSED t.py::keep\nSKIPPED [1] t.py:7: not here\n", ("No-Op", (0, 1, 1, 1)), ("No-Op", (0, 1, 1, 1))
    ),
    "F2P skipped under its name": Rule(
        "t.py::fix SKIPPED\nt.py::keep PASSED\n",
        ("No-Op", (0, 1, 1, 1)),
        ("No-Op", (0, 1, 1, 1)),
        parser="parse_log_pytest_v2",
    ),
    "one of two F2P skipped under its name": Rule(
        "t.py::fix PASSED\nt.py::more SKIPPED\nt.py::keep PASSED\n",
        ("Partially Resolved", (1, 2, 1, 1)),
        ("Partially Resolved", (1, 2, 1, 1)),
        f2p=("t.py::fix", "t.py::more"),
        parser="parse_log_pytest_v2",
    ),
    "P2P skipped, as pytest sums it up: missing": Rule(
        "PASSED t.py::fix\nSKIPPED [1] t.py:7: not here\n",
        ("Breaking Resolved", (1, 1, 0, 1)),
        ("Resolved", (1, 1, 1, 1)),
    ),
    "P2P skipped under its name": Rule(
        "t.py::fix PASSED\nt.py::keep SKIPPED\n",
        ("Resolved", (1, 1, 1, 1)),
        ("Resolved", (1, 1, 1, 1)),
        parser="parse_log_pytest_v2",
    ),
    "F2P is an expected failure": Rule(
        "XFAIL t.py::fix - known\nPASSED t.py::keep\n", ("Resolved", (1, 1, 1, 1)), ("No-Op", (0, 1, 1, 1))
    ),
    "P2P is an expected failure": Rule(
        "PASSED t.py::fix\nXFAIL t.py::keep\n", ("Resolved", (1, 1, 1, 1)), ("Breaking Resolved", (1, 1, 0, 1))
    ),
    "F2P passes unexpectedly": Rule(
        "XPASS t.py::fix\nPASSED t.py::keep\n", ("No-Op", (0, 1, 1, 1)), ("No-Op", (0, 1, 1, 1))
    ),
    "P2P passes unexpectedly": Rule(
        "PASSED t.py::fix\nXPASS t.py::keep\n", ("Breaking Resolved", (1, 1, 0, 1)), ("Resolved", (1, 1, 1, 1))
    ),
    "F2P passes unexpectedly, strictly": Rule(
        "FAILED t.py::fix - [XPASS(strict)]\nPASSED t.py::keep\n",
        ("No-Op", (0, 1, 1, 1)),
        ("No-Op", (0, 1, 1, 1)),
        exit_code=1,
    ),
    "P2P passes unexpectedly, strictly": Rule(
        "PASSED t.py::fix\nFAILED t.py::keep - [XPASS(strict)]\n",
        ("Breaking Resolved", (1, 1, 0, 1)),
        ("Breaking Resolved", (1, 1, 0, 1)),
        exit_code=1,
    ),
    "F2P missing": Rule("PASSED t.py::keep\n", ("No-Op", (0, 1, 1, 1)), ("No-Op", (0, 1, 1, 1))),
    "one of two F2P missing": Rule(
        BOTH,
        ("Partially Resolved", (1, 2, 1, 1)),
        ("Partially Resolved", (1, 2, 1, 1)),
        f2p=("t.py::fix", "t.py::gone"),
    ),
    "P2P missing": Rule("PASSED t.py::fix\n", ("Breaking Resolved", (1, 1, 0, 1)), ("Resolved", (1, 1, 1, 1))),
    "all missing but another test": Rule(
        "FAILED t.py::other\n", ("Regression", (0, 1, 0, 1)), ("No-Op", (0, 1, 1, 1)), exit_code=1
    ),
    "a cut name whose tests agree": Rule(
        "PASSED t.py::p[a b]\nXFAIL t.py::p[a c]\nPASSED t.py::keep\n",
        ("Resolved", (1, 1, 1, 1)),
        ("No-Op", (0, 1, 1, 1)),
        f2p=("t.py::p[a",),
        parser="parse_log_pytest_v2",
    ),
    "a cut name whose tests do not agree": Rule(
        "PASSED t.py::p[a b]\nFAILED t.py::p[a c] - assert 0\nPASSED t.py::keep\n",
        ("No-Op", (0, 1, 1, 1)),
        ("No-Op", (0, 1, 1, 1)),
        f2p=("t.py::p[a",),
        exit_code=1,
        parser="parse_log_pytest_v2",
    ),
    "a cut P2P name whose tests do not agree": Rule(
        "PASSED t.py::fix\nPASSED t.py::p[a b]\nFAILED t.py::p[a c] - assert 0\n",
        ("Breaking Resolved", (1, 1, 0, 1)),
        ("Resolved", (1, 1, 1, 1)),
        p2p=("t.py::p[a",),
        exit_code=1,
        parser="parse_log_pytest_v2",
    ),
    "a cut P2P name, of tests that are skipped first": Rule(
        "PASSED t.py::fix\nt.py::p[a b] SKIPPED\nFAILED t.py::p[a c]\n",
        ("Resolved", (1, 1, 1, 1)),
        ("Resolved", (1, 1, 1, 1)),
        p2p=("t.py::p[a",),
        exit_code=1,
        parser="parse_log_pytest_v2",
    ),
    "a name that the log cuts too: the last line holds": Rule(
        "PASSED t.py::p[a b]\nFAILED t.py::p[a c] - assert 0\nPASSED t.py::keep\n",
        ("No-Op", (0, 1, 1, 1)),
        ("No-Op", (0, 1, 1, 1)),
        f2p=("t.py::p[a",),
        exit_code=1,
    ),
    "an exact name before those that begin with it": Rule(
        "PASSED t.py::p[a\nPASSED t.py::keep\nFAILED t.py::p[a c]\n",
        ("Resolved", (1, 1, 1, 1)),
        ("Resolved", (1, 1, 1, 1)),
        f2p=("t.py::p[a",),
        exit_code=1,
        parser="parse_log_pytest_v2",
    ),
    "a whole name does not stand for longer ones": Rule(
        "PASSED t.py::fixed\nPASSED t.py::keep\n", ("No-Op", (0, 1, 1, 1)), ("No-Op", (0, 1, 1, 1))
    ),
    "a name twice in each list counts once": Rule(
        BOTH,
        ("Resolved", (1, 1, 1, 1)),
        ("Resolved", (1, 1, 1, 1)),
        f2p=("t.py::fix", "t.py::fix"),
        p2p=("t.py::keep", "t.py::keep"),
    ),
    "a name in both lists counts in both": Rule(
        "PASSED t.py::fix\nFAILED t.py::keep\n",
        ("Work in Progress", (1, 2, 0, 1)),
        ("Work in Progress", (1, 2, 0, 1)),
        f2p=("t.py::fix", "t.py::keep"),
        exit_code=1,
    ),
    "several lines on a test: failed in the end": Rule(
        "PASSED t.py::fix\nPASSED t.py::keep\nERROR t.py::fix - teardown\n",
        ("No-Op", (0, 1, 1, 1)),
        ("No-Op", (0, 1, 1, 1)),
        exit_code=1,
    ),
    "several lines on a test: passed in the end": Rule(
        "FAILED t.py::fix - first try\nPASSED t.py::keep\nPASSED t.py::fix\n",
        ("Resolved", (1, 1, 1, 1)),
        ("Resolved", (1, 1, 1, 1)),
    ),
    "an exit code that no failure explains": Rule(
        BOTH, ("Regression", (0, 1, 0, 1)), ("Regression", (0, 1, 0, 1)), exit_code=1
    ),
    "an exit code that another test's failure explains": Rule(
        BOTH + "FAILED t.py::unlisted\n", ("Resolved", (1, 1, 1, 1)), ("Resolved", (1, 1, 1, 1)), exit_code=1
    ),
    "a signal": Rule(BOTH, ("Regression", (0, 1, 0, 1)), ("Regression", (0, 1, 0, 1)), exit_code=-11),
    "an empty log": Rule("", ("Regression", (0, 1, 0, 1)), ("Regression", (0, 1, 0, 1))),
    "an empty log without P2P tests": Rule("", ("No-Op", (0, 1, 0, 0)), ("No-Op", (0, 1, 0, 0)), p2p=()),
    "stopped for time after all passed": Rule(
        BOTH, ("timed out", (0, 1, 0, 1)), ("timed out", (0, 1, 0, 1)), ended="timeout", exit_code=-9
    ),
}


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("dialect", ["swe-bench", "swe-bench-live"])
def test_a_log_is_graded_by_the_rule_in_both_dialects(name: str, dialect: Dialect) -> None:
    rule = RULES[name]
    instance = make_instance(
        "pytest -rA", dialect=dialect, log_parser=rule.parser, fail_to_pass=rule.f2p, pass_to_pass=rule.p2p
    )
    statuses = parse_log(rule.log, instance)
    own, other = (
        grade(instance, statuses, rule.exit_code, rule.ended, dialect=one) for one in (dialect, OTHER[dialect])
    )
    said = outcomes(Completed(rule.exit_code, rule.ended, rule.log, 1.0), own, other)
    expected, counts = rule.swe_bench if dialect == "swe-bench" else rule.live
    assert tuple(said[key] for key in ("f2p_passed", "f2p_total", "p2p_passed", "p2p_total")) == counts
    assert said["outcome"] == expected
    theirs = rule.live[0] if dialect == "swe-bench" else rule.swe_bench[0]
    told = (said.get("other_dialect", ""), said.get("other_outcome", ""))
    assert told == (("", "") if theirs == expected else (OTHER[dialect], theirs))
    assert own.resolved == (expected == "Resolved")


def test_without_fail_to_pass_tests_there_is_no_outcome() -> None:
    instance = make_instance("pytest -rA", fail_to_pass=(), pass_to_pass=("t.py::keep",))
    result = grade(instance, parse_log(BOTH, instance), 0, "exit")
    with pytest.raises(InputError, match="no outcome for 0 of 0 F2P and 1 of 1 P2P tests"):
        outcomes(Completed(0, "exit", BOTH, 1.0), result, result)
