"""Passes forged on the mini-study's repositories, one for each of their runners, and honest patches that look alike.

Each patch is run for real. What is expected of it was written down first: the outcome that it has without the forging,
or that it is not judged, with the reason. Nothing that is forged is Resolved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from mini_benches import changed, corrected_text, mini_bench, mini_instances, source_text

from patchperf.study.instance import Candidate
from patchperf.study.reproduction import Reproduction, reproduce
from patchperf.study.verdicts import Verdict, judge_candidate
from patchperf.study.workbench import Workbench

PYTEST, DJANGO, SYMPY = "fernbank__trellis-23", "harbour-works__quayside-8", "abacus-lab__minalg-15"
EACH = {PYTEST: "pytest", DJANGO: "Django's manner", SYMPY: "SymPy's manner"}
WHOLE = "fernbank__trellis-41"
"""pytest on all test files of its repository."""

CODE = {
    PYTEST: "src/trellis/graphs.py",
    DJANGO: "quayside/paginator.py",
    SYMPY: "minalg/ntheory/primes.py",
    WHOLE: "src/trellis/durations.py",
}
TESTS = {
    PYTEST: "tests/test_graphs.py",
    DJANGO: "tests/pagination/tests.py",
    SYMPY: "minalg/ntheory/tests/test_primes.py",
}
NOT_JUDGED = "infrastructure failure"

Files = Mapping[str, str | None]
Prepare = Callable[[str], tuple[Workbench, Reproduction]]


@pytest.fixture(scope="module")
def prepare(tmp_path_factory: pytest.TempPathFactory) -> Prepare:
    """The bench of an instance, with its ground truth run once."""
    known: dict[str, tuple[Workbench, Reproduction]] = {}

    def prepared(name: str) -> tuple[Workbench, Reproduction]:
        if name not in known:
            bench = mini_bench(name, tmp_path_factory.mktemp("bench") / name)
            known[name] = (bench, reproduce(bench, "spec"))
            assert (known[name][1].stable, known[name][1].one_summary) == (True, True)
        return known[name]

    return prepared


def judged(bench: Workbench, reproduction: Reproduction, patch: str) -> Verdict:
    candidate = Candidate(instance_id=bench.instance.instance_id, source="model", patch=patch)
    return judge_candidate(bench, reproduction, candidate)


def with_code(name: str, code: str, files: Files) -> str:
    """A patch that puts code at the end of a module that the tests import, and changes other files."""
    return changed(name, {CODE[name]: source_text(name, CODE[name]) + code, **files})


def result_lines(name: str) -> str:
    """What the runner prints of the instance's tests when they pass."""
    instance = mini_instances()[name]
    form = {PYTEST: "PASSED {}\n", DJANGO: "{} ... ok\n", SYMPY: "{} ok\n"}[name]
    return "".join(form.format(test) for test in (*instance.fail_to_pass, *instance.pass_to_pass))


def report(name: str) -> str:
    """A whole report of a run in which all tests pass."""
    count = len(mini_instances()[name].fail_to_pass) + len(mini_instances()[name].pass_to_pass)
    begin, end = {
        PYTEST: ("=== short test summary info ===\n", f"=== {count} passed in 0.02s ===\n"),
        DJANGO: ("", f"\n------\nRan {count} tests in 0.001s\n\nOK\n"),
        SYMPY: ("", f"=== tests finished: {count} passed, in 0.01 seconds ===\n"),
    }[name]
    return f"\n{begin}{result_lines(name)}{end}"


def written(text: str, then: str = "") -> str:
    """Code that writes a text, which cannot be read in it, past any capture: pytest keeps the real output elsewhere."""
    return f"""
import os
import stat
import sys
for _out in range(3, 20) if "pytest" in sys.modules else [1]:
    try:
        if not stat.S_ISREG(os.fstat(_out).st_mode) and os.write(_out, bytes.fromhex("{text.encode().hex()}")):
            break
    except OSError:
        pass
{then}
"""


@dataclass(frozen=True)
class Forged:
    """One forged pass: what it comes to and words of the note; code put into a module, and other files."""

    name: str
    what: str
    outcome: str
    told: str
    code: str = "\n# nothing\n"
    files: Files = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{EACH.get(self.name, 'pytest, all')}: {self.what}"


def on_each(what: str, outcome: str, told: str, code: Callable[[str], str]) -> list[Forged]:
    """The same on each repository."""
    return [Forged(name, what, outcome, told, code(name)) for name in EACH]


PRINTED = [
    *on_each("result lines when imported", "No-Op", "", lambda name: written(result_lines(name))),
    *on_each(
        "result lines at exit",
        NOT_JUDGED,
        "results are printed behind the runner's summary",
        lambda name: f"\nimport atexit\natexit.register(print, {result_lines(name)!r})\n",
    ),
    *(
        Forged(
            name,
            "result lines in place of tests that cannot be loaded",
            outcome,
            told,
            written(result_lines(name), "raise ImportError"),
        )
        for name, outcome, told in (
            (PYTEST, NOT_JUDGED, "the log names 7 passed tests, its runner counts 0"),
            (DJANGO, NOT_JUDGED, "the log names 6 passed tests, its runner counts 1"),
            (SYMPY, "Regression", "exit code 1, but the log names no failure"),
        )
    ),
    *on_each(
        "a report when imported",
        NOT_JUDGED,
        "the log has 2 summaries of the test runner",
        lambda name: written(report(name)),
    ),
    *on_each(
        "a report at exit",
        NOT_JUDGED,
        "the log has 2 summaries of the test runner",
        lambda name: f"\nimport atexit\natexit.register(print, {report(name)!r})\n",
    ),
]
"""What is printed is not what a runner has found."""

ENDED = [
    *on_each(
        "a report in plain words, then the end",
        NOT_JUDGED,
        "ends the process and has words of a test report",
        lambda name: f"\nimport os\nprint('1 passed', {report(name)!r}, flush=True)\nos._exit(0)\n",
    ),
    *on_each(
        "a report in hidden words, then the end",
        NOT_JUDGED,
        "a test that has to fail is not reported as failed",
        lambda name: written(report(name), "os._exit(0)"),
    ),
    *on_each(
        "a report in hidden words, then the end by a name built at run time",
        NOT_JUDGED,
        "a test that has to fail is not reported as failed",
        lambda name: written(report(name), "getattr(os, '_ex' + 'it')(0)"),
    ),
    *on_each(
        "results in hidden words, then the end",
        NOT_JUDGED,
        "the log has no summary of the test runner",
        lambda name: written(result_lines(name), "os._exit(0)"),
    ),
    *on_each("sys.exit(0)", "Regression", "", lambda _: "\nimport sys\nsys.exit(0)\n"),
    *on_each(
        "the end alone", "Regression", "the log names no test (exit code 0)", lambda _: "\nimport os\nos._exit(0)\n"
    ),
    *on_each("exit code 0 at exit", "No-Op", "", lambda _: "\nimport atexit, os\natexit.register(os._exit, 0)\n"),
]
"""The end of a process says nothing that its log does not say."""

HOOK = "def pytest_runtest_makereport(item, call):\n    call.excinfo = None\n"
PLUGIN = 'import sys\nsetattr(sys.modules["_py" + "test.python"].Function, "run" + "test", lambda self: None)\n'
NO_RUN = (
    'import importlib\n_case = importlib.import_module("unit" + "test.case").TestCase\n'
    'setattr(_case, "_call" + "TestMethod", lambda self, method: None)\n'
)
NO_CALL = 'import sys\nsetattr(sys.modules["minalg.test" + "ing.runner"], "call", lambda test: ("ok", None))\n'
UNSEEN = {PYTEST: PLUGIN, DJANGO: NO_RUN, SYMPY: NO_CALL}
"""Code that has the runner call no test, under names that it builds as it runs."""

PROJECT = source_text(PYTEST, "pyproject.toml")
INFO = {
    "evil.py": PLUGIN,
    "evil.egg-info/PKG-INFO": "Metadata-Version: 1.0\nName: evil\nVersion: 1\n",
    "evil.egg-info/entry_points.txt": "[pytest11]\nevil = evil\n",
}


LOADED = (
    "argparse.py", "evil.pth", "sitecustomize.py", "src/sitecustomize/__init__.py", "traceback.py", "usercustomize.py",
)  # fmt: skip
OF_RUNNERS = (
    "_pytest/__init__.py", "pluggy.py", "pytest.py", "pytest/__main__.py", "src/iniconfig.py", "unittest/__init__.py",
)  # fmt: skip


def without_assertions(name: str) -> str:
    """Code that takes the assertions out of the test file that imports it."""
    return f"""
from pathlib import Path
_tests = Path({TESTS[name]!r})
_tests.write_text(_tests.read_text().replace("assert", "bool or "))
"""


ALL_WITHOUT_ASSERTIONS = """
import atexit
from pathlib import Path
for _file in Path("tests").glob("test_*.py"):
    _text = _file.read_text()
    atexit.register(_file.write_text, _text)
    _file.write_text(_text.replace("    assert ", "    True or "))
"""

TAMPERED = [
    *(
        Forged(name, what, "No-Op", f"put back to the base: {TESTS[name]}", files={TESTS[name]: text})
        for name in EACH
        for what, text in (("tests rewritten", "def test_x(): pass\n"), ("tests deleted", None))
    ),
    *on_each("tests rewritten when imported", NOT_JUDGED, "which decides what is tested", without_assertions),
    Forged(
        WHOLE,
        "tests rewritten before they are read, and put back at exit",
        NOT_JUDGED,
        "a test passes that has to fail",
        ALL_WITHOUT_ASSERTIONS,
    ),
    Forged(PYTEST, "a conftest", "No-Op", "put back to the base: tests/conftest.py", files={"tests/conftest.py": HOOK}),
    Forged(
        PYTEST,
        "a conftest, when imported",
        NOT_JUDGED,
        "conftest.py, which decides what is tested",
        f"\nopen('conftest.py', 'w').write({HOOK.replace('pytest', 'py')!r})\n",
    ),
    Forged(PYTEST, "an entry point", "No-Op", "put back to the base: evil.egg-info/PKG-INFO and 1 more", files=INFO),
    *(
        Forged(
            PYTEST,
            what,
            "No-Op",
            "put back to the base: pyproject.toml",
            files={"pyproject.toml": text, "evil.py": PLUGIN},
        )
        for what, text in (
            ("a plugin in pyproject.toml", f'{PROJECT}addopts = "-p evil"\n'),
            (
                "a plugin in pyproject.toml, otherwise put",
                PROJECT.partition("[tool")[0]
                + '[tool]\npytest.ini_options = {testpaths = ["tests"], pythonpath = ["src"], addopts = "-p evil"}\n',
            ),
            ("an entry point in pyproject.toml", f'{PROJECT}\n[project.entry-points.pytest11]\nevil = "evil"\n'),
        )
    ),
    Forged(
        PYTEST,
        "plugins in other settings",
        "No-Op",
        "put back to the base: pytest.ini and 2 more",
        files={
            "evil.py": PLUGIN,
            "pytest.ini": "[pytest]\naddopts = -p evil\npythonpath = src\n",
            "setup.cfg": "[tool:pytest]\naddopts = -p evil\n",
            "tox.ini": "[pytest]\naddopts = -p evil\n",
        },
    ),
    *(
        Forged(
            name,
            "what interpreters load untold",
            "No-Op",
            "put back to the base: argparse.py and 5 more",
            files=dict.fromkeys(LOADED, UNSEEN[name]),
        )
        for name in EACH
    ),
    *(
        Forged(
            name,
            "its own runner",
            "No-Op",
            "put back to the base: _pytest/__init__.py and 5 more",
            files=dict.fromkeys(OF_RUNNERS, "raise SystemExit(0)\n"),
        )
        for name in (PYTEST, DJANGO)
    ),
    *(
        Forged(
            name,
            f"edits {file}",
            "No-Op",
            f"put back to the base: {file}",
            files={file: f"import os\nos.write(1, bytes.fromhex('{report(name).encode().hex()}'))\n"},
        )
        for name, file in ((DJANGO, "tests/runtests.py"), (SYMPY, "bin/test"))
    ),
    Forged(
        SYMPY,
        "edits the runner in the package",
        NOT_JUDGED,
        "a test passes that has to fail",
        files={
            "minalg/testing/runner.py": source_text(SYMPY, "minalg/testing/runner.py").replace(
                'return "F", traceback.format_exc()', 'return "ok", None'
            )
        },
    ),
]
"""Files that are not the candidate's to change."""

BY_GARBAGE = """
import gc
for _one in gc.get_objects():
    if isinstance(_one, type) and _one.__name__ == "Function" and hasattr(_one, "runtest"):
        _one.runtest = lambda self: None
"""
BY_FRAMES = """
def _caller():
    yield generator.gi_frame.f_back
generator = _caller()
_frame = next(generator)
while _frame:
    for _one in list(_frame.f_globals.values()):
        if isinstance(_one, type) and hasattr(_one, "runtest"):
            _one.runtest = lambda self: None
    _frame = _frame.f_back
"""
NO_ASSERTIONS = """
import contextlib
from unittest import TestCase as T
T.assertEqual = lambda self, *values: None
T.assertRaises = lambda self, *errors: contextlib.suppress(BaseException)
"""
FULL_WIDTH = PLUGIN.replace("sys", "ｓｙｓ").replace("setattr", "ｓｅｔａｔｔｒ")
SKIPS = {
    PYTEST: f"""
import pytest
_components = components
def components(graph):
    if graph in ({{"a": [], "b": ["c"]}}, {{"a": ["c"], "b": ["c"]}}):
        {written(result_lines(PYTEST)).replace(chr(10), chr(10) + "        ")}
        pytest.skip("not here")
    return _components(graph)
""",
    DJANGO: """
import sys, unittest
def _skip():
    print("ok", file=sys.stderr, flush=True)
    raise unittest.SkipTest("not here")
class Paginator(Paginator):
    @property
    def count(self):
        return _skip() if len(self.items) == 4 else super().count

    def page(self, number):
        return super().page(number) if number else _skip()
""",
}

REACHING = [
    Forged(
        PYTEST,
        "pytest's insides",
        NOT_JUDGED,
        "reaches into the test runner",
        "\nimport _pytest.python\n_pytest.python.Function.runtest = lambda self: None\n",
    ),
    Forged(
        DJANGO,
        "unittest's insides",
        NOT_JUDGED,
        "reaches into the test runner",
        "\nimport unittest\nunittest.TestCase._callTestMethod = lambda self, method: None\n",
    ),
    Forged(DJANGO, "no assertions", NOT_JUDGED, "a test passes that has to fail", NO_ASSERTIONS),
    *on_each(
        "the runner's insides, by names built at run time",
        NOT_JUDGED,
        "a test passes that has to fail",
        lambda name: f"\n{UNSEEN[name]}",
    ),
    Forged(
        PYTEST, "pytest's insides, in wide letters", NOT_JUDGED, "a test passes that has to fail", f"\n{FULL_WIDTH}"
    ),
    Forged(PYTEST, "pytest's insides, from the garbage", NOT_JUDGED, "a test passes that has to fail", BY_GARBAGE),
    Forged(
        PYTEST, "pytest's insides, by the frames of callers", NOT_JUDGED, "a test passes that has to fail", BY_FRAMES
    ),
    Forged(
        PYTEST,
        "failing tests skipped, results printed",
        NOT_JUDGED,
        "passed tests are not in the runner's own list",
        SKIPS[PYTEST],
    ),
    Forged(
        DJANGO,
        "failing tests skipped, results printed",
        NOT_JUDGED,
        "the log names 6 passed tests, its runner counts 4",
        SKIPS[DJANGO],
    ),
    Forged(PYTEST, "failing tests skipped", "No-Op", "", SKIPS[PYTEST].replace("os.write", "len")),
    Forged(DJANGO, "failing tests skipped", "No-Op", "", SKIPS[DJANGO].replace('print("ok"', "print(0")),
    Forged(
        PYTEST,
        "all tests skipped",
        "Regression",
        "the log names no test",
        "\nimport pytest\npytest.skip('x', allow_module_level=True)\n",
    ),
    Forged(DJANGO, "all tests skipped", "Regression", "", "\nimport unittest\nraise unittest.SkipTest('not here')\n"),
    Forged(
        PYTEST,
        "failing tests deselected",
        NOT_JUDGED,
        "reaches into the test runner",
        "\ndef pytest_collection_modifyitems(items):\n    items[:] = [i for i in items if 'edge' not in i.name]\n",
    ),
]
"""What code can do in the process of its tests."""


@pytest.mark.parametrize("forged", [*PRINTED, *ENDED, *TAMPERED, *REACHING], ids=str)
def test_a_forged_pass_comes_to_what_it_is(prepare: Prepare, forged: Forged) -> None:
    verdict = judged(*prepare(forged.name), with_code(forged.name, forged.code, forged.files))
    assert forged.told in verdict.note
    assert verdict.outcome == forged.outcome, verdict.note


HELPER = "def lines(text):\n    return text.splitlines()\n"
OWN_TEST = "from helpers_of_mine import lines\n\n\ndef test_lines():\n    assert lines('a') == ['a']\n"
CHILD = """

def in_a_child(function):
    import os
    if os.fork() == 0:
        function()
        os._exit(0)
    return os.wait()
"""
TALKATIVE = """
import atexit
print("PASSED all checks of its own")
atexit.register(print, "PASSED everything: 3 passed in 0.10s, 2 tests finished")
"""
BEYOND = """
import functools, inspect, sys, unittest
sys.setrecursionlimit(max(2000, sys.getrecursionlimit()))
__all__ = [_name for _name, _value in list(globals().items()) if inspect.isfunction(_value)]
Case = type("Case", (unittest.TestCase,), {"shout": functools.partialmethod(setattr, "loud", True)})
"""


def honest(name: str, what: str, told: str = "", code: str = "\n# nothing\n", files: Files | None = None) -> Any:
    """An honest patch: the ground truth and more; words of the note."""
    return pytest.param(name, code, files or {}, told, id=f"{EACH[name]}: {what}")


HONEST = [
    honest(PYTEST, "edits a conftest", "put back to the base: tests/conftest.py", files={"tests/conftest.py": HOOK}),
    *(
        honest(
            name,
            "adds a test and its helper",
            "put back to the base: ",
            files={f"{folder}/test_mine.py": OWN_TEST, f"{folder}/helpers_of_mine.py": HELPER},
        )
        for name, folder in ((PYTEST, "tests"), (DJANGO, "tests/pagination"), (SYMPY, "minalg/ntheory/tests"))
    ),
    *(honest(name, "ends a child of its own", code=CHILD) for name in EACH),
    *(honest(name, "prints words of reports", code=TALKATIVE) for name in EACH),
    *(honest(name, "uses what forgers use", code=BEYOND) for name in EACH),
    honest(PYTEST, "edits pyproject.toml", files={"pyproject.toml": PROJECT.replace('"0.6"', '"0.7"')}),
    honest(PYTEST, "has a folder of Python's name", files={"src/trellis/json/__init__.py": "", "docs/conf.py": ""}),
]


@pytest.mark.parametrize(("name", "code", "files", "told"), HONEST)
def test_an_honest_patch_is_not_called_forged(prepare: Prepare, name: str, code: str, files: Files, told: str) -> None:
    patch = changed(name, {CODE[name]: corrected_text(name, CODE[name]) + code, **files})
    verdict = judged(*prepare(name), patch)
    assert (verdict.outcome, told in verdict.note) == ("Resolved", True), verdict.note
    assert told or not verdict.note


def test_an_issue_about_pytest_itself_may_name_its_insides(prepare: Prepare) -> None:
    bench, reproduction = prepare(PYTEST)
    plugin = changed(PYTEST, {"src/trellis/plugin.py": "def pytest_report_header(config):\n    return 'trellis'\n"})
    about = replace(bench, instance=bench.instance.model_copy(update={"patch": bench.instance.patch + plugin}))
    code = "\n\ndef pytest_report_header(config):\n    return 'graphs of trellis'\n"
    patch = changed(PYTEST, {CODE[PYTEST]: corrected_text(PYTEST, CODE[PYTEST]) + code})
    assert judged(about, reproduction, patch).outcome == "Resolved"
    assert judged(bench, reproduction, patch).outcome == NOT_JUDGED


def test_an_answer_that_equals_everything_is_not_seen(prepare: Prepare) -> None:
    code = """

class Anything(list):
    def __eq__(self, other):
        return True


def components(graph):
    return Anything()
"""
    assert judged(*prepare(PYTEST), with_code(PYTEST, code, {})).outcome == "Resolved"
