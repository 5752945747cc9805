from __future__ import annotations

import pytest
from small_instances import write_tree

from patchperf.study.calls import parse_call
from patchperf.study.derivation import Underivable
from patchperf.study.tox import expand

NATIVE = "tox --current-env -epy39 -v -- tests/test_a.py"


def lines_of(tree, ini, native=NATIVE, name="tox.ini"):
    write_tree(tree, {name: ini})
    call = parse_call(native)
    assert call is not None
    return expand(call, tree)


def test_the_environments_command_gets_the_arguments_and_names_all_tests(tmp_path):
    ini = "[testenv]\ncommands=\n    python -X dev -m pytest --durations 25 {posargs}\n"
    assert lines_of(tmp_path, ini) == ["python -X dev -m pytest -rA --durations 25 tests/test_a.py"]


def test_a_report_option_of_the_commands_own_stays_alone(tmp_path):
    assert lines_of(tmp_path, "[testenv]\ncommands = pytest -vrs {posargs}\n") == ["pytest -vrs tests/test_a.py"]


def test_setenv_comes_before_each_command_and_inherits_nothing(tmp_path):
    ini = """\
[testenv]
setenv =
    PYTHONWARNINGS = all,ignore::ImportWarning:x.y
    PYTEST_ADDOPTS = {env:PYTEST_ADDOPTS:} --color yes
commands=
    pytest {posargs}
"""
    assert lines_of(tmp_path, ini) == [
        "PYTHONWARNINGS=all,ignore::ImportWarning:x.y PYTEST_ADDOPTS='--color yes' pytest -rA tests/test_a.py"
    ]


def test_a_section_for_the_environment_wins_over_the_common_one(tmp_path):
    ini = "[testenv]\nsetenv = A=1\ncommands = pytest a\n[testenv:py39]\ncommands = pytest b {posargs}\n"
    assert lines_of(tmp_path, ini) == ["A=1 pytest -rA b tests/test_a.py"]


def test_setup_cfg_serves_where_there_is_no_tox_ini(tmp_path):
    ini = "[metadata]\nname = x\n[testenv]\ncommands = pytest {posargs:tests}\n"
    assert lines_of(tmp_path, ini, "tox -e py39", "setup.cfg") == ["pytest -rA tests"]


def test_conditions_and_continued_lines_are_heeded(tmp_path):
    ini = "[testenv]\ncommands =\n  py38: false\n  py39,py310: pytest \\\n      {posargs}\n  !py39: false\n  - other\n"
    assert lines_of(tmp_path, ini) == ["pytest -rA tests/test_a.py", "other"]


def test_names_with_braces_stand_for_several_environments(tmp_path):
    ini = (
        "[testenv]\ncommands = pytest a\n[testenv:py{38,39}-{x,y}]\ncommands =\n  py{37,39}: pytest b\n  py38: false\n"
    )
    assert lines_of(tmp_path, ini, "tox -e py39-y") == ["pytest -rA b"]
    assert lines_of(tmp_path, ini, "tox -e py39") == ["pytest -rA a"]


def test_settings_of_other_sections_are_followed(tmp_path):
    ini = """[base]
options = -x
commands = pytest {[base]options} {posargs}
[testenv]
changedir = {toxinidir}
commands = {[base]commands}
"""
    assert lines_of(tmp_path, ini) == ["pytest -rA -x tests/test_a.py"]


def test_the_ini_text_in_pyproject_toml_serves_where_there_is_no_file(tmp_path):
    toml = '[tool.tox]\nlegacy_tox_ini = """\n[testenv]\ncommands = pytest {posargs}\n"""\n'
    write_tree(tmp_path, {"setup.cfg": "[metadata]\nname = x\n"})
    assert lines_of(tmp_path, toml, name="pyproject.toml") == ["pytest -rA tests/test_a.py"]


def test_the_program_that_starts_the_runner_stays(tmp_path):
    ini = "[testenv]\ncommands = coverage run -m pytest -Werror {posargs}\n"
    assert lines_of(tmp_path, ini) == ["coverage run -m pytest -rA -Werror tests/test_a.py"]


@pytest.mark.parametrize(
    ("ini", "reason"),
    [
        ("[testenv]\ncommands = {[base]commands}\n", r"\{\[base\]commands\} is not understood"),
        ("[testenv]\ncommands = pytest {envtmpdir}\n", r"\{envtmpdir\} is not understood"),
        ("[testenv]\nchangedir = tests\ncommands = pytest\n", "changedir is not understood: tests"),
        ("[testenv]\ndeps = pytest\n", "no commands"),
        ("[tox]\nenvlist = py39\n", r"no \[testenv\]"),
    ],
)
def test_what_is_not_understood_is_said(tmp_path, ini, reason):
    with pytest.raises(Underivable, match=reason):
        lines_of(tmp_path, ini)


def test_several_environments_are_not_one_command(tmp_path):
    with pytest.raises(Underivable, match="not one environment"):
        lines_of(tmp_path, "[testenv]\ncommands = pytest\n", "tox -e py38,py39")
