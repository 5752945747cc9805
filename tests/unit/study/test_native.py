from __future__ import annotations

import pytest
from small_instances import make_instance, new_file

from patchperf.errors import InputError
from patchperf.study.derivation import Underivable
from patchperf.study.native import native_commands, parse_call, patched_files, runs_tests, split_arguments

SYMPY = "PYTHONWARNINGS='ignore::UserWarning,ignore::SyntaxWarning' bin/test -C --verbose"
DJANGO = "./tests/runtests.py --verbosity 2 --settings=test_sqlite --parallel 1"


@pytest.mark.parametrize(
    ("command", "runner", "program", "arguments", "environment"),
    [
        ("pytest -rA tests/test_a.py", "pytest", ("pytest",), ("-rA", "tests/test_a.py"), {}),
        ("python -m pytest -rA", "pytest", ("python", "-m", "pytest"), ("-rA",), {}),
        (
            "python3.9 -X dev -W error -m pytest tests",
            "pytest",
            ("python3.9", "-X", "dev", "-W", "error", "-m", "pytest"),
            ("tests",),
            {},
        ),
        ("A=1 B='x y' pytest", "pytest", ("pytest",), (), {"A": "1", "B": "x y"}),
        ("poetry run pytest -rA", "pytest", ("poetry", "run", "pytest"), ("-rA",), {}),
        ("uv run --group test pytest -q", "pytest", ("uv", "run", "--group", "test", "pytest"), ("-q",), {}),
        (
            f"{DJANGO} app.tests",
            "django",
            ("./tests/runtests.py",),
            ("--verbosity", "2", "--settings=test_sqlite", "--parallel", "1", "app.tests"),
            {},
        ),
        ("python tests/runtests.py app", "django", ("python", "tests/runtests.py"), ("app",), {}),
        (
            f"{SYMPY} sympy/a/tests/test_b.py",
            "sympy",
            ("bin/test",),
            ("-C", "--verbose", "sympy/a/tests/test_b.py"),
            {"PYTHONWARNINGS": "ignore::UserWarning,ignore::SyntaxWarning"},
        ),
        ("tox -e py39 -- tests/test_a.py", "tox", ("tox",), ("-e", "py39", "--", "tests/test_a.py"), {}),
        ("python -m unittest -v tests.test_a", "unittest", ("python", "-m", "unittest"), ("-v", "tests.test_a"), {}),
    ],
)
def test_a_plain_call_is_taken_apart(command, runner, program, arguments, environment):
    call = parse_call(command)
    assert call is not None
    assert (call.runner, call.program, call.arguments) == (runner, program, arguments)
    assert call.environment == environment


@pytest.mark.parametrize(
    "command",
    [
        "pytest | tee log",
        "cd sub && pytest",
        "pytest $FILES",
        "pytest tests/*.py",
        "pip install pytest",
        "make test",
        "/usr/bin/test -f x",
        "python setup.py test",
        "A=1",
        "",
    ],
)
def test_what_needs_a_shell_or_is_no_runner_is_no_plain_call(command):
    assert parse_call(command) is None


def test_a_call_reads_back_as_a_shell_would_take_it():
    call = parse_call("""A='x y' pytest -k "a and not b" tests/test_a.py::test_x[1-2]""")
    assert parse_call(str(call)) == call
    assert str(call) == "A='x y' pytest -k 'a and not b' 'tests/test_a.py::test_x[1-2]'"


@pytest.mark.parametrize(
    ("runner", "arguments", "options", "positionals"),
    [
        ("pytest", "-rA --tb=no -p no:cacheprovider t.py", "-rA --tb=no -p no:cacheprovider", "t.py"),
        ("pytest", "t.py -vk name", "-vk name", "t.py"),
        ("pytest", "-rA -vv -o console_output_style=classic t.py", "-rA -vv -o console_output_style=classic", "t.py"),
        ("pytest", "--durations 25 t.py u.py", "--durations 25", "t.py u.py"),
        ("pytest", "--cov src -n auto t.py", "--cov src -n auto", "t.py"),
        ("pytest", "--unheard-of=1 t.py", "--unheard-of=1", "t.py"),
        ("pytest", "-rA -- -t.py", "-rA", "-t.py"),
        ("django", "--verbosity 2 --parallel 1 a.tests b", "--verbosity 2 --parallel 1", "a.tests b"),
        ("django", "--parallel a.tests", "--parallel", "a.tests"),
        ("sympy", "-C --verbose --seed 7 a.py", "-C --verbose --seed 7", "a.py"),
        ("unittest", "-v -k name tests.test_a", "-v -k name", "tests.test_a"),
    ],
)
def test_options_keep_their_values_and_files_stand_apart(runner, arguments, options, positionals):
    assert split_arguments(runner, tuple(arguments.split())) == (tuple(options.split()), tuple(positionals.split()))


def test_a_word_after_an_unknown_option_is_not_guessed_to_be_a_file():
    with pytest.raises(Underivable, match=r"--unheard-of .* t\.py may be its value"):
        split_arguments("pytest", ("--unheard-of", "t.py"))


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
    with pytest.raises(InputError, match=r"owner__project-1: no test command .* owner/project"):
        native_commands(make_instance())


def test_patched_files_are_named_as_they_are_after_the_patch():
    renamed = "diff --git a/tests/old.py b/tests/new.py\nsimilarity index 100%\n"
    assert patched_files(renamed + new_file("tests/b.py", "diff --git x")) == ("tests/new.py", "tests/b.py")


@pytest.mark.parametrize(
    ("line", "expected"),
    [("pytest -rA", True), ("cd x; python -m unittest", True), ("pip install pytest-cov", False), ("make", False)],
)
def test_lines_that_run_tests_are_told_from_others(line, expected):
    assert runs_tests(line) is expected
