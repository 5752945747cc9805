"""Which of a patch's changes are put back to the base."""

from __future__ import annotations

import pytest
from small_instances import make_instance

from patchperf.study.foreign import set_aside
from patchperf.study.solutions import Change

TRUTH = ("pkg/core.py",)


def is_put_back(
    path: str,
    base: bytes | None,
    new: bytes | None,
    truth: tuple[str, ...] = TRUTH,
    command: str = "./tools/check.sh && bin/test -C pkg/tests/test_core.py",
) -> bool:
    instance = make_instance(command)
    return set_aside([Change(path, base, new)], instance, truth) == (path,)


@pytest.mark.parametrize(
    "path",
    [
        "conftest.py", "pkg/sub/conftest.py", "pytest.ini", "sitecustomize.py", "src/usercustomize.py", "a.pth",
        "tests/test_a.py", "pkg/tests/test_core.py", "tests/data/a.json", "pkg/test_more.py", "bin/test",
        "tools/check.sh", "sympy/testing/runtests.py", "evil.egg-info/entry_points.txt",
        "pkg/__pycache__/core.cpython-311.pyc", "sitecustomize.pyc", "src/pytest.toml",
    ],
)  # fmt: skip
@pytest.mark.parametrize(("base", "new"), [(None, b"x"), (b"x", b"y"), (b"x", None)])
def test_tests_and_what_runners_read_is_put_back(path: str, base: bytes | None, new: bytes | None) -> None:
    assert is_put_back(path, base, new)
    assert not is_put_back(path, base, new, truth=(*TRUTH, path))


@pytest.mark.parametrize(
    "path",
    [
        "pytest.py", "src/_pytest/runner.py", "unittest/__init__.py", "pluggy.abi3.so", "sitecustomize/__init__.py",
        "usercustomize.cpython-311-x86_64-linux-gnu.so", "argparse.py", "src/json/__init__.py", "lib/traceback.so",
    ],
)  # fmt: skip
def test_a_new_module_under_a_runners_name_is_put_back(path: str) -> None:
    assert is_put_back(path, None, b"")
    assert not is_put_back(path, b"", b"x")


@pytest.mark.parametrize(
    "path", ["code/new.py", "pkg/json/__init__.py", "pkg/argparse.py", "site/index.html", "ast.md"]
)
def test_a_new_file_that_hides_no_module_of_pythons_stays(path: str) -> None:
    assert not is_put_back(path, None, b"")


@pytest.mark.parametrize(
    ("command", "path"),
    [
        ("tox -e py -- tests", "tox.ini"),
        ("/usr/bin/tox", "tox.toml"),
        ("make test", "Makefile"),
        ("nox -s tests", "noxfile.py"),
        ("python check.py", "check.py"),
        ("cd x; bash run.sh", "run.sh"),
    ],
)
def test_what_decides_on_the_native_command_is_put_back(command: str, path: str) -> None:
    assert is_put_back(path, b"x", b"y", command=command)
    assert not is_put_back(path, b"x", b"y", command="pytest -rA a")


def test_the_runners_own_repository_may_have_new_modules() -> None:
    assert not is_put_back("src/_pytest/new.py", None, b"", truth=("src/_pytest/main.py",))


@pytest.mark.parametrize(
    "path", ["pkg/core.py", "pkg/new.py", "setup.py", "docs/a.rst", "pkg/testing.py", "testbed.py"]
)
def test_code_stays(path: str) -> None:
    assert not is_put_back(path, b"", b"x")


def test_helpers_of_tests_within_the_package_stay_unless_they_are_new() -> None:
    assert not is_put_back("pkg/tests/helpers.py", b"", b"x")
    assert is_put_back("pkg/tests/helpers.py", None, b"x")
    assert is_put_back("other/tests/helpers.py", b"", b"x")


SECTIONS = {
    "setup.cfg": (b"[metadata]\nname = a\n[tool:pytest]\naddopts = -q\n", b"[tool:pytest]\n", b"[metadata]\n"),
    "tox.ini": (b"[tox]\nenvlist = a\n[pytest]\naddopts = -q\n", b"[pytest]\n", b"[tox]\n"),
    "pyproject.toml": (
        b'[project]\nname = "a"\n[tool.pytest.ini_options]\nmarkers = [\n  "x",\n]\n',
        b"[tool.pytest.ini_options]\n",
        b"[project]\n",
    ),
}


@pytest.mark.parametrize("name", SECTIONS)
def test_shared_files_are_put_back_where_pytests_section_changes(name: str) -> None:
    base, section, other = SECTIONS[name]
    assert is_put_back(name, base, base.replace(section, section + b"testpaths = elsewhere\n"))
    assert is_put_back(name, None, base)
    assert is_put_back(name, base, base + b"[more]\npytest11 = evil\n")
    assert not is_put_back(name, base, base.replace(other, other + b"version = 2\n"))


@pytest.mark.parametrize(
    "new",
    [
        b'["tool".pytest.ini_options]\naddopts = "-p evil"\n',
        b'[tool]\npytest.ini_options = {addopts = "-p evil"}\n',
        b'[ tool . pytest . ini_options ]\naddopts = "-p evil"\n',
        b"tool.pytest = {}\n",
        b"[tool.pytest",
        b"\xff",
    ],
)
def test_a_table_for_pytest_is_found_however_it_is_written(new: bytes) -> None:
    assert is_put_back("pyproject.toml", b'[project]\nname = "a"\n', new)
    assert not is_put_back("pyproject.toml", new, new + b"# more\n") or new[-1:] != b"\n"
