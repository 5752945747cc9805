from __future__ import annotations

import ast

import pytest

from patchperf.study.definitions import classes, find, find_method, first_lines, linearize, parse_bytes
from patchperf.study.derivation import Underivable


def parse(source):
    return ast.parse(source)


def line_of(source, qualname):
    found = find(parse(source), qualname, "t.py")
    return None if found is None else found.lineno


def test_the_last_of_several_definitions_is_in_force():
    assert line_of("def f(): pass\ndef f(): pass", "f") == 2
    assert line_of("class A:\n def f(self): pass\nclass A:\n def f(self): pass", "A.f") == 4


@pytest.mark.parametrize(
    "source",
    [
        "if x:\n    def f(): pass",
        "try:\n    import y\n    def f(): pass\nexcept ImportError:\n    pass",
        "with x:\n    def f(): pass",
        "f = 1\nwith x:\n    def f(): pass",
        "for f in ():\n    pass\ndef f(): pass",
    ],
)
def test_one_definition_that_is_the_only_one_possible_is_found(source):
    assert line_of(source, "f") is not None


@pytest.mark.parametrize(
    "source",
    [
        "if x:\n    def f(): pass\nelse:\n    def f(): pass",
        "def f(): pass\nif x:\n    def f(): pass",
        "def f(): pass\nf = wrap(f)",
        "def f(): pass\ndel f",
        "def f(): pass\nfrom x import f",
        "match x:\n    case 1:\n        def f(): pass\n    case 2:\n        def f(): pass",
    ],
)
def test_what_may_not_be_in_force_is_not_guessed(source):
    with pytest.raises(Underivable):
        line_of(source, "f")


def test_what_is_not_there_is_none():
    assert line_of("class A: pass", "A.f") is None
    assert line_of("x = 1", "f") is None
    with pytest.raises(Underivable, match="inside a function"):
        line_of("def f():\n    def g(): pass", "f.g")


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


def test_the_order_of_bases_is_pythons_own():
    namespace = {"TestCase": type("TestCase", (), {})}
    source = DIAMOND.replace("class Odd(mixins.Some, Generic[T], Left): pass", "")
    exec(source, namespace)
    expected = [c.__name__ for c in namespace["Bottom"].__mro__ if c is not object]
    assert linearize(parse(DIAMOND), "Bottom", "t.py") == expected
    assert linearize(parse(DIAMOND), "Odd", "t.py") == ["Odd", "mixins.Some", "Generic[T]", "Left", "Root", "TestCase"]


@pytest.mark.parametrize(
    ("name", "owner"),
    [("Root", "Root"), ("Left", "Root"), ("Bottom", "Right"), ("Odd", "Root"), ("Outer.Inner", "Right")],
)
def test_an_inherited_method_is_found_where_it_is_defined(name, owner):
    method = find_method(parse(DIAMOND), name, "test_x", "t.py")
    assert method is not None
    assert method.owner == owner


def test_bases_that_have_no_order_are_said():
    with pytest.raises(Underivable, match="no order"):
        linearize(parse("class A: pass\nclass B(A): pass\nclass C(A, B): pass"), "C", "t.py")
    with pytest.raises(Underivable, match="base of itself"):
        linearize(parse("class A(B): pass\nclass B(A): pass"), "A", "t.py")


def test_all_classes_are_listed_with_those_inside_others():
    assert list(classes(parse(DIAMOND).body)) == ["Root", "Left", "Right", "Bottom", "Odd", "Outer", "Outer.Inner"]


@pytest.mark.parametrize(
    ("docstring", "lines"),
    [
        ("One line.", {"One line."}),
        ("First.\n\n    More.\n    ", {"First."}),
        ("\n    Below the quotes,\n    and on.\n    ", {"Below the quotes,"}),
        ("  ", set()),
    ],
)
def test_the_docstrings_first_line_is_what_unittest_prints(docstring, lines):
    function = parse(f"def f():\n    {docstring!r}").body[0]
    assert first_lines(function) == lines


def test_a_file_in_another_grammar_is_an_error_with_its_line():
    with pytest.raises(Underivable, match=r"old\.py, line 2: cannot be parsed"):
        parse_bytes(b"x = 1\nprint 'x'\n", "old.py")
