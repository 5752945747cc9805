"""Imports and bases followed from file to file; Python itself says what is right where the tree can be imported."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from small_instances import write_tree

from patchperf.study.derivation import Underivable
from patchperf.study.inheritance import Place, Sources

TREE = {
    "tests/__init__.py": "",
    "tests/base.py": """
class Base:
    def test_base(self): pass
    def test_both(self): pass
class Outer:
    class Inner:
        def test_inner(self): pass
def test_shared(): pass
""",
    "tests/mixins/__init__.py": "from .one import First\nfrom .two import *\n",
    "tests/mixins/one.py": """
from ..base import Base
class First(Base):
    def test_both(self): pass
""",
    "tests/mixins/two.py": "from tests import base\nclass Second(base.Base):\n    def test_second(self): pass\n",
    "tests/deep/__init__.py": "",
    "tests/deep/test_a.py": """
import unittest
import tests.base
import tests.base as renamed
from tests.base import Base as B, test_shared
from tests.mixins import First, Second
from .. import mixins, base as b
from ..base import Outer
from . import sibling
from .sibling import *

class Plain(B): pass
class Dotted(tests.base.Base): pass
class Renamed(renamed.Base): pass
class Relative(b.Base): pass
class Both(mixins.Second, First): pass
class Nested(Outer.Inner): pass
class Starred(Star): pass
class Sibling(sibling.Star): pass
class Case(unittest.TestCase, B): pass
""",
    "tests/deep/sibling.py": "class Star:\n    def test_star(self): pass\n",
}


@pytest.fixture
def sources(tmp_path):
    return Sources(write_tree(tmp_path, TREE))


TESTS = [
    ("Plain", "test_base", "tests/base.py", "Base.test_base"),
    ("Dotted", "test_base", "tests/base.py", "Base.test_base"),
    ("Renamed", "test_base", "tests/base.py", "Base.test_base"),
    ("Relative", "test_base", "tests/base.py", "Base.test_base"),
    ("Both", "test_both", "tests/mixins/one.py", "First.test_both"),
    ("Both", "test_second", "tests/mixins/two.py", "Second.test_second"),
    ("Both", "test_base", "tests/base.py", "Base.test_base"),
    ("Nested", "test_inner", "tests/base.py", "Outer.Inner.test_inner"),
    ("Starred", "test_star", "tests/deep/sibling.py", "Star.test_star"),
    ("Sibling", "test_star", "tests/deep/sibling.py", "Star.test_star"),
    ("Case", "test_both", "tests/base.py", "Base.test_both"),
    ("First", "test_both", "tests/mixins/one.py", "First.test_both"),
]


@pytest.mark.parametrize(("class_name", "method", "file", "qualname"), TESTS)
def test_a_method_is_found_where_it_is_defined(sources, class_name, method, file, qualname):
    owner = sources.locate("tests/deep/test_a.py", class_name)
    assert sources.method(owner, method) == Place(file, qualname)


def test_python_finds_the_same_methods(tmp_path):
    write_tree(tmp_path, TREE)
    names = "".join(f"show(m.{class_name}.{method})\n" for class_name, method, *_ in TESTS)
    script = f"""
import tests.deep.test_a as m
def show(f):
    print(f.__code__.co_filename, f.__qualname__)
{names}"""
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    found = [line.split() for line in done.stdout.splitlines()]
    assert [[str(Path(file).relative_to(tmp_path)), name] for file, name in found] == [[f, q] for *_, f, q in TESTS]


def test_a_function_is_found_through_an_import(sources):
    assert sources.locate("tests/deep/test_a.py", "test_shared") == Place("tests/base.py", "test_shared")
    assert sources.locate("tests/deep/test_a.py", "b.test_shared") == Place("tests/base.py", "test_shared")


def test_what_comes_from_outside_the_tree_is_not_found_and_named(sources):
    file = "tests/deep/test_a.py"
    assert sources.locate(file, "unittest.TestCase") is None
    assert sources.locate(file, "Unheard") is None
    assert sources.foreign_bases(Place(file, "Case")) == ["unittest.TestCase"]
    assert sources.foreign_bases(Place(file, "Both")) == []
    assert sources.method(Place(file, "Case"), "test_other") is None


def test_all_methods_along_the_bases_are_named(sources):
    assert sources.method_names(Place("tests/deep/test_a.py", "Both")) == ["test_second", "test_both", "test_base"]


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"a.py": "try:\n    from b import C\nexcept ImportError:\n    from d import C\n"}, "cannot be told"),
        ({"a.py": "from b import C\nC = wrap(C)\n"}, "bound to something else"),
        ({"a.py": "from b import C\n", "b.py": "def broken(:\n"}, "cannot be parsed"),
    ],
)
def test_what_is_not_certain_is_said(tmp_path, files, reason):
    with pytest.raises(Underivable, match=reason):
        Sources(write_tree(tmp_path, files)).locate("a.py", "C")


@pytest.mark.parametrize(
    "files",
    [
        {"b.py": "class C: pass\n", "src/b.py": "class C: pass\n"},
        {"b.py": "from a import C\n"},
        {"b.py": "from d import *\nfrom e import *\n", "d.py": "class C: pass\n", "e.py": "class C: pass\n"},
    ],
)
def test_of_two_modules_none_is_guessed_and_a_circle_ends(tmp_path, files):
    assert Sources(write_tree(tmp_path, {"a.py": "from b import C\n", **files})).locate("a.py", "C") is None


def test_an_uncertain_base_is_taken_for_a_foreign_one(tmp_path):
    source = "try:\n    from b import C\nexcept ImportError:\n    from d import C\nclass A(C): pass\n"
    sources = Sources(write_tree(tmp_path, {"a.py": source}))
    assert sources.foreign_bases(Place("a.py", "A")) == ["C"]


def test_a_method_that_is_bound_to_something_else_is_not_guessed(tmp_path):
    tree = write_tree(
        tmp_path, {"a.py": "from b import B\nclass A(B):\n    test_x = None\n", "b.py": TREE["tests/base.py"]}
    )
    with pytest.raises(Underivable, match=r"A\.test_x is bound to something else"):
        Sources(tree).method(Place("a.py", "A"), "test_x")


DIAMOND = """
class Root(TestCase):
    def test_x(self): pass
class Left(Root): pass
class Right(Root):
    def test_x(self): pass
class Bottom(Left, Right): pass
class Odd(mixins.Some, Generic[T], Left): pass
class Outer:
    class Inner(Right): pass
"""


@pytest.fixture
def diamond(tmp_path):
    return Sources(write_tree(tmp_path, {"t.py": DIAMOND}))


def test_the_order_of_bases_is_pythons_own(diamond):
    namespace = {"TestCase": type("TestCase", (), {})}
    exec(DIAMOND.replace("class Odd(mixins.Some, Generic[T], Left): pass", ""), namespace)

    def named(class_name):
        return [base if isinstance(base, str) else base.name for base in diamond.linearize(Place("t.py", class_name))]

    assert named("Bottom") == [c.__name__ for c in inspect.getmro(namespace["Bottom"]) if c is not object]
    assert named("Odd") == ["Odd", "mixins.Some", "Generic[T]", "Left", "Root", "TestCase"]


@pytest.mark.parametrize(
    ("name", "owner"),
    [("Root", "Root"), ("Left", "Root"), ("Bottom", "Right"), ("Odd", "Root"), ("Outer.Inner", "Right")],
)
def test_an_inherited_method_of_the_same_file_is_found(diamond, name, owner):
    assert diamond.method(Place("t.py", name), "test_x") == Place("t.py", f"{owner}.test_x")


@pytest.mark.parametrize(
    ("source", "name", "reason"),
    [
        ("class A: pass\nclass B(A): pass\nclass C(A, B): pass", "C", "no order"),
        ("class A(B): pass\nclass B(A): pass", "A", "base of itself"),
    ],
)
def test_bases_that_have_no_order_are_said(tmp_path, source, name, reason):
    with pytest.raises(Underivable, match=reason):
        Sources(write_tree(tmp_path, {"t.py": source})).linearize(Place("t.py", name))
