"""What makes two patches the same solution, on real Python sources; each expectation follows from running the code."""

from __future__ import annotations

import ast
import fractions
import hashlib
import heapq
import random
import textwrap
from pathlib import Path
from types import ModuleType

import pytest

from patchperf.study.instance import GROUND_TRUTH
from patchperf.study.solutions import (
    NO_CHANGE,
    Change,
    Solution,
    content_digest,
    distinct_solutions,
    is_test_file,
    package_roots,
    relevant,
    relevant_changes,
    solution_digest,
)

ROOTS = frozenset({"pkg"})
BASE = textwrap.dedent(
    '''
    """Sums."""

    def total(values):
        """The sum."""
        result = 0
        for value in values:
            result = result + value  # slow
        return result
    '''
)


def edited(old: str, new: str) -> str:
    assert old in BASE
    return BASE.replace(old, new)


def module(new: str | bytes | None, path: str = "pkg/sums.py", base: str | bytes | None = BASE) -> Change:
    return Change(path, base.encode() if isinstance(base, str) else base, new.encode() if isinstance(new, str) else new)


def added(path: str, content: str = "x = 1\n") -> Change:
    return module(content, path, base=None)


def digest(*changes: Change, roots: frozenset[str] = ROOTS) -> str:
    return solution_digest(changes, roots)


FIX = edited("result = result + value  # slow", "result += value")


@pytest.mark.parametrize(
    "same",
    [
        FIX.replace('"""Sums."""', '"""Other words."""'),
        FIX.replace('    """The sum."""\n', ""),
        FIX.replace("result += value", "result += value  # fast"),
        FIX.replace("result = 0", "result = (\n        0\n    )"),
        FIX.replace("return result", "return (result)"),
        FIX.replace("    ", "\t"),
        FIX.replace("\n", "\r\n"),
        "# -*- coding: utf-8 -*-\n" + FIX,
        "\ufeff" + FIX,
        FIX.replace("result = 0", "result = 0x0  # type: int"),
        FIX + "\n\n\n",
    ],
    ids=[
        "module docstring",
        "no docstring",
        "comment",
        "line break",
        "parentheses",
        "tabs",
        "line ends",
        "cookie",
        "mark",
        "other spelling of a number",
        "blank lines",
    ],
)
def test_comments_docstrings_and_formatting_make_no_other_solution(same: str) -> None:
    assert digest(module(same)) == digest(module(FIX))
    assert digest(module(FIX)) != NO_CHANGE


@pytest.mark.parametrize(
    "other",
    [
        FIX.replace("result", "answer"),
        FIX.replace("result += value", "result = result + value"),
        FIX.replace("result = 0", "result = 0.0"),
        FIX.replace("result = 0", "result = False"),
        FIX.replace("result = 0", "result = '0'"),
        FIX.replace("result = 0", "result = b'0'"),
        FIX.replace("result = 0", "result = None"),
        FIX.replace("result = 0", "result = 0j"),
        FIX.replace("result = 0", "result = ..."),
        FIX.replace("result = 0", "result = f'{0}'"),
        FIX.replace("result = 0", "result = f'{0!r}'"),
        FIX.replace("result = 0", "result: int = 0"),
        FIX.replace("(values)", "(values, /)"),
        FIX.replace("(values)", "(*values)"),
        FIX.replace("(values)", "(values=None)"),
        FIX.replace("def total", "async def total"),
        FIX.replace("def total", "@staticmethod\ndef total"),
        FIX.replace('"""The sum."""', "pass"),
        FIX.replace('"""The sum."""', 'f"""The sum."""'),
        FIX.replace("    return result", "    else:\n        return result"),
        "import os\n" + FIX,
        edited("result = result + value  # slow", "result = add(result, value)")
        + "\ndef add(a, b):\n    return a + b\n",
    ],
)
def test_other_code_makes_another_solution(other: str) -> None:
    assert other != FIX
    compile(other, "other", "exec")
    assert digest(module(other)) != digest(module(FIX))


def test_all_pairs_of_unlike_constants_are_told_apart() -> None:
    constants = [
        "1",
        "True",
        "1.0",
        "1j",
        "'1'",
        "b'1'",
        "None",
        "...",
        "-1",
        "1e400",
        "(1,)",
        "[1]",
        "'a' 'b'",
        "'b' 'a'",
        "f'1'",
        "f'{1}'",
        "f'{1}' 'a'",
        "f'{1:2}'",
        "f'{1=}'",
        "'\\ud800'",
        "'\\0'",
        "'\\\\0'",
        "''",
        "10 ** 3",
    ]
    digests = {content_digest("m.py", f"x = {constant}\n".encode()) for constant in constants}
    assert len(digests) == len(constants)


def test_equal_constants_spelled_otherwise_are_the_same() -> None:
    for one, other in [("'a'", 'u"a"'), ("'ab'", "'a' 'b'"), ("16", "0x10"), ("1000", "1_000"), ("0.1", ".10")]:
        assert content_digest("m.py", f"x = {one}".encode()) == content_digest("m.py", f"x = {other}".encode())


def test_very_long_numbers_and_expressions_are_digested() -> None:
    number = b"x = 0x" + b"f" * 20_000
    assert content_digest("m.py", number + b"  # a") == content_digest("m.py", number)
    assert content_digest("m.py", number + b"0") != content_digest("m.py", number)
    chain = b"x = " + b" + ".join([b"a"] * 900)
    assert content_digest("m.py", chain + b"  # a") == content_digest("m.py", chain)


@pytest.mark.parametrize("library", [textwrap, random, hashlib, fractions, heapq], ids=lambda library: library.__name__)
def test_rewriting_a_real_module_from_its_tree_makes_no_other_solution(library: ModuleType) -> None:
    source = Path(str(library.__file__)).read_text().replace("__doc__", "__dog__").replace("doctest", "dogtest")
    rewritten = ast.unparse(ast.parse(source))
    assert rewritten != source
    assert content_digest("m.py", rewritten.encode()) == content_digest("m.py", source.encode())


def test_every_small_edit_of_a_real_module_makes_another_solution() -> None:
    tree = ast.parse(Path(textwrap.__file__).read_text())
    original = content_digest("m.py", ast.unparse(tree).encode())
    edits = 0
    restored: tuple[str, object]
    for node in list(ast.walk(tree))[::9]:
        match node:
            case ast.Constant(value=int() as value):
                node.value, restored = value + 1, ("value", value)
            case ast.Name(id=name):
                node.id, restored = f"{name}_", ("id", name)
            case ast.Attribute(attr=name):
                node.attr, restored = f"{name}_", ("attr", name)
            case ast.arg(arg=name):
                node.arg, restored = f"{name}_", ("arg", name)
            case ast.BinOp(op=operator):
                node.op, restored = ast.MatMult(), ("op", operator)
            case ast.If(body=body) | ast.While(body=body) | ast.For(body=body):
                node.body, restored = [*body, ast.Pass()], ("body", body)
            case _:
                continue
        assert content_digest("m.py", ast.unparse(tree).encode()) != original, ast.dump(node)
        setattr(node, *restored)
        edits += 1
    assert edits > 30
    assert content_digest("m.py", ast.unparse(tree).encode()) == original


def test_only_what_changes_code_is_a_change() -> None:
    assert digest(module(BASE + "# a word\n")) == NO_CHANGE
    assert digest(module(BASE)) == NO_CHANGE
    assert digest() == NO_CHANGE
    assert digest(module(None)) != NO_CHANGE
    assert digest(module("", base=None, path="pkg/new.py")) != NO_CHANGE


def test_the_path_and_a_deletion_are_part_of_the_solution() -> None:
    assert digest(added("pkg/a.py")) != digest(added("pkg/b.py"))
    assert digest(module(None)) != digest(module(""))


def test_the_order_of_changes_does_not_matter() -> None:
    changes = [module(FIX), added("pkg/a.py"), added("pkg/b.txt", "b"), added("conftest.py"), added("notes.md")]
    expected = digest(*changes)
    for seed in range(5):
        random.Random(seed).shuffle(changes)
        assert digest(*changes) == expected


def test_code_that_the_host_cannot_parse_is_compared_by_its_bytes() -> None:
    old = "def f():\n    print 'x'\n"
    assert digest(module(old)) != digest(module(old + "# a\n"))
    assert digest(module(old)) != digest(module(FIX))
    assert digest(module(b"x = 1\0\n")) != digest(module(b"x = 1\n"))
    assert digest(module("(" * 500 + ")" * 500)) != NO_CHANGE


def test_a_docstring_counts_where_the_code_reads_docstrings() -> None:
    for reader in [
        "print(total.__doc__)",
        "import doctest",
        "from inspect import getdoc",
        "getattr(total, '__doc__')",
        "from ply import yacc",
        "import pkg.extern.ply.lex",
    ]:
        code = FIX + reader + "\n"
        assert digest(module(code)) != digest(module(code.replace("The sum.", "A sum.")))
        assert digest(module(code)) == digest(module(code + "# a word\n"))


def test_layout_counts_where_the_code_reads_its_source_or_line_numbers() -> None:
    for reader in ["import inspect; inspect.getsource(total)", "import sys; sys._getframe().f_lineno"]:
        code = FIX + reader + "\n"
        assert digest(module(code)) != digest(module("\n" + code))


def test_a_body_that_is_only_a_docstring_is_an_empty_one() -> None:
    documented, empty = 'class A(Exception):\n    """Bad."""\n', "class A(Exception):\n    pass\n"
    assert content_digest("m.py", documented.encode()) == content_digest("m.py", empty.encode())


def test_tests_documents_and_scratch_files_make_no_other_solution() -> None:
    dropped = [
        added("tests/test_sums.py"),
        added("pkg/tests/test_sums.py"),
        added("test_fix.py"),
        added("reproduce.py"),
        added("scripts/debug_it.py"),
        added("docs/conf.py"),
        added("README.md", "words"),
        module("more\n", "CHANGES.rst", base="less\n"),
        module("x = 2\n", "tests/models.py", base="x = 1\n"),
        module(None, "tests/test_old.py", base="x = 1\n"),
        added("output.log", "x"),
        added("changes/1.feature", "x"),
    ]
    for change in dropped:
        assert digest(module(FIX), change) == digest(module(FIX)), change.path
    assert digest(*dropped) == NO_CHANGE


@pytest.mark.parametrize(
    "change",
    [
        added("conftest.py"),
        added("tests/deep/conftest.py"),
        added("pytest.ini", "[pytest]\naddopts = -x\n"),
        module("[tox]\n", "tox.ini", base=""),
        module("[tool:pytest]\n", "setup.cfg", base=""),
        added("pyproject.toml", ""),
        added("sitecustomize.py"),
        added("lib/site.pth", "import os"),
        added("requirements-dev.txt", "six"),
        added("pkg/data.json", "{}"),
        added("pkg/README.md", "words"),
        module("y = 2\n", "otherpkg/core.py", base="y = 1\n"),
        module(None, "bin/run", base="#!/bin/sh\n"),
        module("z = 2\n", "pkg/tests/helper.py", base="z = 1\n"),
        added("random.py"),
        added("src/json/__init__.py"),
    ],
    ids=lambda change: change.path,
)
def test_what_may_change_a_run_is_never_dropped(change: Change) -> None:
    assert digest(module(FIX), change) != digest(module(FIX))


def test_a_new_module_that_a_kept_file_imports_is_kept_wherever_it_lies() -> None:
    for statement, path in [
        ("import helper", "helper.py"),
        ("from helper import f", "helper.py"),
        ("import helper.deep.part", "helper/deep/part.py"),
        ("from helper import part", "helper/part.py"),
        ("import helper", "helper/__init__.py"),
        ("import helper", "src/helper.py"),
        ("import test_helper", "pkg/test_helper.py"),
        ("import importlib; importlib.import_module('helper')", "helper.py"),
        ("exec(open('tools/helper.txt').read())", "tools/helper.txt"),
    ]:
        user = module(f"{statement}\n{FIX}")
        assert digest(user, added(path)) != digest(user), statement
        assert digest(user, added(path)) != digest(user, added(path, "x = 2\n")), statement
        assert digest(module(FIX), added(path)) == digest(module(FIX)), statement


def test_imports_are_followed_from_new_module_to_new_module() -> None:
    user = module("import helper\n" + FIX)
    chain = [added("helper/__init__.py", "from . import one"), added("helper/one.py", "from .two import x")]
    assert [change.path for change in relevant_changes([user, *chain, added("helper/two.py")], ROOTS)] == [
        "helper/__init__.py",
        "helper/one.py",
        "helper/two.py",
        "pkg/sums.py",
    ]
    assert digest(user, *chain, added("helper/two.py"), added("helper/three.py")) == digest(
        user, *chain, added("helper/two.py")
    )


def test_a_relative_import_is_not_taken_for_another_folders_module() -> None:
    user = module("from . import models\n" + FIX)
    assert digest(user, added("tests/models.py")) == digest(user)


def test_a_plugin_named_in_new_configuration_is_kept() -> None:
    configured = added("pytest.ini", "[pytest]\naddopts = -p helper\n")
    assert digest(module(FIX), configured, added("helper.py")) != digest(module(FIX), configured)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests/test_a.py", True),
        ("tests/models.py", True),
        ("pkg/core/tests/test_a.py", True),
        ("pkg/core/tests/data.json", True),
        ("test/unit/a.py", True),
        ("testing/a.py", True),
        ("test_a.py", True),
        ("pkg/test_a.py", True),
        ("pkg/a_test.py", True),
        ("tests.py", True),
        ("pkg/test/client.py", False),
        ("pkg/testing.py", False),
        ("pkg/testing/__init__.py", False),
        ("pkg/tests.py", False),
        ("pkg/contest.py", False),
        ("pkg/attest_a.py", False),
        ("conftest.py", False),
        ("latest/a.py", False),
    ],
)
def test_test_files_are_told_by_their_path(path: str, expected: bool) -> None:
    assert is_test_file(path) == expected


@pytest.mark.parametrize(
    ("paths", "roots"),
    [
        (["pkg/core/a.py", "pkg/b.py", "pkg/tests/test_a.py"], {"pkg"}),
        (["src/pkg/a.py"], {"src/pkg"}),
        (["lib/pkg/a.py", "lib/other/b.py"], {"lib/pkg", "lib/other"}),
        (["src/single.py"], {"src/single.py"}),
        (["single.py", "tests/test_single.py"], {"single.py"}),
        (["pkg/a.py", "docs/a.rst", "CHANGES.md", "AUTHORS", "setup.cfg"], {"pkg"}),
        (["tests/test_a.py"], set()),
    ],
)
def test_package_roots_are_the_top_folders_of_the_ground_truth(paths: list[str], roots: set[str]) -> None:
    assert package_roots(paths) == roots


def test_a_root_is_a_folder_or_a_module_and_not_a_prefix() -> None:
    assert relevant("pkg/a.py", ROOTS)
    assert not relevant("pkgs/a.py", ROOTS)
    assert relevant("single.py", frozenset({"single.py"}))
    assert not relevant("single.py.orig", frozenset({"single.py"}))
    assert relevant("tests/conftest.py", ROOTS)
    assert not relevant("pkg/tests/test_a.py", ROOTS)


def test_distinct_solutions_join_the_sources_of_one_digest() -> None:
    one, two = (hashlib.sha256(name).hexdigest() for name in (b"one", b"two"))
    expected = (
        Solution(id=two[:10], digest=two, sources=(GROUND_TRUTH, "b")),
        Solution(id=one[:10], digest=one, sources=("a", "c")),
    )
    assert distinct_solutions({"c": one, "b": two, "a": one, GROUND_TRUTH: two}) == expected
    assert distinct_solutions({GROUND_TRUTH: two, "a": one, "b": two, "c": one}) == expected
    assert distinct_solutions({}) == ()


def test_ids_grow_until_they_differ() -> None:
    one, two = "0" * 64, "0" * 20 + "1" * 44
    assert [solution.id for solution in distinct_solutions({"a": one, "b": two})] == ["0" * 21, "0" * 20 + "1"]


def test_a_candidate_without_relevant_change_is_a_solution_of_its_own() -> None:
    found = distinct_solutions({GROUND_TRUTH: digest(module(FIX)), "a": digest(added("test_a.py"))})
    assert [solution.sources for solution in found] == [(GROUND_TRUTH,), ("a",)]
    assert found[1].digest == NO_CHANGE == hashlib.sha256(b"").hexdigest()
