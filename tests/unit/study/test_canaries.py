"""Which patches are tried with tests that have to fail, and what is a plain failure of these."""

from __future__ import annotations

import pytest

from patchperf.study.canaries import Heard, gets_beyond_itself
from patchperf.study.solutions import Change

BASE = b"import re\n\ndef one(): return 1\n"


@pytest.mark.parametrize(
    "new",
    [
        BASE + b"import sys\n",
        BASE + b"setattr(a, name, b)\n",
        BASE + b"from importlib import import_module\n",
        BASE + b"one.__globals__\n",
        BASE + b"re._sys\n",
        BASE + b"frame.f_back\n",
        BASE + b"from unittest import TestCase as T\nT.assertEqual = None\n",
        BASE + b"open('tests/test_a.py', 'w')\n",
        BASE + "import ｏｓ\n".encode(),
        b"\x7fELF\0\0",
    ],
)
def test_code_that_gets_beyond_itself_is_tried(new: bytes) -> None:
    assert gets_beyond_itself([Change("pkg/other.py", b"", b"x = 1\n"), Change("pkg/core.py", BASE, new)])
    assert gets_beyond_itself([Change("pkg/core.py", BASE, new), Change("pkg/other.py", b"", b"x = 1\n")])


@pytest.mark.parametrize(
    "path", ["pkg/testing/core.py", "django/test/runner.py", "pkg/pytest_plugin.py", "a/runner.py"]
)
def test_code_about_running_tests_is_tried_whatever_it_says(path: str) -> None:
    assert gets_beyond_itself([Change(path, BASE, BASE.replace(b"1", b"2"))])


@pytest.mark.parametrize(
    ("base", "new"),
    [
        (BASE, BASE.replace(b"1", b"2")),
        (BASE + b"import sys, os\n", BASE + b"import sys, os\nx = 2\n"),
        (BASE, BASE + b"def reopen(system): return system.openness, classify(osmosis)\n"),
        (BASE, BASE + b"class A:\n    def __len__(self): return 1\n    def __init__(self): super().__init__()\n"),
        (BASE, None),
        (None, b"def attest(latest): return latest\n"),
    ],
)
def test_other_code_is_not(base: bytes | None, new: bytes | None) -> None:
    assert not gets_beyond_itself([Change("pkg/contest.py", base, new)])


@pytest.mark.parametrize(
    ("heard", "clean"),
    [
        (Heard(failed=3, passed=(), exit_code=1, ended="exit"), True),
        (Heard(failed=3, passed=("t.py::test_x",), exit_code=1, ended="exit"), False),
        (Heard(failed=0, passed=(), exit_code=1, ended="exit"), False),
        (Heard(failed=3, passed=(), exit_code=0, ended="exit"), False),
        (Heard(failed=3, passed=(), exit_code=-9, ended="timeout"), False),
    ],
)
def test_tests_that_have_to_fail_do_so_plainly_or_not(heard: Heard, clean: bool) -> None:
    assert heard.clean == clean
