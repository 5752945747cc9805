"""Cases small enough for a test: a tree with a few lines of code and a test file that carries the decorator."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from patchperf.measure.calibration import Window
from patchperf.measure.case import CasePlan, Solution
from patchperf.sandbox.protocol import Completed, Layout

DIGEST = "c0ffee" * 10 + "beef"

UNITTEST_FILE = """
import unittest
from patchperf_inprocess import measured
from package import total

class TotalTest(unittest.TestCase):
    @measured
    def test_total(self):
        self.assertEqual(total(40), 780)

if __name__ == "__main__":
    unittest.main()
"""
PYTEST_FILE = """
import pytest
from patchperf_inprocess import measured
from package import total

@pytest.fixture
def numbers():
    return 40

@measured
@pytest.mark.filterwarnings("error")
def test_total(numbers, tmp_path):
    assert total(numbers) == 780
"""
FAST = "def total(n):\n    return n * (n - 1) // 2\n"
SLOW = "def total(n):\n    return sum(number for _ in range(20) for number in range(n)) // 20\n"


def unittest_reports_one_pass(completed: Completed) -> str | None:
    return None if "Ran 1 test in" in completed.output and "\nOK\n" in completed.output else "not one passed test"


def solution(folder: Path, name: str, code: str, test: str = UNITTEST_FILE) -> Solution:
    tree = folder / f"tree-{name}"
    if not tree.exists():
        tree.mkdir()
        (tree / "package.py").write_text(code)
        (tree / "test_total.py").write_text(test)
    return Solution(name, (f"model-{name}",), tree, f"digest-{name}")


def plan(layout: Layout, *solutions: Solution, **changes: Any) -> CasePlan:
    settings: dict[str, Any] = {
        "instance_id": "owner__name-1",
        "digest": DIGEST,
        "solutions": solutions,
        "argv": (sys.executable, "test_total.py", "-v"),
        "environment": {"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{layout.tree}:{layout.tools}"},
        "passed": unittest_reports_one_pass,
        "warmup": 4,
        "window": Window(min_seconds=0.005, max_seconds=0.05),
        "replicates": 2,
        "attempts": 2,
        "seed": 1,
        "timeout": 60.0,
        "readable": (Path(sys.prefix), Path(sys.base_prefix)),
    }
    return CasePlan(**settings | changes)
