from __future__ import annotations

import ast

import pytest

from patchperf.study.definitions import class_names, find, first_lines, parse_bytes
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
        "def f(): pass\nf.slow = True\nf[0] = 1",
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
        "def f(): pass\n(f, g) = 1, 2",
        "match x:\n    case 1:\n        def f(): pass\n    case 2:\n        def f(): pass",
    ],
)
def test_what_may_not_be_in_force_is_not_guessed(source):
    with pytest.raises(Underivable):
        line_of(source, "f")


def test_a_method_that_is_set_from_outside_of_its_class_is_not_guessed():
    source = "class A:\n    def f(self): pass\n    def g(self): pass\nA.f = wrap(A.f)\nA.h = 1\n"
    with pytest.raises(Underivable, match=r"line 4: A\.f is set from outside"):
        line_of(source, "A.f")
    assert line_of(source, "A.g") == 3


def test_what_is_not_there_is_none():
    assert line_of("class A: pass", "A.f") is None
    assert line_of("x = 1", "f") is None
    with pytest.raises(Underivable, match="inside a function"):
        line_of("def f():\n    def g(): pass", "f.g")


def test_the_classes_of_a_scope_are_listed_without_those_inside_them():
    source = "class A:\n    class B: pass\nif x:\n    class C: pass\nclass A: pass\ndef f():\n    class D: pass"
    assert class_names(parse(source).body) == ["A", "C"]


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


def test_what_is_no_function_has_no_docstring_that_counts():
    assert first_lines(parse("class A:\n    'A class.'").body[0]) == first_lines(None) == set()


def test_a_file_in_another_grammar_is_an_error_with_its_line():
    with pytest.raises(Underivable, match=r"old\.py, line 2: cannot be parsed"):
        parse_bytes(b"x = 1\nprint 'x'\n", "old.py")
