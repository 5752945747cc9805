from __future__ import annotations

import codecs
import os
import re
import subprocess
import sys

import pytest
from small_instances import write_tree

from patchperf.study.derivation import Underivable
from patchperf.study.instrument import hidden_neighbours, hide, insert_decorator, original_line

IMPORT = "import patchperf_inprocess"
MARK = "@patchperf_inprocess.measured"


def added_lines(before, after):
    """The lines that an edit added; fails unless the rest is as it was, byte for byte."""
    old = re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z", before)
    added = []
    for line in re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z", after):
        if old and line == old[0]:
            old.pop(0)
        else:
            added.append(line)
    assert not old
    return added


# ---------------------------------------------------------------------------------------------- where the lines are put


def test_the_decorator_goes_above_all_others_and_the_import_first():
    source = "import mock\n\nclass A:\n    @mock.patch('x')\n    @other\n    def test_x(self, m):\n        pass\n"
    assert insert_decorator(source, "A.test_x") == (
        "import patchperf_inprocess\nimport mock\n\nclass A:\n    @patchperf_inprocess.measured\n"
        "    @mock.patch('x')\n    @other\n    def test_x(self, m):\n        pass\n"
    )


@pytest.mark.parametrize(
    ("above", "below"),
    [
        ("", ""),
        ("#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n\n", "import x\n"),
        ('"""Doc\nstring."""\n', "import x\n"),
        (
            '# x\n"""Doc."""\nfrom __future__ import division\nfrom __future__ import (\n    print_function,\n)\n',
            "x = 1\n",
        ),
        ('"""Doc."""; x = (1,\n  2)\n', "y = 1\n"),
        ("from __future__ import division; import os\n", "import x\n"),
    ],
)
def test_the_import_comes_after_docstring_and_future_imports(above, below):
    rest = below + "def test_x():\n    pass\n"
    edited = insert_decorator(above + rest, "test_x")
    assert edited.startswith(f"{above}{IMPORT}\n")
    assert added_lines(above + rest, edited) == [f"{IMPORT}\n", f"{MARK}\n"]


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("indentation", ["    ", "\t", "  \t"])
@pytest.mark.parametrize("last", [True, False])
def test_line_endings_tabs_and_a_missing_last_newline_stay(ending, indentation, last):
    lines = ["class A:", f"{indentation}@staticmethod", f"{indentation}def test_x(): return '\x0c\u2028'", "x = 1"]
    source = ending.join(lines) + (ending if last else "")
    edited = insert_decorator(source, "A.test_x")
    assert added_lines(source, edited) == [f"{IMPORT}{ending}", f"{indentation}{MARK}{ending}"]


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        (b"# -*- coding: latin-1 -*-\n", "latin-1"),
        (b"# coding: cp1251\n", "cp1251"),
        (codecs.BOM_UTF8, "utf-8"),
        (b"", "utf-8"),
    ],
)
def test_a_file_in_any_encoding_comes_back_byte_for_byte(head, encoding):
    body = "# ¤ §\ndef test_x():\n    return '§'\n".encode("latin-1" if encoding == "cp1251" else encoding)
    source = head + body
    edited = insert_decorator(source.decode("utf-8", "surrogateescape"), "test_x").encode("utf-8", "surrogateescape")
    assert edited.startswith(head)
    without = edited.replace(f"{IMPORT}\n".encode(), b"").replace(f"{MARK}\n".encode(), b"")
    assert without == source
    compile(edited, "edited.py", "exec")


@pytest.mark.parametrize(
    ("source", "qualname", "line"),
    [
        ("def test_x(): 1\ndef test_x(): 2\n", "test_x", "def test_x(): 2"),
        ("class A:\n def test_x(self): 1\n def test_x(self): 2\n", "A.test_x", " def test_x(self): 2"),
        ("class A:\n class B:\n  def test_x(self): 1\n", "A.B.test_x", "  def test_x(self): 1"),
        ("if True:\n  def test_x(): 1\n", "test_x", "  def test_x(): 1"),
        ("try:\n  import y\nexcept ImportError:\n  pass\nelse:\n  def test_x(): 1\n", "test_x", "  def test_x(): 1"),
        ("async def test_x(): 1\n", "test_x", "async def test_x(): 1"),
    ],
)
def test_the_definition_in_force_is_decorated(source, qualname, line):
    lines = insert_decorator(source, qualname).split("\n")
    assert lines[lines.index(line) - 1].strip() == MARK
    assert sum(MARK in other for other in lines) == 1


@pytest.mark.parametrize(
    ("source", "qualname", "reason"),
    [
        ("print 'x'\ndef test_x(): pass\n", "test_x", "cannot be parsed"),
        ("def test_y(): pass\n", "test_x", "no function test_x"),
        ("class test_x: pass\n", "test_x", "no function test_x"),
        ("test_x = make()\n", "test_x", "bound to something else"),
        ("def test_x(): pass\ntest_x = skip(test_x)\n", "test_x", "bound to something else"),
        ("if a:\n  def test_x(): 1\nelse:\n  def test_x(): 2\n", "test_x", "cannot be told"),
        ("def test_x():\n    yield 1\n", "test_x", "generator"),
        ("@pytest.mark.slow\ndef test_x():\n    yield 1\n", "test_x", "generator"),
        ("exec('def test_x(): pass')\n", "test_x", "may be made when the file runs"),
        ("def make():\n    def test_x(): pass\n", "make.test_x", "inside a function"),
        ("def test_x():\n    for a in b:\n        x = yield from a\n", "test_x", "generator"),
        ("from __future__ import division; x = 1 \\\n\ndef test_x(): pass\n", "test_x", "changing something else"),
    ],
)
def test_what_cannot_be_decorated_with_certainty_is_left_alone(source, qualname, reason):
    with pytest.raises(Underivable, match=reason):
        insert_decorator(source, qualname)


def test_a_generator_inside_the_test_is_no_generator_test():
    source = "def test_x():\n    def inner():\n        yield 1\n    f = lambda: (yield)\n    sum(x for x in inner())\n"
    assert MARK in insert_decorator(source, "test_x")


def test_a_decorator_may_make_a_plain_function_of_a_generator():
    assert MARK in insert_decorator("@gen_test\n@pytest.mark.slow\ndef test_x():\n    yield 1\n", "test_x")


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_a_line_of_the_edited_file_is_known_in_the_original(ending):
    source = ending.join(['"""Doc."""', "import x", "", "@x", "def test_x():", "    pass", "y = 1"])
    edited = insert_decorator(source, "test_x")
    numbers = [original_line(source, edited, line) for line in range(1, 12)]
    assert numbers == [1, 2, 2, 3, 4, 4, 5, 6, 7, 7, 7]


# --------------------------------------------------------------------------------------------------------- neighbours

NEIGHBOURS = """\
from other import test_args_elsewhere
def test_args(): pass
def test_args_more(): pass
def test_Args(): pass
def helper_test_args(): pass
test_args_data = [1]
if x:
    def test_args_maybe(): pass
class test_args_class:
    def test_args_method(self): pass
"""


def test_neighbours_are_the_tests_whose_names_contain_the_name():
    expected = ("test_args_elsewhere", "test_args_more", "test_Args", "test_args_maybe")
    assert hidden_neighbours(NEIGHBOURS, "test_args") == expected
    assert hidden_neighbours(NEIGHBOURS, "test_args_more") == ()


@pytest.mark.parametrize(
    "source", ["def test_a(): pass\r\ndef test_ab(): pass", "def test_a(): pass\ndef test_ab(): pass\n"]
)
def test_hidden_names_are_gone_when_the_module_has_run_and_the_rest_is_as_it_was(source):
    hidden = hide(source, ["test_ab"])
    assert hidden.startswith(source)
    namespace = {}
    exec(hidden, namespace)
    assert "test_a" in namespace
    assert "test_ab" not in namespace
    assert added_lines(source + ("" if source.endswith("\n") else "\r\n"), hidden) == [
        'globals().pop("test_ab", None)' + ("\n" if source.endswith("\n") else "\r\n")
    ]


def test_hiding_nothing_changes_nothing():
    assert hide("not python at all", []) == "not python at all"


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def test_a(): test_ab()\ndef test_ab(): pass\n", "line 1 uses it"),
        ("def test_a(): pass\n", "not at module level"),
    ],
)
def test_a_name_that_is_needed_or_not_there_is_not_hidden(source, reason):
    with pytest.raises(Underivable, match=reason):
        hide(source, ["test_ab"])


def test_decorating_and_hiding_go_together():
    source = "def test_a(): return 1\ndef test_ab(): pass\n"
    assert insert_decorator(source, "test_a", ["test_ab"]) == hide(insert_decorator(source, "test_a"), ["test_ab"])


# ----------------------------------------------------------------------------------------------------- on real runners

STAND_IN = """\
import functools
def measured(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        for _ in range(3):
            function(*args, **kwargs)
            print("CALLED", function.__name__)
    return call
"""

PYTEST_FILE = '''\
"""Tests."""
from __future__ import annotations
import os
from unittest import mock
import pytest

@pytest.fixture
def three():
    return 3

@pytest.mark.parametrize("a", [1, 2])
@mock.patch("os.getpid", return_value=7)
@mock.patch.dict(os.environ, {"ADDED": "0"})
def test_x(getpid, three, a):
    assert (os.getpid(), three) == (7, 3)
    assert os.environ["ADDED"] == "0"
    os.environ["ADDED"] = str(a)
    assert getpid.call_count == 1 or getpid.reset_mock() is None

class TestA:
    def setup_method(self):
        self.base = 4
    @pytest.mark.xfail(reason="known", strict=True)
    def test_known(self, three):
        assert self.base == three
    def test_method(self, tmp_path):
        assert tmp_path.is_dir() and self.base == 4

def test_y():
    pass
'''


def run_python(tree, *arguments):
    environment = {"PATH": os.environ["PATH"], "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)


def test_pytest_collects_and_passes_the_same_tests_with_the_decorator(tmp_path):
    decorated = PYTEST_FILE
    for qualname in ("test_x", "TestA.test_known", "TestA.test_method"):
        decorated = insert_decorator(decorated, qualname)
    write_tree(tmp_path, {"a.py": PYTEST_FILE, "b.py": decorated, "patchperf_inprocess.py": STAND_IN})
    collected = run_python(tmp_path, "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "a.py", "b.py").stdout
    names = {file: re.findall(rf"^{file}::(.*)$", collected, re.MULTILINE) for file in ("a.py", "b.py")}
    assert (
        names["b.py"]
        == names["a.py"]
        == ["test_x[1]", "test_x[2]", "TestA::test_known", "TestA::test_method", "test_y"]
    )
    output = run_python(tmp_path, "pytest", "-q", "-s", "-p", "no:cacheprovider", "b.py").stdout
    assert "4 passed, 1 xfailed in " in output
    calls = {name: output.count(f"CALLED {name}") for name in ("test_x", "test_known", "test_method", "test_y")}
    assert calls == {"test_x": 6, "test_known": 0, "test_method": 3, "test_y": 0}


UNITTEST_FILE = """\
import os
import unittest
from unittest import mock

class Base:
    @mock.patch("os.getpid", return_value=7)
    def test_shared(self, getpid):
        \"\"\"Shared by two.\"\"\"
        self.assertEqual(os.getpid(), 7)
        getpid.assert_called_once()

class A(Base, unittest.TestCase):
    def setUp(self):
        self.ready = True

class B(Base, unittest.TestCase):
    pass
"""


def test_unittest_runs_an_inherited_test_decorated_where_it_is_defined(tmp_path):
    edited = insert_decorator(UNITTEST_FILE, "Base.test_shared")
    write_tree(tmp_path, {"test_b.py": edited, "patchperf_inprocess.py": STAND_IN})
    done = run_python(tmp_path, "unittest", "-v", "test_b.A.test_shared")
    assert done.returncode == 0
    assert "Shared by two. ... " in done.stderr
    assert "Ran 1 test in" in done.stderr
    assert done.stdout.count("CALLED test_shared") == 3


def test_a_file_with_a_very_long_expression_is_edited() -> None:
    source = f"X = {' + '.join(['1'] * 1500)}\n\ndef test_x():\n    pass\n"
    edited = insert_decorator(source, "test_x")
    assert edited.count("\n") == source.count("\n") + 2


def test_a_file_nested_too_deeply_to_be_parsed_says_so() -> None:
    with pytest.raises(Underivable, match="cannot be parsed"):
        insert_decorator(f"X = {'(' * 5000}1{')' * 5000}\ndef test_x():\n    pass\n", "test_x")
