from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from small_instances import make_instance, write_tree

from patchperf.study.commands import single_point_command
from patchperf.study.derivation import Underivable
from patchperf.study.identifiers import Target, Undecided, find_target
from patchperf.study.listing import listing_command, settle
from patchperf.study.logs import parse_log, tests_run

PYTEST = f"{Path(sys.executable).parent}/pytest -rA -v -p no:cacheprovider tests"
SOURCE = """
import pytest

class TestA:
    @pytest.mark.parametrize("a", ["(1, 2)", "[1, 2]", "[1, 3]", "x  y", "x y z", "\\u4e2d", "::", "/tmp/d/b.txt", "p"])
    def test_p(self, a): pass
    def test_p_other(self): pass
"""
FUNCTION = "tests/test_a.py::TestA::test_p"


def run(command, folder):
    environment = {"PATH": os.environ["PATH"], "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **command.environment}
    done = subprocess.run(
        command.argv,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout


def settled(tree, test_id, native=PYTEST, **fields):
    """The target, through a real listing."""
    instance = make_instance(native, **fields)
    with pytest.raises(Undecided) as raised:
        find_target(instance, test_id, tree)
    listed = run(listing_command(instance, raised.value, tree, {"python"}), tree)
    return instance, settle(instance, test_id, raised.value, tree, listed)


@pytest.mark.parametrize(
    ("cut", "whole", "repo"),
    [
        ("[(1,", "[(1, 2)]", "owner/project"),
        ("[(1,", "[(1, 2)]", "sphinx-doc/sphinx"),
        ("[[1, 3", "[[1, 3]]", "sphinx-doc/sphinx"),
        ("[x y]", "[x  y]", "sphinx-doc/sphinx"),
        ("[x y z]", "[x y z]", "sphinx-doc/sphinx"),
        ("[/b.txt]", "[/tmp/d/b.txt]", "psf/requests"),
    ],
)
def test_pytests_list_tells_which_parameter_set_a_name_stands_for_and_it_runs_alone(tmp_path, cut, whole, repo):
    tree = write_tree(tmp_path, {"tests/test_a.py": SOURCE})
    instance, target = settled(tree, f"{FUNCTION}{cut}", repo=repo)
    assert target == Target("pytest", "tests/test_a.py", "TestA.test_p", f"{FUNCTION}{whole}")
    output = run(single_point_command(instance, target, tree, {"python"}), tree)
    assert tests_run(output, "pytest") == 1
    assert list(parse_log(output, instance).values()) == ["PASSED"]


@pytest.mark.parametrize(
    ("cut", "repo", "reason"),
    [
        ("[[1,", "owner/project", r"stands for several tests \(tried: .*\[\[1, 2\]\], .*\[\[1, 3\]\]"),
        ("[[1,", "sphinx-doc/sphinx", "stands for several tests"),
        ("[x", "owner/project", "stands for several tests"),
        ("[(3,", "owner/project", r"pytest lists no test that it may stand for \(tried: .*\[\(1, 2\)\], "),
        ("[/c.txt]", "psf/requests", "pytest lists no test that it may stand for"),
    ],
)
def test_a_name_of_no_one_parameter_set_is_said(tmp_path, cut, repo, reason):
    tree = write_tree(tmp_path, {"tests/test_a.py": SOURCE})
    with pytest.raises(Underivable, match=reason):
        settled(tree, f"{FUNCTION}{cut}", repo=repo)


def test_a_list_that_pytest_cannot_make_is_said(tmp_path):
    tree = write_tree(tmp_path, {"tests/test_a.py": f"import unheard_of\n{SOURCE}"})
    with pytest.raises(Underivable, match=r"lists no test .*ERROR"):
        settled(tree, f"{FUNCTION}[(1,")


def test_a_node_id_is_listed_below_the_root_but_selected_from_where_pytest_is_called(tmp_path):
    tree = write_tree(tmp_path, {"pytest.ini": "[pytest]\n", "core/tests/test_a.py": SOURCE})
    _, target = settled(tree, f"{FUNCTION}[(1,", f"cd core && {PYTEST} 2>&1 | cat")
    assert target == Target("pytest", "core/tests/test_a.py", "TestA.test_p", f"{FUNCTION}[(1, 2)]")


# ------------------------------------------------------------------------------------------------ Django and unittest

CASES = """
import unittest
class Mixin:
    def test_x(self):
        '''Said in a mixin.'''
class B(Mixin, unittest.TestCase):
    def test_y(self):
        '''
        Said twice.
        '''
class A(Mixin, unittest.TestCase):
    def test_z(self):
        '''Said twice.'''
        print("and more")
def generated(self):
    '''Said by a generated test.'''
A.test_generated = generated
"""


@pytest.mark.parametrize(
    ("docstring", "qualname", "selector"),
    [
        ("Said in a mixin.", "Mixin.test_x", "tests.test_c.B.test_x"),
        ("Said twice.", "B.test_y", "tests.test_c.B.test_y"),
    ],
)
def test_of_several_tests_with_a_docstring_the_last_one_printed_counts(tmp_path, docstring, qualname, selector):
    tree = write_tree(tmp_path, {"tests/test_c.py": CASES})
    instance, target = settled(tree, docstring, f"{sys.executable} -m unittest -v tests.test_c")
    assert target == Target("unittest", "tests/test_c.py", qualname, selector)
    output = run(single_point_command(instance, target, tree, {"python"}), tree)
    assert tests_run(output, "unittest") == 1
    assert parse_log(output, instance)[docstring] == "PASSED"


@pytest.mark.parametrize(
    ("docstring", "reason"),
    [
        ("Said by a generated test.", "define no method test_generated"),
        ("Said nowhere.", r"'Said nowhere\.' is no test .*and the native command does not print which"),
    ],
)
def test_a_docstring_that_leads_to_no_function_is_said(tmp_path, docstring, reason):
    tree = write_tree(tmp_path, {"tests/test_c.py": CASES})
    with pytest.raises(Underivable, match=reason):
        settled(tree, docstring, f"{sys.executable} -m unittest -v tests.test_c")


def test_a_discovered_test_runs_alone_though_others_contain_its_name(tmp_path):
    source = "import unittest\nclass A(unittest.TestCase):\n    def test_x(self): pass\n    def test_xy(self): pass\n"
    tree = write_tree(tmp_path, {"tests/test_a.py": source, "tests/test_ab.py": source})
    instance = make_instance(f"{sys.executable} -m unittest discover -v -s tests")
    target = find_target(instance, "test_x (test_a.A)", tree)
    output = run(single_point_command(instance, target, tree, {"python"}), tree)
    assert tests_run(output, "unittest") == 1
    assert all(name.startswith("test_x (test_a.A") for name in parse_log(output, instance))


# -------------------------------------------------------------------------------------------------------------- sympy

SYMPY_FILES = {f"pkg/{name}/tests/test_{name}.py": "def test_both(): pass\n" for name in "ab"}
SYMPY_LOG = """\
pkg/a/tests/test_a.py[2]
test_both ok
test_a ok                                                                   [OK]
pkg/b/tests/test_b.py[2]
test_b ok
\x1b[0mtest_both {verdict}
"""


@pytest.mark.parametrize(("verdict", "last"), [("ok", "b"), ("E", "b"), ("Slow w", "a"), ("f", "a")])
def test_of_several_files_with_a_name_the_last_one_with_a_status_counts(tmp_path, verdict, last):
    instance = make_instance("bin/test -C --verbose pkg/a/tests/test_a.py pkg/b/tests/test_b.py")
    tree = write_tree(tmp_path, SYMPY_FILES)
    with pytest.raises(Undecided) as raised:
        find_target(instance, "test_both", tree)
    assert listing_command(instance, raised.value, tree, set()).argv[:3] == ("bin/test", "-C", "--verbose")
    target = settle(instance, "test_both", raised.value, tree, SYMPY_LOG.format(verdict=verdict))
    assert target == Target("sympy", f"pkg/{last}/tests/test_{last}.py", "test_both", "test_both")
    with pytest.raises(Underivable, match="several files, and the native command does not print which"):
        settle(instance, "test_both", raised.value, tree, "Traceback")
