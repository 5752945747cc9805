"""Lines taken apart as bash's manual has it ("Shell Syntax", "Redirections"), and joined again."""

from __future__ import annotations

import subprocess

import pytest

from patchperf.study.shell import Simple, joined, simple_commands


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("pytest -rA", [Simple("", "pytest -rA")]),
        ("cd core && pytest", [Simple("", "cd core"), Simple("&&", "pytest")]),
        ("cd core; pytest\nls", [Simple("", "cd core"), Simple(";", "pytest"), Simple(";", "ls")]),
        ("a &&\n  b", [Simple("", "a"), Simple("&&", "b")]),
        ("a -x \\\n  -y", [Simple("", "a -x -y")]),
        ("pytest || true", [Simple("", "pytest"), Simple("||", "true")]),
        ("pytest 2>&1 | tee log", [Simple("", "pytest", "2>&1"), Simple("|", "tee log")]),
        ("pytest |& cat", [Simple("", "pytest"), Simple("|", "cat")]),
        ("pytest >log 2> 'a b' -q", [Simple("", "pytest -q", ">log 2> 'a b'")]),
        ("pytest &> log", [Simple("", "pytest", "&> log")]),
        ("pytest -k 'a; b && c' \"d|e\"", [Simple("", "pytest -k 'a; b && c' \"d|e\"")]),
        ('export A="$(pwd; ls)"', [Simple("", 'export A="$(pwd; ls)"')]),
        ("a\\;b c#d # e; f", [Simple("", "a\\;b c#d")]),
        ("t.py::test_x[1-2]", [Simple("", "t.py::test_x[1-2]")]),
        ("\n\n a ;\n", [Simple("", "a")]),
        ("a \\", [Simple("", "a")]),
        ("", []),
        ("# nothing", []),
    ],
)
def test_a_list_of_pipelines_is_taken_apart(line, commands):
    assert simple_commands(line) == tuple(commands)


@pytest.mark.parametrize(
    "line",
    [
        "(cd core && pytest)",
        "for f in a b; do pytest $f; done",
        "if true; then pytest; fi",
        "{ pytest; }",
        "! pytest",
        "pytest & wait",
        "cat <<END\npytest\nEND",
        "pytest $(ls)",
        "pytest `ls`",
        "pytest 'a",
        'pytest "a',
        "&& pytest",
        "pytest &&",
        "a ;; b",
        "> log",
    ],
)
def test_what_is_more_than_that_is_not_understood(line):
    assert simple_commands(line) is None


def test_what_a_command_reads_is_seen():
    yes, reader = simple_commands("yes | pytest") or ()
    assert (yes.reads, reader.reads) == (False, True)
    assert [command.reads for command in simple_commands("pytest < in; pytest > out; pytest 2>&1") or ()] == [1, 0, 0]


@pytest.mark.parametrize(
    "line",
    [
        "echo a; echo b && false || echo c",
        "printf '%s\\n' 'x; y' \"z  z\" | sort -r 2>&1",
        "cd / && pwd\necho \\\n d # e",
    ],
)
def test_a_line_that_is_joined_again_does_the_same(line):
    def run(text):
        return subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=False).stdout

    again = joined(simple_commands(line) or ())
    assert run(again) == run(line) != ""


def test_the_first_of_the_joined_is_linked_to_nothing():
    assert joined((simple_commands("a && b || c") or ())[1:]) == "b || c"
