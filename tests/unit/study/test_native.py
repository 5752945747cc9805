from __future__ import annotations

import pytest
from small_instances import make_instance, new_file

from patchperf.study.derivation import Underivable
from patchperf.study.native import native_commands, patched_files, runner_of, runs_tests, steps

SYMPY = "PYTHONWARNINGS='ignore::UserWarning,ignore::SyntaxWarning' bin/test -C --verbose"
DJANGO = "./tests/runtests.py --verbosity 2 --settings=test_sqlite --parallel 1"


def test_the_rows_own_commands_come_first():
    assert native_commands(make_instance("pytest -rA", repo="django/django")) == ("pytest -rA",)


TWO_FILES = new_file("tests/app/test_b.py", "x = 1") + new_file("tests/app/test_a.py", "x = 1")


@pytest.mark.parametrize(
    ("repo", "version", "command"),
    [
        ("astropy/astropy", "5.0", "pytest -rA {files}"),
        ("astropy/astropy", "1.3", "pytest -rA -vv -o console_output_style=classic --tb=no {files}"),
        ("django/django", "4.0", f"{DJANGO} {{labels}}"),
        ("django/django", "1.9", "./tests/runtests.py --verbosity 2 {labels}"),
        ("mwaskom/seaborn", "", "pytest --no-header -rA {files}"),
        ("sphinx-doc/sphinx", "", "tox --current-env -epy39 -v -- {files}"),
        ("sympy/sympy", "", f"{SYMPY} {{files}}"),
    ],
)
def test_older_rows_get_their_repositorys_command_and_the_test_patchs_files_in_its_order(repo, version, command):
    instance = make_instance(repo=repo, version=version, test_patch=TWO_FILES)
    files, labels = "tests/app/test_b.py tests/app/test_a.py", "app.test_b app.test_a"
    assert native_commands(instance) == (command.format(files=files, labels=labels),)


def test_data_files_of_the_test_patch_are_no_test_files():
    patch = "".join(new_file(f"tests/{name}", "x") for name in ("a.json", "b.txt", "c.csv", "test_d.py", "e.rst"))
    instance = make_instance(repo="psf/requests", test_patch=patch)
    assert native_commands(instance) == ("pytest -rA tests/test_d.py tests/e.rst",)


def test_a_row_without_a_command_of_an_unknown_repository_is_an_error_that_names_it():
    with pytest.raises(Underivable, match=r"owner__project-1: no test command .* owner/project"):
        native_commands(make_instance())


def test_patched_files_are_named_as_they_are_after_the_patch():
    renamed = "diff --git a/tests/old.py b/tests/new.py\nsimilarity index 100%\n"
    assert patched_files(renamed + new_file("tests/b.py", "diff --git x")) == ("tests/new.py", "tests/b.py")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("pytest -rA", True),
        ("cd x; python -m unittest", True),
        ("for f in a; do pytest $f; done", True),
        ("pip install pytest", False),
        ("python -m pip install pytest tox && ls", False),
        ("cat pytest.ini; mkdir -p pytest", False),
        ("make", False),
    ],
)
def test_lines_that_run_tests_are_told_from_others(line, expected):
    assert runs_tests(line) is expected


@pytest.mark.parametrize(
    ("command", "runner"),
    [
        ("pytest -rA tests/test_a.py", "pytest"),
        ("tox --current-env -epy39 -v -- tests/test_a.py", "pytest"),
        ("./tests/runtests.py --verbosity 2 app.tests", "django"),
        ("PYTHONWARNINGS='ignore' bin/test -C --verbose a.py", "sympy"),
        ("python -m unittest -v tests.test_a", "unittest"),
        ("cd core; python -m pytest -rA 2>&1 | tee log", "pytest"),
    ],
)
def test_the_native_command_tells_the_runner(command, runner):
    assert runner_of(make_instance(command)) == runner


@pytest.mark.parametrize(
    "commands", [("make test",), ("nosetests -v",), ("hatch test",), ("pytest a", "python -m unittest b")]
)
def test_a_command_without_one_known_runner_has_none(commands):
    with pytest.raises(Underivable, match="owner__project-1"):
        runner_of(make_instance(*commands))


# -------------------------------------------------------------------------------------------------------------- steps


@pytest.mark.parametrize(
    ("commands", "expected"),
    [
        (["pytest -rA a.py"], [("pytest -rA a.py", [], ".")]),
        (["cd core", "pytest"], [("pytest", ["cd core"], "core")]),
        (["export A=1; cd core && pytest"], [("pytest", ["export A=1 ; cd core"], "core")]),
        (["test -f x && export A=1", "pytest"], [("pytest", ["test -f x && export A=1"], ".")]),
        (
            ["cd a/b; pytest x", "cd ..; pytest y"],
            [("pytest x", ["cd a/b"], "a/b"), ("pytest y", ["cd a/b", "cd .."], "a")],
        ),
        (["cd /testbed/lib && pytest", "cd /testbed"], [("pytest", ["cd /testbed/lib"], "lib")]),
        (["cd /testbed", "pytest"], [("pytest", ["cd /testbed"], ".")]),
        (["pytest a; pytest b"], [("pytest a", [], "."), ("pytest b", [], ".")]),
        (["pytest -rA 2>&1 | tee log || true; echo done"], [("pytest -rA", [], ".")]),
        (["pytest a || cd x", "pytest b"], [("pytest a", [], "."), ("pytest b", [], ".")]),
        (["pytest a && cd x && pytest b"], [("pytest a", [], "."), ("pytest b", ["cd x"], "x")]),
        (['cd "$HOME"', "pytest"], [("pytest", ['cd "$HOME"'], None)]),
        (["cd /elsewhere", "pytest"], [("pytest", ["cd /elsewhere"], None)]),
        (["cd ..", "pytest"], [("pytest", ["cd .."], None)]),
        (["pushd core", "pytest"], [("pytest", ["pushd core"], None)]),
        (["pushd core", "cd /testbed", "pytest"], [("pytest", ["pushd core", "cd /testbed"], ".")]),
        (["if true; then cd x; fi", "pytest"], [("pytest", ["if true; then cd x; fi"], None)]),
        (["make; pip install pytest"], []),
    ],
)
def test_the_calls_of_runners_are_found_with_what_comes_before_and_where_they_run(commands, expected):
    found, unknown = steps(commands)
    assert [(str(step.call), list(step.before), step.directory) for step in found] == expected
    assert unknown == []


@pytest.mark.parametrize(
    "command",
    [
        "yes | pytest",
        "pytest < answers",
        "false || pytest",
        "pytest $FILES",
        "(cd core && pytest)",
        "bash -c 'pytest -rA'",
        "pytest &",
        "nosetests -v tests",
    ],
)
def test_a_call_that_depends_on_more_than_its_words_is_not_understood(command):
    assert steps([command]) == ([], [command])
