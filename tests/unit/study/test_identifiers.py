from __future__ import annotations

import pytest
from small_instances import make_instance, write_tree

from patchperf.study.derivation import Underivable
from patchperf.study.identifiers import Target, Undecided, find_target

TEST_FILE = """
import pytest
from elsewhere import Foreign
from common import test_imported
from tests import base
from .base import Base as Imported

def test_x(): pass

@pytest.mark.parametrize("a", [1, 2])
def test_many(a): pass

class Base:
    def test_shared(self): pass

class TestA(Base):
    def test_own(self): pass
    class TestInner:
        def test_deep(self): pass
    async def test_async(self): pass

class TestB(Foreign): pass
class TestC(Imported): pass
class TestD(base.Base): pass

def make():
    def test_inside(): pass
    return test_inside

for n in range(2):
    exec(f"def test_generated_{n}(): pass")
"""
FILES = {
    "tests/test_a.py": TEST_FILE,
    "tests/base.py": "class Base:\n    def test_far(self): pass\n",
    "src/common.py": "def test_imported(): pass\n",
    "core/tests/test_b.py": "def test_x(): pass\n",
}


# ------------------------------------------------------------------------------------------------------------- pytest


def find_pytest(tmp_path, test_id, *commands, **fields):
    instance = make_instance(*(commands or ("pytest -rA tests/test_a.py",)), **fields)
    return find_target(instance, test_id, write_tree(tmp_path, FILES))


@pytest.mark.parametrize(
    ("test_id", "qualname"),
    [
        ("tests/test_a.py::test_x", "test_x"),
        ("tests/test_a.py::test_many[2]", "test_many"),
        ("tests/test_a.py::test_many[a::b]", "test_many"),
        ("tests/test_a.py::test_many[[x]-{y}]", "test_many"),
        (r"tests/test_a.py::test_many[\u4e2d-\xe9]", "test_many"),
        ("tests/test_a.py::test_many[\u4e2d]", "test_many"),
        ("tests/test_a.py::TestA::test_own", "TestA.test_own"),
        ("tests/test_a.py::TestA::test_async", "TestA.test_async"),
        ("tests/test_a.py::TestA::TestInner::test_deep", "TestA.TestInner.test_deep"),
        ("tests/test_a.py::TestA::test_shared", "Base.test_shared"),
    ],
)
def test_a_node_id_leads_to_its_function(tmp_path, test_id, qualname):
    assert find_pytest(tmp_path, test_id) == Target("pytest", "tests/test_a.py", qualname, test_id)


def test_the_instances_of_older_versions_are_left_out_of_a_node_id(tmp_path):
    selector = "tests/test_a.py::TestA::test_own[(]"
    expected = Target("pytest", "tests/test_a.py", "TestA.test_own", selector)
    assert find_pytest(tmp_path, "tests/test_a.py::TestA::()::test_own[(]") == expected


@pytest.mark.parametrize(
    ("name", "file", "qualname"),
    [
        ("TestC::test_far", "tests/base.py", "Base.test_far"),
        ("TestD::test_far", "tests/base.py", "Base.test_far"),
        ("Imported::test_far", "tests/base.py", "Base.test_far"),
        ("test_imported", "src/common.py", "test_imported"),
    ],
)
def test_a_test_from_another_file_is_found_there_and_selected_where_it_runs(tmp_path, name, file, qualname):
    test_id = f"tests/test_a.py::{name}"
    assert find_pytest(tmp_path, test_id) == Target("pytest", file, qualname, test_id)


@pytest.mark.parametrize(
    ("commands", "test_id", "file"),
    [
        (["cd core && pytest -rA"], "tests/test_b.py::test_x", "core/tests/test_b.py"),
        (["cd core", "pytest -rA"], "../tests/test_a.py::test_x", "tests/test_a.py"),
        (["cd core; pytest; cd ..; pytest"], "tests/test_b.py::test_x", "core/tests/test_b.py"),
        (["cd core; pytest; cd ..; pytest"], "tests/test_a.py::test_x", "tests/test_a.py"),
        (["cd /testbed/core; pytest"], "tests/test_b.py::test_x", "core/tests/test_b.py"),
    ],
)
def test_a_node_id_is_looked_up_from_where_pytest_is_called(tmp_path, commands, test_id, file):
    assert find_pytest(tmp_path, test_id, *commands) == Target("pytest", file, "test_x", test_id)


@pytest.mark.parametrize(
    ("test_id", "fields"),
    [
        ("tests/test_a.py::test_many[(1,", {}),
        ("tests/test_a.py::test_many[[1,", {"repo": "sphinx-doc/sphinx"}),
        ("tests/test_a.py::test_many[a b]", {"repo": "sphinx-doc/sphinx"}),
        ("tests/test_a.py::test_many[/b.txt]", {"repo": "psf/requests"}),
        ("tests/test_a.py::test_many[1-a]", {"repo": "matplotlib/matplotlib"}),
    ],
)
def test_a_node_id_that_may_not_be_whole_is_left_to_pytests_own_list(tmp_path, test_id, fields):
    with pytest.raises(Undecided, match="no whole node id") as raised:
        find_pytest(tmp_path, test_id, **fields)
    assert raised.value.scope == Target("pytest", "tests/test_a.py", "test_many", "tests/test_a.py::test_many")


@pytest.mark.parametrize(
    ("test_id", "reason"),
    [
        ("tests/test_a.py::test_y", "no function test_y"),
        ("tests/test_a.py::test_y[(1,", "no function test_y"),
        ("tests/test_a.py::test_inside", "no function test_inside"),
        ("tests/test_a.py::test_generated_1", "no function test_generated_1"),
        ("tests/test_b.py::test_x", r"tests/test_b\.py: No such file"),
        ("tests/test_a.py::TestZ::test_x", "no class TestZ"),
        ("tests/test_a.py::TestB::test_x", r"define no method test_x \(tried: Foreign\)"),
        ("src/pkg/mod.py::pkg.mod.function", "not the node id of a test function"),
        ("test_x", "not the node id"),
        ("tests/test_a.py", "not the node id"),
    ],
)
def test_a_node_id_that_leads_nowhere_says_why(tmp_path, test_id, reason):
    with pytest.raises(Underivable, match=reason):
        find_pytest(tmp_path, test_id)


@pytest.mark.parametrize(
    ("commands", "reason"),
    [
        (["cd $WHERE", "pytest -rA"], "where the native command runs its tests cannot be told"),
        (["pytest", "cd core", "pytest"], r"called in several folders \(tried: \., core\)"),
    ],
)
def test_a_folder_that_is_not_certain_is_not_guessed(tmp_path, commands, reason):
    write_tree(tmp_path, {"core/tests/test_a.py": TEST_FILE})
    with pytest.raises(Underivable, match=reason):
        find_pytest(tmp_path, "tests/test_a.py::test_x", *commands)


# ------------------------------------------------------------------------------------------------------------- Django

DJANGO = "./tests/runtests.py --verbosity 2 --settings=test_sqlite --parallel 1 app.tests app.test_more other"
DJANGO_FILES = {
    "tests/app/tests.py": '''
from django.test import TestCase
from . import mixins

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

class Third(mixins.Mixin, TestCase):
    test_shared = None
    class Inside(TestCase):
        def test_inside(self):
            """Never loaded."""

class NoTests:
    def test_no(self):
        """Not run at all."""

for n in range(2):
    setattr(Third, f"test_generated_{n}", lambda self: None)
''',
    "tests/app/mixins.py": '''
class Mixin:
    def test_mixed(self):
        """Said in another file."""
''',
    "tests/other/test_package.py": '''
class InPackage(TestCase):
    def test_x(self):
        """Said in a package."""
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
        ("test_x (app.tests.First) (n=1)", "tests/app/tests.py", "First.test_x", "app.tests.First.test_x"),
        (
            "test_x (app.tests.First) [first] (n='a (b)')",
            "tests/app/tests.py",
            "First.test_x",
            "app.tests.First.test_x",
        ),
        ("test_x (app.tests.First.test_x) [first]", "tests/app/tests.py", "First.test_x", "app.tests.First.test_x"),
        ("test_mixed (app.tests.Third)", "tests/app/mixins.py", "Mixin.test_mixed", "app.tests.Third.test_mixed"),
        ("The first line, which", "tests/app/tests.py", "First.test_x", "app.tests.First.test_x"),
        ("Said in another file.", "tests/app/mixins.py", "Mixin.test_mixed", "app.tests.Third.test_mixed"),
        (
            "Said in a package.",
            "tests/other/test_package.py",
            "InPackage.test_x",
            "other.test_package.InPackage.test_x",
        ),
    ],
)
def test_a_django_id_leads_to_its_method(tmp_path, test_id, file, qualname, selector):
    assert find_django(tmp_path, test_id) == Target("django", file, qualname, selector)


@pytest.mark.parametrize(
    ("test_id", "reason"),
    [
        ("test_x (app.tests.Fourth)", r"no such class \(tried: class Fourth in tests/app/tests\.py"),
        ("test_x (nowhere.tests.First)", r"no such class \(tried: tests/nowhere/tests"),
        ("test_y (app.tests.First)", "define no method test_y"),
        ("test_generated_1 (app.tests.Third)", "define no method test_generated_1"),
        ("test_shared (app.tests.Third)", "bound to something else"),
        ("setUpClass (app.tests.First)", "not a test method"),
        ("app.tests (unittest.loader._FailedTest)", "could not be imported"),
    ],
)
def test_a_django_id_that_is_not_one_test_says_why(tmp_path, test_id, reason):
    with pytest.raises(Underivable, match=reason):
        find_django(tmp_path, test_id)


@pytest.mark.parametrize(
    ("test_id", "reason"),
    [
        ("Said in two tests.", r"several .*app\.tests\.First\.test_first, app\.tests\.Second\.test_second"),
        ("Said once, run twice.", r"several .*app\.tests\.First\.test_shared, app\.tests\.Second\.test_shared"),
        ("No test at all.", "is no test and no docstring's first line"),
        ("Never loaded.", "is no test and no docstring's first line"),
        ("Not run at all.", "is no test and no docstring's first line"),
        ("goes on.", "is no test"),
    ],
)
def test_a_docstring_of_no_one_test_is_left_to_what_django_prints(tmp_path, test_id, reason):
    with pytest.raises(Undecided, match=reason) as raised:
        find_django(tmp_path, test_id)
    assert raised.value.scope is None


@pytest.mark.parametrize(
    ("commands", "where", "file"),
    [
        (["python -m unittest -v tests.test_a"], "tests.test_a", "tests/test_a.py"),
        (["python -m unittest -v"], "tests.test_a", "tests/test_a.py"),
        (["python -m unittest discover -v -s tests -t ."], "tests.test_a", "tests/test_a.py"),
        (["python -m unittest discover -v -s tests"], "test_a", "tests/test_a.py"),
        (["cd lib; python -m unittest discover -v -s tests"], "test_a", "lib/tests/test_a.py"),
    ],
)
def test_a_unittest_id_is_looked_up_from_the_folder_of_its_modules(tmp_path, commands, where, file):
    source = 'class A(TestCase):\n    def test_x(self):\n        """Said once."""\n'
    write_tree(tmp_path, {"tests/test_a.py": source, "lib/tests/test_a.py": source})
    instance = make_instance(*commands)
    expected = Target("unittest", file, "A.test_x", f"{where}.A.test_x")
    assert find_target(instance, f"test_x ({where}.A)", tmp_path) == expected
    assert find_target(instance, f"test_x ({where}.A.test_x)", tmp_path) == expected


# -------------------------------------------------------------------------------------------------------------- sympy

SYMPY = "bin/test -C --verbose pkg/tests/test_a.py pkg/tests/test_b.py"
SYMPY_FILES = {
    "pkg/tests/test_a.py": "def test_a(): pass\ndef test_both(): pass\nclass Helper: pass\n",
    "pkg/tests/test_b.py": "def test_b(): pass\ndef test_both(): pass\n",
}


def find_sympy(tmp_path, test_id, command=SYMPY):
    return find_target(make_instance(command), test_id, write_tree(tmp_path, SYMPY_FILES))


def test_a_bare_name_is_looked_up_in_the_commands_files(tmp_path):
    assert find_sympy(tmp_path, "test_b") == Target("sympy", "pkg/tests/test_b.py", "test_b", "test_b")
    only_a = "bin/test -C --verbose pkg/tests/test_a.py"
    assert find_sympy(tmp_path, "test_both", only_a) == Target("sympy", "pkg/tests/test_a.py", "test_both", "test_both")


def test_a_name_in_two_files_is_left_to_what_sympy_prints(tmp_path):
    with pytest.raises(Undecided, match=r"several files .*tried: pkg/tests/test_a\.py, pkg/tests/test_b\.py") as raised:
        find_sympy(tmp_path, "test_both")
    assert raised.value.scope is None


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("test_c", r"test_c is not defined \(tried: pkg/tests/test_a\.py, pkg/tests/test_b\.py"),
        ("pkg/tests/test_a.py:test_a", "not a function's name"),
        ("Helper", "not defined"),
    ],
)
def test_a_name_that_no_file_defines_says_where_it_was_looked_for(tmp_path, name, reason):
    with pytest.raises(Underivable, match=reason):
        find_sympy(tmp_path, name)
