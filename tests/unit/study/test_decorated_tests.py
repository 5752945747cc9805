"""Tests of every kind before and after decoration, under real runners: same id, same signature, same reports.

The runners are installed once per session, from the package index, into an environment of their own.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from small_instances import write_tree
from uv import find_uv_bin

from patchperf.measure.tools import RESULT, read_results, write_tools
from patchperf.study.derivation import Underivable
from patchperf.study.instrument import insert_decorator

REQUIREMENTS = (
    "pytest==9.0.2",
    "pytest-asyncio==1.3.0",
    "pytest-trio==0.8.0",
    "anyio==4.12.0",
    "trio==0.32.0",
    "hypothesis==6.148.0",
    "flaky==3.8.1",
    "pytest-rerunfailures==16.1",
    "pytest-repeat==0.9.4",
    "parameterized==0.9.0",
    "ddt==1.7.2",
    "django==5.2.9",
)
WARMUP = 2
CALLS = WARMUP + 1

CALLED = """\
import atexit, json, os
calls = 0
def called():
    global calls
    calls += 1
atexit.register(lambda: open(os.environ["CALLS"], "w").write(str(calls)))
"""
"""What each test calls, so that its calls are counted without our help."""

CONFTEST = """\
import inspect, json, os
seen = []
def pytest_collection_modifyitems(items):
    seen.extend([item.nodeid, str(inspect.signature(item.obj)), sorted(item.fixturenames)] for item in items)
def pytest_runtest_logreport(report):
    seen.append([report.nodeid, report.when, report.outcome, hasattr(report, "wasxfail")])
def pytest_unconfigure():
    with open(os.environ["SEEN"], "w") as file:
        json.dump(seen, file)
"""


@dataclass(frozen=True)
class Case:
    """One test file; ``where`` is the function decorated in it (or in ``files``), ``node`` what the runner is given.

    ``calls`` are those of the body without and with the decorator, ``records`` the invocations that our module saw.
    """

    name: str
    source: str
    node: str = "test_x"
    where: str = "test_x"
    file: str = ""
    files: dict[str, str] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    calls: tuple[int, int] = (1, CALLS)
    records: int = 1


CLASS = "class TestA:\n"
CASE = "import unittest\nclass A(unittest.TestCase):\n"
MOCKED = """\
import os
from unittest import mock
import pytest
@pytest.fixture
def three():
    return 3
@pytest.mark.parametrize("a", [1, 2])
@mock.patch("os.getpid")
@mock.patch.dict(os.environ, {"ADDED": "0"})
@mock.patch.object(os, "getppid", new=lambda: 5)
def test_x(getpid, three, a):
    called()
    os.getpid()
    assert getpid.call_count == 1 and os.getppid() == 5 and three == 3
    assert os.environ["ADDED"] == "0"
    os.environ["ADDED"] = str(a)
"""
SETTINGS = """\
from django.conf import settings
settings.configure()
from django.core.signals import setting_changed
from django.test import SimpleTestCase, override_settings
changes = []
setting_changed.connect(lambda **kwargs: changes.append(kwargs["enter"]), weak=False)
class A(SimpleTestCase):
    @override_settings(ADDED=7)
    def test_x(self):
        called()
        self.assertEqual(settings.ADDED, 7)
        assert len(changes) % 2 == 1
        settings.ADDED = 8
"""
FIXTURES = """\
import pytest
steps = []
@pytest.fixture(autouse=True)
def around(request):
    steps.append("in")
    yield
    steps.append("out")
@pytest.fixture(params=["a", "b c"])
def letter(request):
    yield request.param
def test_x(letter, tmp_path, capsys, monkeypatch):
    called()
    assert letter == "b c" and steps == ["in"] and tmp_path.is_dir()
    monkeypatch.setenv("X", "1")
    print("x")
    assert capsys.readouterr().out == "x\\n"
"""
ASYNC = "import asyncio\nasync def test_x():\n    await asyncio.sleep(0)\n    called()\n"
ANYIO = """\
import anyio, pytest
pytestmark = pytest.mark.anyio
async def test_x():
    await anyio.sleep(0)
    called()
"""
ISOLATED = """\
import asyncio, unittest
class A(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        self.loop = asyncio.get_running_loop()
    async def test_x(self):
        await asyncio.sleep(0)
        assert self.loop is asyncio.get_running_loop()
        called()
"""
UNWRAPPED = """\
def twice(function):
    def inner():
        function(1)
        function(2)
    return inner
@twice
def test_x(number):
    called()
"""
CONSUMED = """\
import functools
def run(function):
    @functools.wraps(function)
    def inner():
        return len(list(function()))
    return inner
@run
def test_x():
    called()
    yield 1
"""
FLAKY_ONCE = "from flaky import flaky\n@flaky(max_runs=3)\ndef test_x():\n    called()\n"
FLAKY_TWICE = "from flaky import flaky\n@flaky(max_runs=3, min_passes=2)\ndef test_x():\n    called()\n"
RERUN = """\
import pytest
runs = []
@pytest.mark.flaky(reruns=2)
def test_x():
    called()
    runs.append(1)
    assert len(runs) > 1
"""
EXPANDED = """\
import unittest
from parameterized import parameterized
class A(unittest.TestCase):
    @parameterized.expand([(1,), (2,)])
    def test_x(self, number):
        called()
"""
DRIVEN = """\
import unittest
from ddt import data, ddt
@ddt
class A(unittest.TestCase):
    @data(1, 2)
    def test_x(self, number):
        called()
"""
BASE = """\
from unittest import mock
class Base:
    @mock.patch("os.getpid")
    def test_x(self, getpid):
        called()
"""

PYTEST = (
    Case("function", "def test_x():\n    called()\n"),
    Case("default_argument", "def test_x(a=1, *, b=2):\n    called()\n    assert (a, b) == (1, 2)\n"),
    Case("only_a_docstring_above", '"""Doc."""\ndef test_x():\n    called()\n'),
    Case(
        "future",
        '"""Doc."""\nfrom __future__ import annotations\nimport pathlib\n'
        "def test_x(tmp_path: pathlib.Path) -> None:\n    called()\n",
    ),
    Case("method", f"{CLASS}    def test_x(self, tmp_path):\n        called()\n", "TestA::test_x", "TestA.test_x"),
    Case(
        "setup_method",
        f"{CLASS}    def setup_method(self, method):\n        self.name = method.__name__\n"
        "    def test_x(self):\n        called()\n        assert self.name == 'test_x'\n",
        "TestA::test_x",
        "TestA.test_x",
    ),
    Case("static", f"{CLASS}    @staticmethod\n    def test_x():\n        called()\n", "TestA::test_x", "TestA.test_x"),
    Case(
        "class_method",
        f"{CLASS}    @classmethod\n    def test_x(cls):\n        called()\n        assert cls.__name__ == 'TestA'\n",
        "TestA::test_x",
        "TestA.test_x",
    ),
    Case(
        "nested_class",
        f"{CLASS}    class TestB:\n        def test_x(self):\n            called()\n",
        "TestA::TestB::test_x",
        "TestA.TestB.test_x",
    ),
    Case("mock_and_parametrize", MOCKED, "test_x[2]"),
    Case("fixtures", FIXTURES, "test_x[b c]"),
    Case("skipif_false", "import pytest\n@pytest.mark.skipif('0')\ndef test_x():\n    called()\n"),
    Case(
        "skipif_true",
        "import pytest\n@pytest.mark.skipif(True, reason='r')\ndef test_x():\n    called()\n",
        calls=(0, 0),
        records=0,
    ),
    Case(
        "xfail",
        "import pytest\n@pytest.mark.xfail(raises=ValueError, strict=True)\n"
        "def test_x():\n    called()\n    raise ValueError\n",
        calls=(1, 1),
    ),
    Case("xpass", "import pytest\n@pytest.mark.xfail\ndef test_x():\n    called()\n"),
    Case("skip_in_the_body", "import pytest\ndef test_x():\n    called()\n    pytest.skip('r')\n", calls=(1, 1)),
    Case("failing", "def test_x():\n    called()\n    assert False\n", calls=(1, 1)),
    Case("warnings", "import pytest\n@pytest.mark.filterwarnings('error')\ndef test_x():\n    called()\n"),
    Case("a_wrapper_with_a_name_of_its_own", UNWRAPPED, calls=(2, 2 * CALLS)),
    Case("a_generator_that_a_decorator_runs", CONSUMED),
    Case(
        "inherited",
        "from base_x import Base\nclass TestA(Base):\n    pass\nclass TestB(Base):\n    pass\n",
        "TestB::test_x",
        "Base.test_x",
        file="base_x.py",
        files={"base_x.py": BASE},
    ),
    Case("test_case", f"{CASE}    def test_x(self):\n        called()\n", "A::test_x", "A.test_x"),
    Case(
        "subtests",
        f"{CASE}    def test_x(self):\n        called()\n        for a in (1, 2):\n"
        "            with self.subTest(a=a):\n                assert a\n",
        "A::test_x",
        "A.test_x",
    ),
    Case(
        "expected_failure",
        f"{CASE}    @unittest.expectedFailure\n    def test_x(self):\n        called()\n        self.fail()\n",
        "A::test_x",
        "A.test_x",
        calls=(1, 1),
    ),
    Case("isolated_asyncio", ISOLATED, "A::test_x", "A.test_x"),
    Case("override_settings", SETTINGS, "A::test_x", "A.test_x"),
    Case("asyncio_auto", ASYNC, options=("-p", "pytest_asyncio.plugin", "-o", "asyncio_mode=auto")),
    Case(
        "asyncio_strict",
        ASYNC.replace("async def", "import pytest\n@pytest.mark.asyncio\nasync def", 1),
        options=("-p", "pytest_asyncio.plugin", "-o", "asyncio_mode=strict"),
    ),
    Case(
        "asyncio_fixture",
        "import pytest_asyncio\n@pytest_asyncio.fixture\nasync def one():\n    yield 1\n"
        "class TestA:\n    async def test_x(self, one):\n        called()\n        assert one == 1\n",
        "TestA::test_x",
        "TestA.test_x",
        options=("-p", "pytest_asyncio.plugin", "-o", "asyncio_mode=auto"),
    ),
    Case("anyio", ANYIO, "test_x[asyncio]", options=("-p", "anyio.pytest_plugin")),
    Case("anyio_on_trio", ANYIO, "test_x[trio]", options=("-p", "anyio.pytest_plugin")),
    Case(
        "trio",
        "import pytest, trio\n@pytest.mark.trio\nasync def test_x():\n    await trio.sleep(0)\n    called()\n",
        options=("-p", "pytest_trio.plugin"),
    ),
    Case("flaky", FLAKY_ONCE, options=("-p", "flaky.flaky_pytest_plugin")),
    Case("flaky_twice", FLAKY_TWICE, options=("-p", "flaky.flaky_pytest_plugin"), calls=(2, CALLS + 1), records=2),
    Case("rerun", RERUN, options=("-p", "pytest_rerunfailures"), calls=(2, 2), records=2),
    Case(
        "repeat",
        "import pytest\n@pytest.mark.repeat(2)\ndef test_x():\n    called()\n",
        options=("-p", "pytest_repeat"),
        calls=(2, CALLS + 1),
        records=2,
    ),
    Case("expanded", EXPANDED, "A::test_x_1", "A.test_x", calls=(1, 1), records=0),
    Case("driven_by_data", DRIVEN, "A::test_x_2_2", "A.test_x"),
)


@pytest.fixture(scope="session")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with all the runners."""
    folder = tmp_path_factory.mktemp("runners") / "environment"
    uv = find_uv_bin()
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, folder], check=True)
    command = [uv, "pip", "install", "--quiet", "--python", folder / "bin" / "python", *REQUIREMENTS]
    subprocess.run(command, check=True)
    return folder / "bin" / "python"


@dataclass(frozen=True)
class Ran:
    """What came of one run in a tree: the output, the calls of the body, and what the runner's own hooks saw."""

    output: str
    calls: int
    seen: list[list[Any]]
    results: list[dict[str, Any]]


def run(python: Path, tree: Path, *arguments: str) -> Ran:
    """Run a module of Python in a tree."""
    notes = {name: str(tree / f"{name.lower()}.json") for name in ("CALLS", "SEEN")}
    environment = {**os.environ, **notes, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": f"{tree}:{tree}/tools"}
    command = [str(python), "-m", *arguments]
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    seen, calls = tree / "seen.json", tree / "calls.json"
    assert calls.exists(), done.stdout + done.stderr
    return Ran(
        done.stdout + done.stderr,
        int(calls.read_text()),
        json.loads(seen.read_text()) if seen.exists() else [],
        read_results(tree / "out" / RESULT),
    )


def trees(case: Case, folder: Path) -> tuple[Path, Path]:
    """A tree with a case's files, and one with its function decorated as well."""
    main = "test_case.py"
    sources = {main: case.source, **case.files}
    counted = {name: text if "called()" not in text else _importing(text) for name, text in sources.items()}
    edited = case.file or main
    plain = {**counted, "counting.py": CALLED, "conftest.py": CONFTEST}
    decorated = {**plain, edited: insert_decorator(plain[edited], case.where)}
    for name, files in (("plain", plain), ("decorated", decorated)):
        write_tree(folder / name, files)
    (folder / "decorated" / "out").mkdir()
    out = folder / "decorated" / "out" / RESULT
    write_tools(folder / "decorated" / "tools", {"mode": "probe", "warmup": WARMUP, "marker": "a", "out": str(out)})
    return folder / "plain", folder / "decorated"


def _importing(text: str) -> str:
    """The text with an import of ``called``, below a docstring and imports from the future."""
    lines = text.splitlines(keepends=True)
    above = sum(line.startswith(('"""', "from __future__")) for line in lines)
    return "".join([*lines[:above], "from counting import called\n", *lines[above:]])


@pytest.mark.parametrize("case", PYTEST, ids=lambda case: case.name)
def test_pytest_sees_the_same_test_with_the_decorator(python: Path, tmp_path: Path, case: Case) -> None:
    arguments = ("pytest", "-q", "-p", "no:cacheprovider", *case.options, f"test_case.py::{case.node}")
    plain, decorated = (run(python, tree, *arguments) for tree in trees(case, tmp_path))
    assert _once(decorated.seen) == _once(plain.seen), plain.output + decorated.output
    assert plain.seen, plain.output
    assert (plain.calls, decorated.calls) == case.calls, decorated.output
    assert len(decorated.results) == case.records


def _once(seen: list[list[Any]]) -> list[list[Any]]:
    """Each report once: those of a test's parts come again with every call."""
    return [one for at, one in enumerate(seen) if one not in seen[:at]]


UNITTEST = (
    Case("test_case", f"{CASE}    def test_x(self):\n        '''First line.'''\n        called()\n"),
    Case("skip_unless", f"{CASE}    @unittest.skipUnless(True, 'r')\n    def test_x(self):\n        called()\n"),
    Case("skip", f"{CASE}    @unittest.skip('r')\n    def test_x(self):\n        called()\n", calls=(0, 0), records=0),
    Case(
        "expected_failure",
        f"{CASE}    @unittest.expectedFailure\n    def test_x(self):\n        called()\n        self.fail()\n",
        calls=(1, 1),
    ),
    Case("isolated_asyncio", ISOLATED),
    Case("override_settings", SETTINGS),
    Case(
        "inherited",
        "import unittest\nfrom base_x import Base\nclass A(Base, unittest.TestCase):\n    pass\n",
        where="Base.test_x",
        file="base_x.py",
        files={"base_x.py": BASE},
    ),
)


@pytest.mark.parametrize("case", UNITTEST, ids=lambda case: case.name)
def test_unittest_sees_the_same_test_with_the_decorator(python: Path, tmp_path: Path, case: Case) -> None:
    where = case.where if case.file else "A.test_x"
    case = Case(**{**vars(case), "where": where})
    arguments = ("unittest", "-v", "test_case.A.test_x")
    plain, decorated = (run(python, tree, *arguments) for tree in trees(case, tmp_path))
    assert _verdicts(decorated.output) == _verdicts(plain.output)
    assert "Ran 1 test in " in plain.output
    assert (plain.calls, decorated.calls) == case.calls, decorated.output
    assert len(decorated.results) == case.records


def _verdicts(output: str) -> list[str]:
    """What the runner says of tests, without times, tracebacks and what our markers add."""
    lines = re.sub(r"PATCHPERF a (?:begin|end)\n", "", output).splitlines()
    return [line.partition(" in 0.")[0] for line in lines if not line.startswith((" ", "Traceback", "Assert"))]


HYPOTHESIS = """\
from hypothesis import given, strategies as st
@given(st.integers())
def test_x(number):
    called()
"""
GENERATED = """\
import unittest
class A(unittest.TestCase):
    pass
def make(number):
    def test_x(self):
        called()
    return test_x
setattr(A, "test_x", make(1))
exec("def test_y():\\n    called()")
"""


def test_a_hypothesis_test_is_refused_before_it_is_called(python: Path, tmp_path: Path) -> None:
    case = Case("hypothesis", HYPOTHESIS, options=("-p", "_hypothesis_pytestplugin"))
    arguments = ("pytest", "-q", "-p", "no:cacheprovider", *case.options, "test_case.py::test_x")
    plain, decorated = (run(python, tree, *arguments) for tree in trees(case, tmp_path))
    assert (plain.calls, decorated.calls) == (100, 0)
    assert [seen[:3] for seen in plain.seen if len(seen) == 3] == [
        seen[:3] for seen in decorated.seen if len(seen) == 3
    ]
    assert [result["failed"]["stage"] for result in decorated.results] == ["several"]


@pytest.mark.parametrize(
    ("qualname", "reason"),
    [
        ("A.test_x", "no function A.test_x in the test file; it may be made when the file runs"),
        ("test_y", "no function test_y in the test file; it may be made when the file runs"),
        ("make.test_x", "inside a function"),
    ],
)
def test_a_test_that_is_made_when_the_file_runs_is_left_alone(qualname: str, reason: str) -> None:
    with pytest.raises(Underivable, match=reason):
        insert_decorator(GENERATED, qualname)
