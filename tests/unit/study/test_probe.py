"""The probe on small tests of which it is known beforehand where it ends: real git, sandbox, strace and pytest."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_benches import make_bench
from small_instances import new_file

from patchperf.study.probe import Probe, probe
from patchperf.study.repeatability import CLASSES
from patchperf.study.reproduction import Reproduction

FIXED = new_file("fixed.py", "x = 1")
SOUND = Reproduction(
    instance_id="owner__project-1", spec="s", reason="", evidence="", unreproduced=(), runs=(), confinement=""
)


def run_probe(
    folder: Path, source: str, *, timeouts: dict[str, float] | None = None, imports: str = "import fixed"
) -> Probe:
    """Probe ``test_x`` of a test file; the ground truth adds a module that it imports."""
    bench = make_bench(folder, f"{imports}\n{source}", patch=FIXED, timeouts=timeouts)
    return probe(bench, SOUND, "spec", folder / "trace")


def test_a_test_that_only_computes_is_kept(tmp_path: Path) -> None:
    found = run_probe(tmp_path, "def test_x():\n    assert fixed.x == 1\n")
    assert (found.stage, found.reason) == ("corpus", "")
    assert [run.tests_run for run in found.runs] == [1, 1, 1]
    assert (found.residue, found.io_lines) == (None, ())


BASE = """\
import os

class Base:
    def test_x(self):
        assert os.listdir(self.folder)
"""
INHERITED = "from tests_base import Base\nclass TestA(Base):\n    folder = '.'\nclass TestB(Base):\n    folder = '/'\n"


def test_a_test_inherited_from_another_file_is_decorated_and_told_of_there(tmp_path: Path) -> None:
    source = f"import fixed\n{INHERITED}"
    bench = make_bench(tmp_path, source, test="TestB::test_x", patch=FIXED, files={"tests_base.py": BASE})
    found = probe(bench, SOUND, "spec", tmp_path / "trace")
    assert found.reason == "io", found.evidence
    assert found.single_point is not None
    target = found.single_point.target
    assert (target.file, target.qualname, target.selector) == (
        "tests_base.py",
        "Base.test_x",
        "test_a.py::TestB::test_x",
    )
    assert {one.line for one in found.io_lines} == {5}
    assert " from line 5 of tests_base.py," in found.evidence


PARAMETERS = (
    "import pytest\n@pytest.mark.parametrize('a', ['b c', 'd e'])\ndef test_x(a):\n    assert fixed.x and a == 'd e'\n"
)


def test_where_the_identifier_does_not_settle_the_test_its_runner_is_asked(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, f"import fixed\n{PARAMETERS}", test="test_x[d", patch=FIXED)
    found = probe(bench, SOUND, "spec", tmp_path / "trace")
    assert (found.stage, found.reason) == ("corpus", ""), found.evidence
    assert found.single_point is not None
    assert found.single_point.target.selector == "test_a.py::test_x[d e]"


# ---- not a single point

DEPENDENT = "SEEN = []\ndef test_a():\n    SEEN.append(1)\ndef test_x():\n    assert SEEN\n"
REPLACED = 'def test_x():\n    assert fixed.x\nvars()["test_x"] = lambda: None\n'
SEVERAL = "import pytest\n@pytest.mark.parametrize('a', [1, 2])\ndef test_x(a):\n    assert fixed.x\n"
LOCAL = "def make():\n    def test_x():\n        pass\n    return test_x\nvars()['test_x'] = make()\n"
BASED = "def test_x():\n    assert True\n"
WATCHED = """\
import sys
def setup_function():
    sys.settrace(lambda *event: None)
def teardown_function():
    sys.settrace(None)
def test_x():
    assert fixed.x
"""
HANGS = "import time\ndef test_x():\n    time.sleep(60)\n"


@pytest.mark.parametrize(
    ("source", "reason", "said"),
    [
        (DEPENDENT, "depends-on-other-tests", "exit code 1"),
        (REPLACED, "not-wrapped", "the decorated function was not called; the runner reports that one test passed"),
        (SEVERAL, "not-single-point", "the runner reports 2 tests, not 1"),
        (LOCAL, "cannot-derive", "test_x"),
        (WATCHED, "watched", "runs under a tracer or profiler: function"),
        (HANGS, "single-point-stopped", "stopped: timeout"),
    ],
)
def test_what_is_no_single_point_says_why(tmp_path: Path, source: str, reason: str, said: str) -> None:
    found = run_probe(tmp_path, source, timeouts={"single_point": 5})
    assert (found.stage, found.reason) == ("repeatability", reason)
    assert said in found.evidence
    assert CLASSES[reason] == "not a single point"


def test_a_test_that_passes_without_the_patch_is_no_single_point(tmp_path: Path) -> None:
    found = run_probe(tmp_path, BASED, imports="")
    assert found.reason == "base-passes"


# ---- not repeatable in process

GLOBAL = "SEEN = []\ndef test_x():\n    SEEN.append(1)\n    assert len(SEEN) < 3\n"
ROWS = """\
import sqlite3
BASE = sqlite3.connect(":memory:")
BASE.execute("create table t (a integer primary key)")
def test_x():
    BASE.execute("insert into t values (1)")
"""
IN_TREE = "def test_x():\n    open('left.txt', 'x').close()\n"
IN_TMP_PATH = "def test_x(tmp_path):\n    (tmp_path / 'left').mkdir()\n"
MOVED = """\
import os
def test_x():
    assert not os.path.islink("test_a.py")
    os.rename("test_a.py", "moved.py")
    os.symlink("/etc/passwd", "test_a.py")
"""
IN_HOME = """\
from pathlib import Path
def test_x():
    assert not list(Path.home().iterdir())
    (Path.home() / "left").mkdir()
"""
THREAD = """\
import threading
def test_x():
    assert threading.active_count() == 1
    threading.Thread(target=threading.Event().wait, daemon=True).start()
"""
SERVER = """\
import socket
OPEN = []
def test_x():
    server = socket.socket()
    OPEN.append(server)
    server.bind(("127.0.0.1", 8642))
    server.listen()
"""


AT = {GLOBAL: 5, ROWS: 6, IN_TREE: 3, MOVED: 4, IN_TMP_PATH: 3, IN_HOME: 4, THREAD: 4, SERVER: 7}
"""The line in the benchmark's own file at which a later call fails."""


@pytest.mark.parametrize(
    ("source", "failure", "where", "told"),
    [
        (GLOBAL, "call 3 of 4: AssertionError: assert 3 < 3", "inside", "passes when the earlier ones"),
        (ROWS, "call 2 of 4: sqlite3.IntegrityError: UNIQUE constraint", "inside", "passes when the earlier ones"),
        (IN_TREE, "call 2 of 4: FileExistsError", "outside", "in the tree that the run left the test fails"),
        (MOVED, "call 2 of 4: AssertionError", "outside", "the run took the test away"),
        (IN_TMP_PATH, "call 2 of 4: FileExistsError", "outside", "call 2 fails also when each call has a child"),
        (IN_HOME, "call 2 of 4: AssertionError", "outside", "call 2 fails also when each call has a child"),
        (THREAD, "call 2 of 4: AssertionError", "unknown", "left behind: 1 threads"),
        (SERVER, "call 2 of 4: OSError: [Errno 98]", "outside", "an address that an earlier call took is in use"),
    ],
)
def test_the_residue_that_a_later_call_stumbles_over_is_found(
    tmp_path: Path, source: str, failure: str, where: str, told: str
) -> None:
    found = run_probe(tmp_path, source)
    assert (found.stage, found.reason) == ("repeatability", "not-repeatable"), found.evidence
    assert found.evidence.startswith(failure)
    assert found.residue is not None
    assert (found.residue.where, f"residue {where}: " in found.evidence) == (where, True), found.evidence
    assert told in found.evidence
    assert f", from line {AT[source]} of test_a.py" in found.evidence
    assert found.residue.files == {IN_TREE: ("left.txt",), MOVED: ("moved.py", "test_a.py")}.get(source, ())


HYPOTHESIS = (
    "from hypothesis import given, strategies as st\n@given(st.integers())\ndef test_x(a):\n    assert fixed.x\n"
)
RERUN = """\
import pytest
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    item.funcargs = {}
    item.obj()
@pytest.fixture(autouse=True)
def again(request):
    request.function()
def test_x():
    assert fixed.x
"""
TEARDOWN = """\
import pytest
CALLS = []
@pytest.fixture(autouse=True)
def once():
    yield
    assert len(CALLS) == 1
def test_x():
    CALLS.append(fixed.x)
"""
DIES = "import os\nCALLS = []\ndef test_x():\n    CALLS.append(fixed.x)\n    if len(CALLS) == 3:\n        os._exit(0)\n"
STAYS_WATCHED = "import sys\ndef test_x():\n    assert fixed.x\n    sys.settrace(lambda *event: None)\n"
SLOW = "import time\nCALLS = []\ndef test_x():\n    CALLS.append(1)\n    time.sleep(60 if len(CALLS) > 2 else 0)\n"


@pytest.mark.parametrize(
    ("source", "reason", "said"),
    [
        (HYPOTHESIS, "called-several-times", "hypothesis calls the function once for each example"),
        (RERUN, "called-several-times", "the function was called 2 times for one test"),
        (TEARDOWN, "not-repeatable", "all 4 calls passed, and yet exit code 1"),
        (SLOW, "probe-stopped", "stopped: timeout in or after call 3 of 4"),
        (DIES, "not-repeatable", "the process left no record: it ended in or after call 3 of 4; the runner reports no"),
        (STAYS_WATCHED, "not-repeatable", "after call 1 of 4, the test runs under a tracer or profiler: function"),
    ],
)
def test_what_else_does_not_repeat_says_why(tmp_path: Path, source: str, reason: str, said: str) -> None:
    found = run_probe(tmp_path, source, timeouts={"probe": 5})
    assert (found.stage, found.reason) == ("repeatability", reason)
    assert said in found.evidence
    assert CLASSES[reason] == "not repeatable in process"


# ---- input and output

READS = """\
import os

def look(path):
    return os.listdir(path)

def test_x():
    with open("code.py") as file:
        text = file.read()
    assert look(".") and text
"""


def test_the_calls_that_decide_come_with_their_lines_in_the_test(tmp_path: Path) -> None:
    found = run_probe(tmp_path, READS)
    assert (found.stage, found.reason) == ("io", "io")
    assert found.io_lines_note == ""
    told = {(one.line, one.name) for one in found.io_lines}
    assert {(8, "openat"), (9, "read"), (5, "getdents64")} <= told
    assert {one.line for one in found.io_lines} <= {5, 8, 9, 10}
    assert " from line 8 of test_a.py, at line " in found.evidence


def test_where_the_lines_cannot_be_had_the_verdict_stands_with_a_note(tmp_path: Path) -> None:
    traced = READS.replace("def test_x():", "import sys\ndef test_x():\n    assert sys.gettrace() is None")
    found = run_probe(tmp_path, traced)
    assert (found.reason, found.io_lines) == ("io", ())
    assert found.io_lines_note.startswith("the test fails when its lines are marked: AssertionError")


CHILD_STAYS = """\
import os, time
PARENT = os.getpid()
def test_x():
    assert fixed.x
    if os.fork() == 0:
        time.sleep(60)
        os._exit(0)
"""
CAPTURED = """\
def test_x(capfd):
    assert fixed.x
    print("text")
    out, err = capfd.readouterr()
    assert (out, err) == ("text\\n", "")
"""
SKIPPED_ON_BASE = """\
import importlib.util, pytest
@pytest.mark.skipif(importlib.util.find_spec("fixed") is None, reason="nothing to test")
def test_x():
    assert True
"""


@pytest.mark.parametrize(
    ("source", "kind", "timeout"), [(CHILD_STAYS, "processes", 8), (CAPTURED, "file data", 60)], ids=["child", "capfd"]
)
def test_what_is_io_is_said_to_be_io(tmp_path: Path, source: str, kind: str, timeout: int) -> None:
    found = run_probe(tmp_path, source, timeouts={"probe": timeout})
    assert (found.stage, found.reason) == ("io", "io"), found.evidence
    assert found.evidence.startswith(f"{kind}: ")


def test_a_test_that_the_base_skips_does_not_pass_there(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, SKIPPED_ON_BASE, patch=FIXED)
    found = probe(bench, SOUND, "spec", tmp_path / "trace")
    assert (found.stage, found.reason) == ("corpus", ""), found.evidence
