from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from small_instances import make_instance, write_tree

from patchperf.errors import InputError
from patchperf.study.calls import Runner
from patchperf.study.logs import all_skipped, is_whole_name, logged_name, parse_log, tests_run


def parse(output, parser):
    return parse_log(output, make_instance("pytest -rA", log_parser=parser))


# ------------------------------------------------------------------------------------------------------------- pytest

SUMMARY = """\
tests/test_a.py .F.s                                                     [100%]
=========================== short test summary info ============================
PASSED tests/test_a.py::test_x
PASSED tests/test_a.py::test_p[(1, 2)]
PASSED tests/test_a.py::test_f[/tmp/a/b.txt]
SKIPPED [2] tests/test_a.py:9: no network
XFAIL tests/test_a.py::test_known - known
XPASS tests/test_a.py::test_better
ERROR tests/test_a.py::test_e - RuntimeError: x
FAILED tests/test_a.py::test_y - AssertionError: assert 1 == 2
FAILED tests/test_a.py::test_q[a - b]
FAILED: not a summary line
PASSED
=============== 2 failed, 3 passed, 2 skipped, 1 xfailed in 0.12s ===============
"""
COMMON = {
    "tests/test_a.py::test_x": "PASSED",
    "tests/test_a.py::test_known": "XFAIL",
    "tests/test_a.py::test_e": "ERROR",
    "tests/test_a.py::test_y": "FAILED",
}


def test_pytests_names_end_at_the_first_space():
    assert parse(SUMMARY, "parse_log_pytest") == COMMON | {
        "tests/test_a.py::test_p[(1,": "PASSED",
        "tests/test_a.py::test_f[/tmp/a/b.txt]": "PASSED",
        "tests/test_a.py::test_q[a": "FAILED",
    }


def test_paths_in_brackets_are_shortened_where_the_benchmark_does_so():
    found = parse(SUMMARY + "PASSED a.py::t[//h/x]\nPASSED a.py::t[/a/*]\nPASSED a.py::t[1]x\n", "parse_log_pylint")
    assert found == COMMON | {
        "tests/test_a.py::test_p[(1,": "PASSED",
        "tests/test_a.py::test_f[/b.txt]": "PASSED",
        "tests/test_a.py::test_q[a": "FAILED",
        "a.py::t[//h/x]": "PASSED",
        "a.py::t[/a/*]": "PASSED",
        "a.py::t[1]": "PASSED",
    }


def test_names_keep_their_spaces_where_the_benchmark_does_so():
    assert parse(SUMMARY, "parse_log_sphinx") == {
        "tests/test_a.py::test_x": "PASSED",
        "tests/test_a.py::test_p[(1, 2)]": "PASSED",
        "tests/test_a.py::test_f[/tmp/a/b.txt]": "PASSED",
        "tests/test_a.py::test_known - known": "XFAIL",
        "tests/test_a.py::test_e - RuntimeError: x": "ERROR",
        "tests/test_a.py::test_y": "FAILED",
        "tests/test_a.py::test_q[a": "FAILED",
    }


def test_colours_and_old_verbose_lines_are_read():
    output = (
        "\x1b[32mPASSED\x1b[0m a.py::\x1b[1mtest_x\x1b[0m\n"
        "\x1b[31mFAILED\x1b[0m a.py::\x1b[1mtest_y\x1b[0m - assert 0\n"
        "a.py::test_old PASSED\n"
        "a.py::test_other[1 2] XFAIL\n"
    )
    assert parse(output, "parse_log_astropy") == {
        "a.py::test_x": "PASSED",
        "a.py::test_y": "FAILED",
        "a.py::test_old": "PASSED",
        "a.py::test_other[1 2]": "XFAIL",
    }


def test_of_several_lines_on_a_test_the_last_holds():
    assert parse("PASSED a.py::t\nERROR a.py::t\n", "parse_log_pytest") == {"a.py::t": "ERROR"}


def test_a_progress_mark_counts_as_a_test_as_it_does_in_the_benchmarks_lists():
    assert parse("PASSED [100%]\nSKIPPED [1] a.py:3: x\n", "parse_log_pytest") == {"[100%]": "PASSED"}


def test_mouse_buttons_stand_under_their_numbers():
    output = "PASSED a.py::t[MouseButton.LEFT-1]\nPASSED a.py::t[MouseButton.RIGHT]\n"
    assert parse(output, "parse_log_matplotlib") == {"a.py::t[1-1]": "PASSED", "a.py::t[3]": "PASSED"}


def test_seaborns_log_tells_passed_and_failed_tests():
    output = "a.py::t1 PASSED [ 50%]\nFAILED a.py::t2 - x PASSED y\nPASSED a.py::t3\nERROR a.py::t4\nSKIPPED a.py::t5\n"
    assert parse(output, "parse_log_seaborn") == {"a.py::t1": "PASSED", "a.py::t2": "FAILED", "a.py::t3": "PASSED"}


@pytest.mark.parametrize(
    ("output", "count"),
    [
        ("=== 1 passed in 0.01s ===", 1),
        ("1 passed in 0.01s", 1),
        ("==== 1 failed, 2 passed, 1 skipped, 3 warnings in 1.23 seconds ====", 4),
        ("= 1 passed, 1 error in 61.20s (0:01:01) =", 2),
        ("= 2 errors, 1 xfailed, 1 xpassed, 4 deselected, 2 rerun in 1.0s =", 4),
        ("\x1b[32m=== \x1b[32m\x1b[1m1 passed\x1b[0m\x1b[32m in 0.01s\x1b[0m\x1b[32m ===\x1b[0m", 1),
        ("=== 1 passed, 1 warnings in 0.01 seconds ===", 1),
        ("=== 1 passed, 2 pytest-warnings in 0.01 seconds ===", 1),
        ("=== 1 passed, 3 subtests passed in 0.01s ===", 1),
        ("1 failed, 2 subtests failed, 1 warning in 0.01s", 1),
        ("=== 1 passed, 1 rerun, 2 something new in 0.01s ===", 1),
        ("=== 3 deselected in 0.01s ===", 0),
        ("=== no tests ran in 0.01s ===", 0),
        ("=== 3 passed in 0.01s ===\nmore output\n=== 1 passed in 0.01s ===", 1),
        ("ERROR: not found: a.py::t\n", None),
    ],
)
def test_pytests_last_line_tells_how_many_tests_ran(output, count):
    assert tests_run(output, "pytest") == count


@pytest.mark.parametrize(
    ("repo", "node_id", "name"),
    [
        ("owner/project", "a.py::t[(1, 2)]", "a.py::t[(1,"),
        ("sphinx-doc/sphinx", "a.py::t[(1, 2)]", "a.py::t[(1, 2)]"),
        ("sphinx-doc/sphinx", "a.py::t[a  b]", "a.py::t[a b]"),
        ("psf/requests", "a.py::t[/tmp/a/b.txt]", "a.py::t[/b.txt]"),
        ("matplotlib/matplotlib", "a.py::t[MouseButton.LEFT-x]", "a.py::t[1-x]"),
        ("owner/project", "a.py::t", "a.py::t"),
    ],
)
def test_a_node_id_has_the_name_that_its_line_is_read_as(repo, node_id, name):
    assert logged_name(node_id, make_instance("pytest -rA", repo=repo)) == name


@pytest.mark.parametrize(
    ("repo", "name", "whole"),
    [
        ("owner/project", "a.py::t[x]", True),
        ("owner/project", "a.py::t[[1]-(2)]", True),
        ("owner/project", "a.py::t[/b.txt]", True),
        ("owner/project", "a.py::t[1-x]", True),
        ("owner/project", "a.py::t[(1,", False),
        ("sphinx-doc/sphinx", "a.py::t[a b]", False),
        ("psf/requests", "a.py::t[x]", True),
        ("psf/requests", "a.py::t[/b.txt]", False),
        ("matplotlib/matplotlib", "a.py::t[10-png]", True),
        ("matplotlib/matplotlib", "a.py::t[x-3]", False),
    ],
)
def test_a_name_that_may_be_another_node_ids_is_told(repo, name, whole):
    assert is_whole_name(name, make_instance("pytest -rA", repo=repo)) is whole


def test_a_real_pytest_run_is_read(tmp_path):
    source = """\
import pytest
def test_pass(): pass
def test_fail(): assert 1 == 2, "a - b"
@pytest.mark.parametrize("a", ["x y", "z"])
def test_p(a): pass
@pytest.mark.xfail
def test_known(): assert 0
@pytest.fixture
def broken(): raise RuntimeError
def test_error(broken): pass
@pytest.mark.skip
def test_skip(): pass
"""
    write_tree(tmp_path, {"test_real.py": source})
    output = subprocess.run(
        [sys.executable, "-m", "pytest", "-rA", "-p", "no:cacheprovider", "test_real.py"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    assert parse(output, "pytest") == {
        "test_real.py::test_pass": "PASSED",
        "test_real.py::test_fail": "FAILED",
        "test_real.py::test_p[x": "PASSED",
        "test_real.py::test_p[z]": "PASSED",
        "test_real.py::test_known": "XFAIL",
        "test_real.py::test_error": "ERROR",
    }
    assert tests_run(output, "pytest") == 7


# ------------------------------------------------------------------------------------------------ Django and unittest


def test_unittests_lines_name_the_test_or_the_line_before_the_dots():
    output = """\
test_a (app.tests.A) ... ok
test_b (app.tests.A) ... FAIL
test_c (app.tests.A) ... ERROR
test_d (app.tests.A) ... skipped 'no database'
test_e (app.tests.A)
What the docstring says. ... ok
test_f (app.tests.A) ... expected failure
"""
    assert parse(output, "parse_log_django") == {
        "test_a (app.tests.A)": "PASSED",
        "test_b (app.tests.A)": "FAILED",
        "test_c (app.tests.A)": "ERROR",
        "test_d (app.tests.A)": "SKIPPED",
        "What the docstring says.": "PASSED",
    }


def test_output_between_the_dots_and_the_ok_does_not_hide_a_pass():
    output = """\
test_a (app.tests.A) ... some output
more output
ok
test_b (app.tests.A) ... Internal Server Error: /path/
ok
"""
    assert parse(output, "parse_log_django") == {"test_a (app.tests.A)": "PASSED", "test_b (app.tests.A)": "PASSED"}


def test_a_start_up_message_within_a_tests_line_does_not_hide_its_pass():
    output = """\
test_a (app.tests.A) ... Testing against Django installed in '/x/django'
Importing ... done
System check identified no issues (0 silenced).
ok
"""
    assert parse(output, "parse_log_django")["test_a (app.tests.A)"] == "PASSED"
    unfinished = output.replace(" silenced).", " silenced)")
    assert "test_a (app.tests.A)" not in parse(unfinished, "parse_log_django")


def test_a_test_that_the_runner_lists_as_failed_has_failed():
    output = """\
test_a (app.tests.A) ... FAIL
ok, said something later
======================================================================
FAIL: test_a (app.tests.A)
----------------------------------------------------------------------
ERROR: test_b (app.tests.A) (i=1)
"""
    assert parse(output, "parse_log_django") == {
        "test_a (app.tests.A)": "FAILED",
        "test_a": "FAILED",
        "test_b (app.tests.A)": "ERROR",
        "test_b": "ERROR",
    }


def test_a_migrations_line_does_not_swallow_the_test_after_it():
    line = "Applying sites.0002_alter_domain_unique...test_no_migrations (app.tests.A) ... ok\n"
    assert parse(line, "parse_log_django")["test_no_migrations (app.tests.A)"] == "PASSED"


def test_a_real_unittest_run_is_read(tmp_path):
    source = """\
import unittest
class A(unittest.TestCase):
    def test_ok(self): pass
    def test_doc(self):
        '''What it says.'''
    def test_bad(self): self.fail()
    @unittest.skip("no")
    def test_skip(self): pass
"""
    write_tree(tmp_path, {"test_real.py": source})
    output = subprocess.run(
        [sys.executable, "-m", "unittest", "-v", "test_real"], cwd=tmp_path, capture_output=True, text=True, check=False
    ).stderr
    where = re.search(r"test_ok (\(.*?\))", output)
    assert where is not None
    named = {f"{name} {where[1].replace('test_ok', name)}" for name in ("test_ok", "test_bad", "test_skip")}
    found = parse_log(output, make_instance("python -m unittest -v test_real"))
    assert set(found) == named | {"What it says.", "test_bad"}
    assert sorted(found.values()) == ["FAILED", "FAILED", "PASSED", "PASSED", "SKIPPED"]
    assert tests_run(output, "unittest") == 4


@pytest.mark.parametrize(
    ("output", "count"),
    [
        ("Ran 1 test in 0.003s\n\nOK\n", 1),
        ("Ran 0 tests in 0.000s", 0),
        ("Ran 5 tests in 1s\nRan 2 tests in 1s", 2),
        ("", None),
    ],
)
def test_unittest_tells_how_many_tests_ran(output, count):
    assert tests_run(output, "django") == count


# -------------------------------------------------------------------------------------------------------------- sympy

SYMPY_LOG = """\
============================= test process starts ==============================
executable:         /env/bin/python  (3.9.18-final-0) [CPython]

pkg/core/tests/test_a.py[6]
test_one ok
test_two F
test_three E
test_slow Slow w
test_known f
test_last ok                                                                [OK]


pkg/core/tests/test_b.py[1]
test_bad F                                                                [FAIL]

________________________________________________________________________________
______________________ pkg/core/tests/test_a.py:test_two _______________________
Traceback (most recent call last):
  File "/tree/pkg/core/tests/test_a.py", line 9, in test_two
    warn a /tree/pkg/core/tests/test_a.py:9: DeprecationWarning
AssertionError

 tests finished: 2 passed, 2 failed, 1 skipped, 1 expected to fail,
1 exceptions, in 1.25 seconds
DO *NOT* COMMIT!
"""


def test_sympys_lines_name_bare_functions_and_what_was_not_run_has_no_status():
    assert parse(SYMPY_LOG, "parse_log_sympy") == {
        "test_one": "PASSED",
        "test_two": "FAILED",
        "test_three": "ERROR",
        "test_last": "PASSED",
        "test_bad": "FAILED",
        "pkg/core/tests/test_a.py:test_two": "FAILED",
    }


@pytest.mark.parametrize(
    ("output", "count"),
    [
        (SYMPY_LOG, 7),
        ("= tests finished: 1 passed, in 0.05 seconds =", 1),
        ("= tests finished: 0 passed, in 0.00 seconds =", 0),
        ("Traceback", None),
    ],
)
def test_sympy_tells_how_many_tests_ran(output, count):
    assert tests_run(output, "sympy") == count


# ------------------------------------------------------------------------------------------------------------- choice


@pytest.mark.parametrize(
    ("instance", "output", "name"),
    [
        (make_instance("pytest -rA", repo="sphinx-doc/sphinx"), "PASSED a.py::t[x y]", "a.py::t[x y]"),
        (make_instance("pytest -rA"), "PASSED a.py::t[x y]", "a.py::t[x"),
        (
            make_instance("pytest -rA", log_parser="pytest", dialect="swe-bench-live"),
            "PASSED a.py::t[x y]",
            "a.py::t[x",
        ),
        (make_instance("bin/test -C --verbose a.py"), "test_x ok", "test_x"),
        (make_instance("./tests/runtests.py app"), "test_x (a.B) ... ok", "test_x (a.B)"),
    ],
)
def test_the_row_then_the_repository_then_the_runner_tell_the_parser(instance, output, name):
    assert parse_log(output, instance) == {name: "PASSED"}


def test_an_unknown_parser_is_named():
    with pytest.raises(InputError, match=r"owner__project-1: log parser 'parse_log_jest' is not known; known are"):
        parse("", "parse_log_jest")


@pytest.mark.parametrize(
    ("runner", "output", "skipped"),
    [
        ("pytest", "SKIPPED [1] test_a.py:3: old\n===== 1 skipped in 0.01s =====\n", True),
        ("pytest", "===== 2 skipped, 1 warning in 0.01s =====\n", True),
        ("pytest", "===== 1 passed, 1 skipped in 0.01s =====\n", False),
        ("pytest", "===== 1 skipped in 0.01s =====\n===== 1 passed in 0.02s =====\n", False),
        ("pytest", "no summary: 1 skipped\n", False),
        ("unittest", "Ran 1 test in 0.001s\n\nOK (skipped=1)\n", True),
        ("unittest", "Ran 2 tests in 0.001s\n\nOK (skipped=1, expected failures=1)\n", False),
        ("django", "Ran 1 test in 0.001s\n\nOK\n", False),
        ("sympy", "==== tests finished: 0 passed, 1 skipped, in 0.01 seconds ====\n", True),
        ("sympy", "==== tests finished: 1 passed, in 0.01 seconds ====\n", False),
    ],
)
def test_whether_all_tests_were_skipped_is_read_from_the_last_summary(
    runner: Runner, output: str, skipped: bool
) -> None:
    assert all_skipped(output, runner) == skipped
