#!/usr/bin/env python
"""Run Quayside's tests.

A label is an app (``routing``), its tests (``routing.tests``), a class or one test of it; without labels all apps run.
"""

import argparse
import importlib
import os
import sys
import unittest
from pathlib import Path

TESTS = Path(__file__).resolve().parent
sys.path[:0] = [str(TESTS.parent), str(TESTS)]


class Result(unittest.TextTestResult):
    """Names tests alike on every Python."""

    def getDescription(self, test):
        if not hasattr(test, "_testMethodName"):
            return str(test)
        name = f"{test._testMethodName} ({unittest.util.strclass(type(test))})"
        doc = test.shortDescription()
        return f"{name}\n{doc}" if self.descriptions and doc else name


def apps():
    """The packages with tests, sorted."""
    return sorted(path.parent.name for path in TESTS.glob("*/tests.py"))


def suite(labels):
    """All tests of the labels."""
    names = [label if "." in label else f"{label}.tests" for label in labels or apps()]
    return unittest.defaultTestLoader.loadTestsFromNames(names)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("labels", nargs="*", metavar="label")
    parser.add_argument("-v", "--verbosity", type=int, choices=[0, 1, 2, 3], default=1)
    parser.add_argument("--settings", default="test_sqlite", help="module with the settings of the run")
    parser.add_argument("--parallel", type=int, default=1, metavar="N", help="accepted; tests run one by one")
    parser.add_argument("--failfast", action="store_true", help="stop at the first failure")
    options = parser.parse_args()

    os.environ["QUAYSIDE_SETTINGS"] = options.settings
    importlib.import_module(options.settings)
    if options.verbosity:
        print(f"Testing against Quayside with {options.parallel} process")
    runner = unittest.TextTestRunner(
        resultclass=Result, verbosity=options.verbosity, failfast=options.failfast
    )
    result = runner.run(suite(options.labels))
    sys.exit(not result.wasSuccessful())


if __name__ == "__main__":
    main()
