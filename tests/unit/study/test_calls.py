from __future__ import annotations

import pytest

from patchperf.study.calls import discovery, parse_call, split_arguments
from patchperf.study.derivation import Underivable

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
    ("command", "wrappers", "program"),
    [
        ("poetry run pytest -rA", ["poetry run"], "pytest"),
        ("pdm run pytest -rA", ["pdm run"], "pytest"),
        ("pipenv run python -m pytest -rA", ["pipenv run"], "python -m pytest"),
        ("hatch run pytest -rA", ["hatch run"], "pytest"),
        ("uv run pytest -rA", ["uv run"], "pytest"),
        ("uv run --group test --frozen pytest -rA", ["uv run --group test --frozen"], "pytest"),
        ("uv run --with pytest pytest -rA", ["uv run --with pytest"], "pytest"),
        ("uv run -m pytest -rA", ["uv run"], "-m pytest"),
        ("uv run -- pytest -rA", ["uv run --"], "pytest"),
        ("conda run -n testbed --no-capture-output pytest -rA", ["conda run -n testbed --no-capture-output"], "pytest"),
        ("xvfb-run -a pytest -rA", ["xvfb-run -a"], "pytest"),
        ("xvfb-run -a -s '-screen 0' pytest -rA", ["xvfb-run -a -s -screen 0"], "pytest"),
        ("xvfb-run --auto-servernum poetry run pytest -rA", ["xvfb-run --auto-servernum", "poetry run"], "pytest"),
        ("timeout -k 5 600 pytest -rA", ["timeout -k 5 600"], "pytest"),
        ("coverage run --source x -m pytest -rA", ["coverage run --source x"], "-m pytest"),
        ("env -u X pytest -rA", ["env -u X"], "pytest"),
        ("nice -n 5 pytest -rA", ["nice -n 5"], "pytest"),
    ],
)
def test_the_programs_that_start_a_runner_stand_apart_with_their_options(command, wrappers, program):
    call = parse_call(command)
    assert call is not None
    assert [" ".join(words) for words in call.wrappers] == wrappers
    assert (" ".join(call.program), call.arguments) == (program, ("-rA",))


def test_assignments_are_taken_from_before_and_after_env():
    call = parse_call("A=1 env B=2 C= pytest")
    assert call is not None
    assert call.environment == {"A": "1", "B": "2", "C": ""}
    assert str(call) == "A=1 B=2 C='' env pytest"


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
        "python -m",
        "uv run --unheard-of value pytest",
        "hatch test",
        "nox -s pytest",
        "nosetests tests",
        "timeout 600",
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
        ("pytest", "-rA --tb=no -p no:cacheprovider t.py", "-rA, --tb=no, -p no:cacheprovider", "t.py"),
        ("pytest", "t.py -vk name", "-vk name", "t.py"),
        ("pytest", "-rA -vv -o console_output_style=classic t.py", "-rA, -vv, -o console_output_style=classic", "t.py"),
        ("pytest", "--durations 25 t.py u.py", "--durations 25", "t.py u.py"),
        ("pytest", "--cov src -n auto t.py", "--cov src, -n auto", "t.py"),
        ("pytest", "--unheard-of=1 t.py", "--unheard-of=1", "t.py"),
        ("pytest", "-rA -- -t.py", "-rA", "-t.py"),
        ("django", "--verbosity 2 --parallel 1 a.tests b", "--verbosity 2, --parallel 1", "a.tests b"),
        ("django", "--parallel a.tests", "--parallel", "a.tests"),
        ("sympy", "-C --verbose --seed 7 a.py", "-C, --verbose, --seed 7", "a.py"),
        ("pytest", "--json-report --json-report-file r.json t.py", "--json-report, --json-report-file r.json", "t.py"),
        ("pytest", "-m unit --ignore a --reruns 2 t.py", "-m unit, --ignore a, --reruns 2", "t.py"),
        ("sympy", "-C --random --rerun 2 a.py", "-C, --random, --rerun 2", "a.py"),
        ("unittest", "-v -k name tests.test_a", "-v, -k name", "tests.test_a"),
    ],
)
def test_options_keep_their_values_and_files_stand_apart(runner, arguments, options, positionals):
    found, files = split_arguments(runner, arguments.split())
    assert [" ".join(option) for option in found] == options.split(", ")
    assert files == tuple(positionals.split())


def test_a_word_after_an_unknown_option_is_not_guessed_to_be_a_file():
    with pytest.raises(Underivable, match=r"--unheard-of .* t\.py may be its value"):
        split_arguments("pytest", ("--unheard-of", "t.py"))


@pytest.mark.parametrize(
    ("arguments", "folder"),
    [
        ("-v tests.test_a", None),
        ("tests/test_a.py", None),
        ("", "."),
        ("-v", "."),
        ("discover", "."),
        ("discover -v -s tests", "tests"),
        ("discover -stests", "tests"),
        ("discover --start-directory=tests", "tests"),
        ("discover tests", "tests"),
        ("discover -s tests/unit -t .", "."),
        ("discover tests test_*.py .", "."),
        ("discover -p test_*.py -s tests --top-level-directory lib", "lib"),
    ],
)
def test_the_folder_of_unittests_discovery_is_told(arguments, folder):
    assert discovery(arguments.split()) == folder
