from __future__ import annotations

import ast
import csv
import io
import subprocess
import sys
from pathlib import Path

import lizard
import pytest

import patchperf
from patchperf.quality.complexity import complexity, is_measured, parses, source_text
from patchperf.quality.plain_layout import with_plain_layout

TEN = sorted(Path(patchperf.__file__).parent.glob("sandbox/*.py"))[-10:]
BRANCHES = b"def f(a, b):\n    if a and b:\n        return 1\n    return [x for x in b if x]\n"


@pytest.mark.parametrize("file", TEN, ids=lambda file: file.name)
def test_ten_files_count_what_lizards_own_command_counts(file):
    told = subprocess.run(
        [sys.executable, "-m", "lizard", "--csv", file], capture_output=True, text=True, check=True, timeout=120
    ).stdout
    theirs = [int(row[1]) for row in csv.reader(io.StringIO(told))]
    assert len(theirs) > 0
    assert complexity(file.name, file.read_bytes()) == sum(theirs)


def test_there_are_ten():
    assert len(TEN) == 10


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("def f(x): return 1 if x else 2\n", "def f(x):\n    return 1 if x else 2\n"),
        ("def f(x):\n    return (\nx or 1)\n", "def f(x):\n    return (\n    x or 1)\n"),
        (
            "def f(x):\n    y = (\n1\n)\n    if x and y:\n        return 2\n",
            "def f(x):\n    y = (1)\n    if x and y:\n        return 2\n",
        ),
        ("def f(x): return (\nx or 1)\n", "def f(x):\n    return (\n    x or 1)\n"),
        (
            'def f(x):\n    x = """\na""" or x\n    return x and 1\n',
            "def f(x):\n    x = 'a' or x\n    return x and 1\n",
        ),
        ("def f(x):\n    x = [\n# no\n\n1]\n    return x and 1\n", "def f(x):\n    x = [1]\n    return x and 1\n"),
        ("def f(x): pass", "def f(x):\n    pass\n"),
        ("async def f(x): return x and 1\n", "async def f(x):\n    return x and 1\n"),
        ("def f(x) -> lambda: 0: return x or 1\n", "def f(x) -> lambda: 0:\n    return x or 1\n"),
        ("def f(\n  x, y={1: 2}): return x or y\n", "def f(\n  x, y={1: 2}):\n    return x or y\n"),
        ("def f(x):\\\n  return x or 1\n", "def f(x):\n    return x or 1\n"),
        ("@d\ndef f(x): x = x or 1; return x and 2\n", "@d\ndef f(x):\n    x = x or 1\n    return x and 2\n"),
        (
            "class A:\n\tdef f(x): return x or 1\n\tdef g(x): return [\n\t\t\t1, x or 2]\nz = 1 or 2\n",
            "class A:\n\tdef f(x):\n\t\treturn x or 1\n\tdef g(x):\n\t\treturn [1, x or 2]\nz = 1 or 2\n",
        ),
        (
            "def f(x):\n    def g(y): return 1 if y else 2\n    return x or g\n",
            "def f(x):\n    def g(y):\n        return 1 if y else 2\n    return x or g\n",
        ),
    ],
)
def test_the_layout_of_a_function_changes_nothing(line, lines):
    counted = complexity("a.py", line.encode())
    assert counted == complexity("a.py", lines.encode())
    assert counted == sum(
        f.cyclomatic_complexity for f in lizard.analyze_file.analyze_source_code("a.py", lines).function_list
    )
    assert counted > 0
    assert ast.dump(ast.parse(with_plain_layout(line))) == ast.dump(ast.parse(line))


@pytest.mark.parametrize("file", TEN, ids=lambda file: file.name)
def test_a_plain_layout_is_left_as_it_is(file):
    text = file.read_text("utf-8")
    assert with_plain_layout(text) == text


def test_functions_add_up_and_none_count_nothing():
    assert complexity("a.py", b"") == 0
    assert complexity("a.py", BRANCHES + BRANCHES) == 2 * complexity("a.py", BRANCHES) > 4


@pytest.mark.parametrize("order", [b"#lizard forgives", b"# GENERATED CODE", b"#lizard forgive global"])
def test_orders_in_a_patchs_comments_hide_nothing(order):
    head, _, rest = BRANCHES.partition(b"\n")
    assert complexity("a.py", head + b"\n    " + order + b"\n" + rest) == complexity("a.py", BRANCHES)


def test_java_is_read_by_its_suffix():
    java = b"class A { int f(int a) { if (a > 0 && a < 9) { return 1; } return 0; } }"
    assert complexity("A.java", java) == 3
    assert is_measured("A.java", (".java",))
    assert not is_measured("A.java")
    assert not is_measured("notes.rst", (".rst",))


@pytest.mark.parametrize(
    "content", [b"def f(:\n", b"print 'two'\n", b"x = 1\0", b"# coding: nonsense\nx = 1\n", b"(" * 5000]
)
def test_what_python_does_not_parse(content):
    assert not parses("a.py", content)
    assert parses("a.txt", content)


def test_a_declared_encoding_is_followed():
    content = "# coding: latin-1\nname = 'é'\n".encode("latin-1")
    assert parses("a.py", content)
    assert "é" in source_text(content)
    assert "\ufffd" in source_text(b"x = '\xe9'")
