from __future__ import annotations

import pytest
from small_instances import make_instance, new_file, write_tree

from patchperf.study.identifiers import Target, Underivable, find_target, runner_of, test_files

TEST_FILE = """
import pytest
from elsewhere import Foreign

def test_x(): pass

@pytest.mark.parametrize("a", [1, 2])
def test_many(a): pass

@pytest.mark.parametrize("a, b", [("(1, 2)", 3)])
def test_one_set(a, b): pass

class Base:
    def test_shared(self): pass

class TestA(Base):
    def test_own(self): pass
    class TestInner:
        def test_deep(self): pass

class TestB(Foreign): pass
"""


@pytest.mark.parametrize(
    ("command", "runner"),
    [
        ("pytest -rA tests/test_a.py", "pytest"),
        ("tox --current-env -epy39 -v -- tests/test_a.py", "pytest"),
        ("./tests/runtests.py --verbosity 2 app.tests", "django"),
        ("PYTHONWARNINGS='ignore' bin/test -C --verbose a.py", "sympy"),
        ("python -m unittest -v tests.test_a", "unittest"),
    ],
)
def test_the_native_command_tells_the_runner(command, runner):
    assert runner_of(make_instance(command)) == runner


@pytest.mark.parametrize("commands", [("make test",), ("pytest a", "python -m unittest b")])
def test_a_command_without_one_known_runner_has_none(commands):
    with pytest.raises(Underivable, match="owner__project-1"):
        runner_of(make_instance(*commands))


def test_test_files_are_those_of_the_patch_then_those_of_the_command():
    patch = new_file("tests/test_b.py", "x") + new_file("tests/data.json", "x")
    instance = make_instance("pytest -rA tests/test_b.py ./tests/test_a.py::test_x", test_patch=patch)
    assert test_files(instance) == ("tests/test_b.py", "tests/data.json", "tests/test_a.py")


# ------------------------------------------------------------------------------------------------------------- pytest


def find_pytest(tmp_path, test_id):
    write_tree(tmp_path, {"tests/test_a.py": TEST_FILE})
    return find_target(make_instance("pytest -rA tests/test_a.py"), test_id, tmp_path)


@pytest.mark.parametrize(
    ("test_id", "qualname", "selector"),
    [
        ("tests/test_a.py::test_x", "test_x", None),
        ("tests/test_a.py::test_many[2]", "test_many", None),
        ("tests/test_a.py::test_many[a::b]", "test_many", None),
        ("tests/test_a.py::TestA::test_own", "TestA.test_own", None),
        ("tests/test_a.py::TestA::()::test_own", "TestA.test_own", None),
        ("tests/test_a.py::TestA::TestInner::test_deep", "TestA.TestInner.test_deep", None),
        ("tests/test_a.py::TestA::test_shared", "Base.test_shared", None),
        ("tests/test_a.py::test_one_set[(1,", "test_one_set", "tests/test_a.py::test_one_set"),
    ],
)
def test_a_node_id_leads_to_its_function(tmp_path, test_id, qualname, selector):
    expected = Target("pytest", "tests/test_a.py", qualname, selector or test_id)
    assert find_pytest(tmp_path, test_id) == expected


@pytest.mark.parametrize(
    ("test_id", "reason"),
    [
        ("tests/test_a.py::test_many[(1,", "cut at a space"),
        ("tests/test_a.py::test_y", "no function test_y"),
        ("tests/test_b.py::test_x", r"tests/test_b\.py: No such file"),
        ("tests/test_a.py::TestC::test_x", "no class TestC"),
        ("tests/test_a.py::TestB::test_x", r"no method test_x \(tried: Foreign\)"),
        ("test_x", "not a pytest node id"),
        ("tests/test_a.py", "not a pytest node id"),
    ],
)
def test_a_node_id_that_leads_nowhere_says_why(tmp_path, test_id, reason):
    with pytest.raises(Underivable, match=reason):
        find_pytest(tmp_path, test_id)


# ------------------------------------------------------------------------------------------------------------- Django

DJANGO = "./tests/runtests.py --verbosity 2 --settings=test_sqlite --parallel 1 app.tests app.test_more"
DJANGO_FILES = {
    "tests/app/tests.py": '''
from django.test import TestCase

class Shared:
    def test_shared(self):
        """Said once, run twice."""

class First(Shared, TestCase):
    def test_x(self):
        """
        The first line, which
        goes on.
        """
    def test_first(self):
        """Said in two tests."""
    def helper(self):
        """No test at all."""

class Second(Shared, TestCase):
    def test_second(self):
        """Said in two tests."""
''',
    "tests/app/test_more/__init__.py": """
class Third(TestCase):
    class Inner(TestCase):
        def test_x(self): pass
    def test_Third(self): pass
""",
}


def find_django(tmp_path, test_id):
    return find_target(make_instance(DJANGO), test_id, write_tree(tmp_path, DJANGO_FILES))


@pytest.mark.parametrize(
    ("test_id", "file", "qualname", "selector"),
    [
        ("test_x (app.tests.First)", "tests/app/tests.py", "First.test_x", "app.tests.First.test_x"),
        ("test_x (app.tests.First.test_x)", "tests/app/tests.py", "First.test_x", "app.tests.First.test_x"),
        ("test_shared (app.tests.Second)", "tests/app/tests.py", "Shared.test_shared", "app.tests.Second.test_shared"),
        (
            "test_x (app.test_more.Third.Inner)",
            "tests/app/test_more/__init__.py",
            "Third.Inner.test_x",
            "app.test_more.Third.Inner.test_x",
        ),
        ("The first line, which", "tests/app/tests.py", "First.test_x", "app.tests.First.test_x"),
    ],
)
def test_a_django_id_leads_to_its_method(tmp_path, test_id, file, qualname, selector):
    assert find_django(tmp_path, test_id) == Target("django", file, qualname, selector)


@pytest.mark.parametrize(
    ("test_id", "reason"),
    [
        ("Said in two tests.", r"several .*app\.tests\.First\.test_first, app\.tests\.Second\.test_second"),
        ("Said once, run twice.", "several"),
        ("No test at all.", "is no test and no docstring's first line"),
        ("goes on.", "is no test"),
        ("test_x (app.tests.Fourth)", r"no such class below tests \(tried: class Fourth in tests/app/tests\.py"),
        ("test_x (other.tests.First)", r"tried: other\.tests"),
        ("test_y (app.tests.First)", "no method test_y"),
        ("setUpClass (app.tests.First)", "not a test method"),
        ("app.tests (unittest.loader._FailedTest)", "is no test"),
    ],
)
def test_a_django_id_that_is_not_one_test_says_why(tmp_path, test_id, reason):
    with pytest.raises(Underivable, match=reason):
        find_django(tmp_path, test_id)


def test_a_unittest_id_is_looked_up_from_the_root(tmp_path):
    write_tree(tmp_path, {"tests/test_a.py": "class A(TestCase):\n    def test_x(self): pass\n"})
    instance = make_instance("python -m unittest -v tests.test_a")
    expected = Target("unittest", "tests/test_a.py", "A.test_x", "tests.test_a.A.test_x")
    assert find_target(instance, "test_x (tests.test_a.A)", tmp_path) == expected
    assert find_target(instance, "test_x (tests.test_a.A.test_x)", tmp_path) == expected


# -------------------------------------------------------------------------------------------------------------- sympy

SYMPY = "bin/test -C --verbose pkg/tests/test_a.py pkg/tests/test_b.py"
CHANGE_IN_B = """\
diff --git a/pkg/tests/test_b.py b/pkg/tests/test_b.py
--- a/pkg/tests/test_b.py
+++ b/pkg/tests/test_b.py
@@ -3,2 +3,3 @@ def test_other():
 def test_both():
     assert 1
+    assert 2
"""
CHANGE_IN_A = CHANGE_IN_B.replace("test_b.py", "test_a.py")
SYMPY_FILES = {
    "pkg/tests/test_a.py": "def test_a():\n    pass\ndef test_both():\n    assert 1\n    assert 2\n",
    "pkg/tests/test_b.py": "def test_b():\n    pass\ndef test_both():\n    assert 1\n    assert 2\n",
}


def find_sympy(tmp_path, test_id, patch=""):
    instance = make_instance(SYMPY, test_patch=patch)
    return find_target(instance, test_id, write_tree(tmp_path, SYMPY_FILES))


def test_a_bare_name_is_looked_up_in_the_commands_files(tmp_path):
    assert find_sympy(tmp_path, "test_b") == Target("sympy", "pkg/tests/test_b.py", "test_b", "test_b")


def test_of_two_files_that_define_a_name_the_one_whose_test_was_changed_is_meant(tmp_path):
    assert find_sympy(tmp_path, "test_both", CHANGE_IN_B).file == "pkg/tests/test_b.py"


@pytest.mark.parametrize("patch", ["", CHANGE_IN_A + CHANGE_IN_B, CHANGE_IN_B.replace("+3,3", "+13,3")])
def test_a_name_in_two_files_is_not_guessed(tmp_path, patch):
    with pytest.raises(Underivable, match=r"several files .*tried: pkg/tests/test_a\.py, pkg/tests/test_b\.py"):
        find_sympy(tmp_path, "test_both", patch)


def test_a_name_that_no_file_defines_says_where_it_was_looked_for(tmp_path):
    with pytest.raises(Underivable, match=r"test_c is not defined \(tried: pkg/tests/test_a\.py"):
        find_sympy(tmp_path, "test_c")
