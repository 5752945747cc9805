"""Runs test files and prints one line for each test."""

import importlib
import os
import platform
import random
import sys
import time
import traceback

from minalg.testing import XFail, XPass

WIDTH = 80


def run(paths, verbose=False, keywords=(), seed=None):
    """Run the tests of the files, all or those whose names have a keyword in them; returns whether all went well."""
    seed = random.randrange(10**8) if seed is None else seed
    print(" test process starts ".center(WIDTH, "="))
    print(f"executable:         {sys.executable}  ({platform.python_version()}) [{platform.python_implementation()}]")
    print(f"cache:              {os.environ.get('MINALG_USE_CACHE', 'yes')}")
    print(f"random seed:        {seed}\n")

    counts, failures = {}, []
    start = time.perf_counter()
    for path in paths:
        tests = collect(path, keywords)
        print(f"{path}[{len(tests)}] ", end="\n" if verbose else "", flush=True)
        bad = len(failures)
        for test in tests:
            random.seed(seed)
            letter, report = call(test)
            counts[letter] = counts.get(letter, 0) + 1
            if report:
                failures.append((f"{path}:{test.__name__}", report))
            print(f"{test.__name__} {letter}\n" if verbose else letter[0].replace("o", "."), end="", flush=True)
        print(("[FAIL]" if len(failures) > bad else "[OK]").rjust(WIDTH if verbose else 8))

    for name, report in failures:
        print("\n" + "_" * WIDTH)
        print(f" {name} ".center(WIDTH, "_"))
        print(report, end="")
    print("\n" + summary(counts, time.perf_counter() - start))
    if failures:
        print("DO *NOT* COMMIT!")
    return not failures


def collect(path, keywords):
    """The test functions of a file in the order of their definition."""
    name = os.path.splitext(os.path.relpath(path))[0].replace(os.sep, ".")
    tests = [value for key, value in vars(importlib.import_module(name)).items() if key.startswith("test_")]
    return [test for test in tests if not keywords or any(word in test.__name__ for word in keywords)]


def call(test):
    """A letter for what came of a test, and a report if it is a bad thing."""
    try:
        test()
    except XFail:
        return "f", None
    except XPass:
        return "X", None
    except AssertionError:
        return "F", traceback.format_exc()
    except Exception:
        return "E", traceback.format_exc()
    return "ok", None


def summary(counts, seconds):
    """The last line: how many tests passed, failed, and so on."""
    names = {"ok": "passed", "F": "failed", "f": "expected to fail", "X": "expected to fail but passed", "E": "exceptions"}
    parts = [f"{counts.get('ok', 0)} passed"]
    parts += [f"{counts[letter]} {name}" for letter, name in names.items() if letter != "ok" and letter in counts]
    return f" tests finished: {', '.join(parts)}, in {seconds:.2f} seconds ".center(WIDTH, "=")
