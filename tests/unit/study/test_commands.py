from __future__ import annotations

import os
import subprocess

import pytest
from small_instances import STEADY, make_instance, new_file, steady, write_tree

from patchperf.study.commands import ShellCommand, collect_command, single_point_command, suite_command
from patchperf.study.derivation import Underivable
from patchperf.study.identifiers import Target

NODE = Target("pytest", "tests/test_a.py", "A.test_x", "tests/test_a.py::A::test_x[1 - 2]")
LABEL = Target("django", "tests/app/tests.py", "A.test_x", "app.tests.A.test_x")
NAME = Target("sympy", "pkg/tests/test_a.py", "test_x", "test_x")
DOTTED = Target("unittest", "tests/test_a.py", "A.test_x", "tests.test_a.A.test_x")

DJANGO = "./tests/runtests.py --verbosity 2 --settings=test_sqlite --parallel 1"
SYMPY = "PYTHONWARNINGS='ignore::UserWarning,ignore::SyntaxWarning' bin/test -C --verbose"
TOX_INI = "[testenv]\nsetenv =\n  PYTHONWARNINGS = all\ncommands=\n  python -X dev -m pytest --durations 25 {posargs}\n"


@pytest.mark.parametrize(
    ("native", "argv", "environment"),
    [
        ("pytest -rA tests/test_a.py", ["pytest", "-rA", "tests/test_a.py"], {}),
        (
            f"{SYMPY} a.py",
            ["bin/test", "-C", "--verbose", "a.py"],
            {"PYTHONWARNINGS": "ignore::UserWarning,ignore::SyntaxWarning"},
        ),
    ],
)
def test_the_suite_is_the_native_command_as_it_is(tmp_path, native, argv, environment):
    assert suite_command(make_instance(native), tmp_path, set()) == ShellCommand(
        argv=tuple(argv), environment=environment
    )


def test_an_older_row_gets_its_repositorys_command(tmp_path):
    instance = make_instance(repo="django/django", test_patch=new_file("tests/app/tests.py", "x"))
    assert suite_command(instance, tmp_path, set()).argv[-1] == "app.tests"
    assert single_point_command(instance, LABEL, tmp_path, set()).argv[-1] == LABEL.selector


def test_where_pytest_is_no_program_it_is_run_as_a_module(tmp_path):
    instance = make_instance("A=1 pytest -rA tests/test_a.py")
    expected = ShellCommand(argv=("python", "-m", "pytest", "-rA", "tests/test_a.py"), environment={"A": "1"})
    assert suite_command(instance, tmp_path, {"python"}) == expected
    assert single_point_command(instance, NODE, tmp_path, {"python"}).argv[:3] == ("python", "-m", "pytest")


@pytest.mark.parametrize(
    ("native", "executables", "suite", "single"),
    [
        ("poetry run pytest -rA", {"poetry", "pytest"}, "poetry run pytest -rA", "poetry run pytest -rA"),
        ("poetry run pytest -rA", {"pytest"}, "pytest -rA", "pytest -rA"),
        ("uv run --group test pytest -rA", {"python"}, "python -m pytest -rA", "python -m pytest -rA"),
        ("uv run -m pytest -rA", {"python"}, "python -m pytest -rA", "python -m pytest -rA"),
        ("hatch run python -m pytest -rA", {"python"}, "python -m pytest -rA", "python -m pytest -rA"),
        ("xvfb-run -a pdm run pytest -rA", {"pytest"}, "xvfb-run -a pytest -rA", "xvfb-run -a pytest -rA"),
        ("timeout 60 pytest -rA", {"pytest"}, "timeout 60 pytest -rA", "timeout 60 pytest -rA"),
    ],
)
def test_a_manager_of_environments_that_is_absent_is_left_out(tmp_path, native, executables, suite, single):
    instance = make_instance(native)
    assert suite_command(instance, tmp_path, executables).argv == tuple(suite.split())
    expected = steady(*single.split(), NODE.selector)
    assert single_point_command(instance, NODE, tmp_path, executables).argv == expected


# ---------------------------------------------------------------------------------------------------------------- tox

SPHINX = "tox --current-env -epy39 -v -- tests/test_a.py"


def test_where_tox_is_absent_its_command_is_run_as_it_would_run_it(tmp_path):
    write_tree(tmp_path, {"tox.ini": TOX_INI})
    start = ("python", "-X", "dev", "-m", "pytest", "-rA", "--durations", "25")
    environment = {"PYTHONWARNINGS": "all"}
    instance = make_instance(SPHINX)
    assert suite_command(instance, tmp_path, {"python"}) == ShellCommand(
        argv=(*start, "tests/test_a.py"), environment=environment
    )
    assert single_point_command(instance, NODE, tmp_path, {"python"}) == ShellCommand(
        argv=steady(*start, NODE.selector), environment=environment
    )


def test_where_tox_is_there_it_is_asked_for_a_log_that_names_the_tests(tmp_path):
    start = ("tox", "--current-env", "-epy39", "-v", "--", "-rA")
    assert suite_command(make_instance(SPHINX), tmp_path, {"tox"}).argv == (*start, "tests/test_a.py")
    assert single_point_command(make_instance(SPHINX), NODE, tmp_path, {"tox"}).argv == (*start, *STEADY, NODE.selector)


# ----------------------------------------------------------------------------------------------------- several commands


def run(command, folder):
    environment = {"PATH": os.environ["PATH"], **command.environment}
    return subprocess.run(command.argv, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def a_runner_that(tree, **codes):
    """Stand-ins for pytest in folders of their own, which say that they ran and end with these codes."""
    for name, code in codes.items():
        write_tree(tree, {f"{name}/pytest": f"#!/bin/sh\necho {name} in $(basename $PWD) $X: $*\nexit {code}\n"})
        (tree / name / "pytest").chmod(0o755)


def test_every_command_of_a_list_runs_in_one_shell_and_a_failed_run_of_tests_is_not_forgotten(tmp_path):
    a_runner_that(tmp_path, good=0, bad=3)
    write_tree(tmp_path, {"sub/x": ""})
    instance = make_instance("export X=7", "cd sub", "false", "../bad/pytest -rA a.py", "../good/pytest -rA b.py | cat")
    done = run(suite_command(instance, tmp_path, set()), tmp_path)
    assert done.stdout.splitlines() == ["bad in sub 7: -rA a.py", "good in sub 7: -rA b.py"]
    assert done.returncode == 3


def test_only_runs_of_tests_decide_the_exit_code(tmp_path):
    a_runner_that(tmp_path, good=0, bad=3)
    passing = make_instance("false", "good/pytest -rA a.py", "false")
    assert run(suite_command(passing, tmp_path, set()), tmp_path).returncode == 0
    piped = make_instance("bad/pytest -rA a.py | cat")
    assert run(suite_command(piped, tmp_path, set()), tmp_path).returncode == 3
    unknown = make_instance("true", "./check all")
    assert run(suite_command(unknown, tmp_path, set()), tmp_path).returncode != 0


def test_preparations_of_a_list_stay_before_the_single_point(tmp_path):
    a_runner_that(tmp_path, good=0)
    write_tree(tmp_path, {"sub/x": ""})
    instance = make_instance("export X=7", "cd sub", "../good/pytest -rA tests", "echo done")
    done = run(single_point_command(instance, NODE, tmp_path, set()), tmp_path)
    assert done.stdout.splitlines() == [f"good in sub 7: -rA {' '.join(STEADY)} {NODE.selector}"]


def test_what_becomes_of_the_output_and_what_comes_after_is_left_out_of_the_single_point(tmp_path):
    a_runner_that(tmp_path, good=3)
    write_tree(tmp_path, {"sub/x": ""})
    instance = make_instance("cd sub && export X=7; ../good/pytest -rA > log 2>&1 | tee log || true; echo done")
    done = run(single_point_command(instance, NODE, tmp_path, set()), tmp_path)
    assert (done.stdout.splitlines(), done.returncode) == (
        [f"good in sub 7: -rA {' '.join(STEADY)} {NODE.selector}"],
        3,
    )


def test_the_trees_place_in_the_images_is_the_trees_place_here(tmp_path):
    a_runner_that(tmp_path, good=0)
    write_tree(tmp_path, {"sub/x": ""})
    instance = make_instance("cd /", "cd /testbed/sub && ../good/pytest -rA", "cd /testbed", "good/pytest -q")
    suite = run(suite_command(instance, tmp_path, set()), tmp_path)
    assert suite.stdout.splitlines() == ["good in sub : -rA", f"good in {tmp_path.name} : -q"]
    single = run(single_point_command(make_instance(*instance.test_commands[:2]), NODE, tmp_path, set()), tmp_path)
    assert single.stdout.splitlines() == [f"good in sub : -rA {' '.join(STEADY)} {NODE.selector}"]


@pytest.mark.parametrize(
    "commands",
    [
        ["pytest -rA tests/test_b.py", "pytest -v tests/test_a.py"],
        ["pytest -rA tests/other; pytest -v ./tests"],
        ["pytest -v tests/test_a.py::B", "pytest tests/test_a.pyx"],
    ],
)
def test_of_several_runs_the_one_that_covers_the_tests_file_is_narrowed(tmp_path, commands):
    write_tree(tmp_path, {NODE.file: ""})
    assert single_point_command(make_instance(*commands), NODE, tmp_path, set()).argv == steady(
        "pytest", "-v", NODE.selector
    )


def test_of_runs_in_several_folders_the_one_that_has_the_tests_file_is_narrowed(tmp_path):
    write_tree(tmp_path, {"core/tests/test_a.py": "", "tests/test_b.py": ""})
    instance = make_instance("cd core; pytest -v", "cd ..; pytest -q")
    target = Target("pytest", "core/tests/test_a.py", "A.test_x", NODE.selector)
    lines = single_point_command(instance, target, tmp_path, set()).argv[2].splitlines()
    assert lines[-4:-2] == ["cd core", f"{{ pytest -v {' '.join(STEADY)} '{NODE.selector}'"]


def test_a_module_run_by_a_wrapper_that_stays_is_left_to_it(tmp_path):
    instance = make_instance("coverage run -m pytest -rA")
    assert suite_command(instance, tmp_path, {"python"}).argv == ("coverage", "run", "-m", "pytest", "-rA")


def test_of_several_runs_of_labels_the_one_that_covers_the_tests_label_is_narrowed(tmp_path):
    instance = make_instance("./tests/runtests.py app.testsuite", "./tests/runtests.py -v 2 app")
    expected = ("./tests/runtests.py", "-v", "2", LABEL.selector)
    assert single_point_command(instance, LABEL, tmp_path, set()).argv == expected


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ("-rA -q", "-rA"),
        ("-qq -x", "-x"),
        ("--quiet --tb=short", "--tb=short"),
        ("-n 4 --dist loadfile -v", "-v"),
        ("-nauto --maxprocesses=2 -v", "-v"),
        ("--numprocesses=auto -p no:cacheprovider", "-p no:cacheprovider"),
        ("--cov=src --cov-fail-under=90 -rA", "-rA"),
        ("-rA --cov src --cov-report xml --cov-branch", "-rA"),
        ("--cov-fail-under 90 -k name", "-k name"),
    ],
)
def test_options_that_only_fit_a_whole_suite_go(tmp_path, options, kept):
    instance = make_instance(f"pytest {options} tests")
    assert single_point_command(instance, NODE, tmp_path, set()).argv == steady("pytest", *kept.split(), NODE.selector)


@pytest.mark.parametrize(
    ("native", "single"),
    [
        ("coverage run --source src -m pytest -rA tests", ["python", "-m", "pytest", "-rA", NODE.selector]),
        ("uv run coverage run -m pytest -rA", ["python", "-m", "pytest", "-rA", NODE.selector]),
        ("coverage run ./tests/runtests.py app", ["python", "./tests/runtests.py", LABEL.selector]),
    ],
)
def test_one_test_runs_without_a_measurement_of_coverage(tmp_path, native, single):
    target = LABEL if "runtests" in native else NODE
    command = single_point_command(make_instance(native), target, tmp_path, {"python"})
    assert command.argv == steady(*single)


@pytest.mark.parametrize(
    ("file", "settings", "added"),
    [
        ("setup.cfg", "[tool:pytest]\naddopts = -ra\n    --cov=src --cov-report xml\n", ["--no-cov"]),
        ("tox.ini", "[pytest]\naddopts = --cov src\n", ["--no-cov"]),
        ("pyproject.toml", '[tool.pytest.ini_options]\naddopts = ["--cov", "-q"]\n', ["--no-cov"]),
        ("pyproject.toml", '[tool.pytest]\naddopts = ["--cov=src"]\n', ["--no-cov"]),
        ("pytest.toml", '[pytest]\naddopts = ["--cov=src"]\n', ["--no-cov"]),
        ("tests/pytest.ini", "[pytest]\naddopts = --cov\n", ["--no-cov"]),
        ("pytest.ini", "# no section: the file alone makes the folder pytest's root\n", []),
        ("setup.cfg", "[tool:pytest]\naddopts = --cov-report=xml --covered\n", []),
        ("setup.cfg", "[pytest]\naddopts = --cov\n", []),
        ("pyproject.toml", "[tool.pytest\n", []),
    ],
)
def test_coverage_asked_for_by_the_trees_settings_is_switched_off(tmp_path, file, settings, added):
    write_tree(tmp_path, {file: settings})
    command = single_point_command(make_instance("pytest -rA tests"), NODE, tmp_path, {"pytest"})
    assert command.argv == ("pytest", "-rA", *STEADY, *added, NODE.selector)


def test_coverage_asked_for_by_the_commands_environment_is_switched_off(tmp_path):
    native = "PYTEST_ADDOPTS='-q --cov=src' pytest -rA"
    command = single_point_command(make_instance(native), NODE, tmp_path, {"pytest"})
    assert command.argv[-2:] == ("--no-cov", NODE.selector)


def test_of_several_settings_those_that_pytest_would_take_decide_on_coverage(tmp_path):
    write_tree(
        tmp_path, {"pytest.ini": "[pytest]\naddopts = -q\n", "setup.cfg": "[tool:pytest]\naddopts = --cov=src\n"}
    )
    command = single_point_command(make_instance("pytest -rA tests"), NODE, tmp_path, {"pytest"})
    assert command.argv == steady("pytest", "-rA", NODE.selector)


FUNCTION = Target("pytest", "tests/test_a.py", "A.test_x", "tests/test_a.py::A::test_x")


@pytest.mark.parametrize(
    ("native", "argv"),
    [
        ("pytest -rA -vv tests", "pytest -rA -vv"),
        ("tox -e py39 -- tests/test_a.py", "tox -e py39 -- -rA"),
    ],
)
def test_the_node_ids_of_one_function_are_listed_under_the_native_options(tmp_path, native, argv):
    command = collect_command(make_instance(native), FUNCTION, tmp_path, {"pytest", "tox"})
    assert command.argv == (*argv.split(), "--collect-only", "--verbosity=-1", *STEADY, FUNCTION.selector)


@pytest.mark.parametrize(
    ("commands", "target", "reason"),
    [
        (["pytest -rA $FILES"], NODE, "only a plain call"),
        (["pytest -rA tests/test_a.py", "(cd x; pytest)"], NODE, r"only a plain call .*\(cd x; pytest\)"),
        (["yes | pytest -rA"], NODE, "only a plain call"),
        (["pytest -rA --unheard-of tests"], NODE, "may be its value"),
        (["pytest a", "pytest b"], NODE, "not one call of pytest"),
        (["pytest -m slow", "pytest -m 'not slow'"], NODE, "not one call of pytest"),
        (["python -m unittest discover -s tests -k other"], DOTTED, "keyword of its own"),
        (["bin/test -k other pkg/tests/test_a.py"], NAME, "keyword of its own"),
        ([SPHINX], NODE, "no \\[testenv\\]"),
    ],
)
def test_a_command_that_cannot_be_narrowed_with_certainty_says_why(tmp_path, commands, target, reason):
    with pytest.raises(Underivable, match=reason):
        single_point_command(make_instance(*commands), target, tmp_path, set())
