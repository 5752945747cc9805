"""Single points where pytest has plugins that draw at random or start workers: the plugins are real.

They are installed once per session, from the package index, into an environment of their own.
"""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from small_instances import STEADY, make_instance, write_tree
from uv import find_uv_bin

from patchperf.study.commands import single_point_command
from patchperf.study.derivation import Underivable
from patchperf.study.identifiers import Target
from patchperf.study.plugins import steady_options

REQUIREMENTS = (
    "pytest==8.4.2",
    "pytest-randomly==4.0.1",
    "pytest-random-order==1.2.0",
    "pytest-xdist==3.8.0",
    "pytest-rerunfailures==16.1",
)
NODE = Target("pytest", "test_a.py", "test_x", "test_a.py::test_x")
SEEDED = ("--randomly-seed=0", "-p", "no:random_order")
ORDERED = ("-p", "no:randomly", "--random-order-seed=0")
ALONE = (*STEADY, "-n0", "--dist=no")

SHOWING = """
import os
import random

def test_x():
    print("WORKER", os.environ.get("PYTEST_XDIST_WORKER", "none"), "DRAWN", random.random())
"""


@pytest.mark.parametrize(
    ("words", "required", "added"),
    [
        ([], [], STEADY),
        (["-rA", "-p", "no:cacheprovider", "-k", "randomly"], [], STEADY),
        (["-p", "no:randomly"], [], STEADY),
        (["--randomly-seed=5"], [], SEEDED),
        (["-v", "--randomly-dont-reorganize"], [], SEEDED),
        (["-p", "randomly"], [], SEEDED),
        (["-ppytest_randomly"], [], SEEDED),
        ([], ["pytest-randomly"], SEEDED),
        (["--random-order"], [], ORDERED),
        (["--random-order-bucket=class"], [], ORDERED),
        ([], ["pytest-random-order", "pytest-randomly"], ("--randomly-seed=0", "--random-order-seed=0")),
        (["-n", "4"], [], ALONE),
        (["-nauto"], [], ALONE),
        (["-vn2", "--dist", "loadfile"], [], ALONE),
        (["--numprocesses=2"], [], ALONE),
        ([], ["pytest-xdist"], ALONE),
        (["--no-header", "-rn", "--reruns=2"], [], STEADY),
    ],
)
def test_plugins_are_off_and_those_in_use_are_told_to_be_steady(words, required, added):
    assert steady_options(words, required) == added


@pytest.fixture(scope="session")
def python(tmp_path_factory):
    """A Python whose pytest has all of the plugins."""
    folder = tmp_path_factory.mktemp("plugins") / "environment"
    program = folder / "bin" / "python"
    for command in (
        ["venv", "-q", "-p", sys.executable, folder],
        ["pip", "install", "-q", "-p", program, *REQUIREMENTS],
    ):
        subprocess.run([find_uv_bin(), *command], check=True)
    return program


def drawn(python, tree, native):
    """What the one test prints in two runs of the single point, which has to pass."""
    command = single_point_command(make_instance(native), NODE, tree, {"python"})
    assert command.argv[:3] == ("python", "-m", "pytest")
    environment = {"PATH": f"{python.parent}:/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1", **command.environment}
    told = []
    for _ in range(2):
        argv = [python, *command.argv[1:]]
        done = subprocess.run(argv, cwd=tree, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert re.search(r"\b1 passed\b", done.stdout)
        told += re.findall(r"WORKER (\S+) DRAWN (\S+)", done.stdout)
    return told


@pytest.mark.parametrize(
    ("native", "settings", "steady"),
    [
        ("pytest -rA", "", False),
        ("pytest -rA --randomly-seed=last -p cacheprovider", "", True),
        ("pytest -rA", "[pytest]\naddopts = --randomly-seed=7\n", True),
        ("pytest -rA", "[pytest]\nrequired_plugins = pytest-randomly pytest-xdist>=2\n", True),
        ("pytest -rA", "[pytest]\naddopts = --random-order -p no:randomly\n", True),
        ("pytest -rA", "[pytest]\naddopts = -n 2 --dist loadfile\n", False),
        ("PYTEST_ADDOPTS='-n2 --randomly-dont-reorganize' pytest -rA -n 3", "", True),
        ("pytest -rA", "[pytest]\naddopts = --reruns 2 --strict-markers\n", False),
    ],
)
def test_the_one_test_runs_by_itself_and_draws_the_same_where_its_plugin_stays(
    tmp_path, python, native, settings, steady
):
    tree = write_tree(tmp_path, {"test_a.py": SHOWING, "pytest.ini": settings or "[pytest]\n"})
    told = drawn(python, tree, native)
    assert [worker for worker, _ in told] == ["none"] * len(told)
    assert len(told) >= 2
    assert (len({number for _, number in told}) == 1) == steady


def test_options_in_a_variable_that_do_not_parse_are_said(tmp_path):
    with pytest.raises(Underivable, match="PYTEST_ADDOPTS=-k 'x: No closing quotation"):
        single_point_command(make_instance('PYTEST_ADDOPTS="-k \'x" pytest -rA'), NODE, tmp_path, set())


def test_a_hash_seed_of_the_native_command_is_left_to_whoever_runs_it(tmp_path):
    direct = single_point_command(make_instance("PYTHONHASHSEED=7 A=1 pytest -rA"), NODE, tmp_path, set())
    assert direct.environment == {"A": "1"}
    scripted = single_point_command(make_instance("cd x; PYTHONHASHSEED=7 A=1 pytest -rA"), NODE, tmp_path, set())
    assert "PYTHONHASHSEED" not in scripted.argv[-1]
