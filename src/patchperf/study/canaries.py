"""Tests that have to fail, beside the benchmark's: a run in which they pass, or of which they are gone, proves nothing.

Code of a patch runs in the process of its tests. There it can replace a runner's insides under names that it builds as
it runs, or end the process behind a report of its own, and no look at the patch sees that. But it cannot tell our
failures from those that it hides. They cost one more run, so only patches are tried that claim a fail-to-pass test and
newly use something by which code gets beyond itself.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from patchperf.sandbox import patches
from patchperf.study.commands import suite_command
from patchperf.study.logs import parse_log
from patchperf.study.solutions import Change
from patchperf.study.workbench import Workbench

_BEYOND = re.compile(
    r"\b(?:(?<!def )__(?!(?:init|name|doc|all|version|future)__)\w+__|_{0,2}(?:getattr|setattr|delattr|globals|locals"
    r"|vars|eval|exec|compile|import_module|import_string|importlib|runpy|pkgutil|builtins|sys|os|posix|io|open|pathlib"
    r"|shutil|mmap|tempfile|subprocess|multiprocessing|gc|inspect|types|operator|functools|weakref|ctypes|atexit"
    r"|faulthandler|threading|thread|asyncio|pickle|marshal|codecs|traceback|warnings|logging|unittest|doctest|pytest\w*"
    r"|pluggy|nose|mock|TestCase|gi_frame|cr_frame|ag_frame|tb_frame|f_back|f_globals|f_locals|f_builtins))\b"
)
"""Names by which code reaches other modules, its interpreter, files or processes."""

_OF_RUNNERS = re.compile(r"(?:^|[/_])(?:test|tests|testing|runner|runtests|unittest|pytest)(?:[/_.]|$)")

_TEXT = """

def {name}_assert():
    assert 1 == 2


def {name}_raise():
    raise ValueError("this test fails by itself")


if "pytest" in globals():
    def {name}_pytest():
        with pytest.raises(ValueError):
            pass


def _{name}():
    import unittest

    def raises(self):
        with self.assertRaises(ValueError):
            pass

    methods = {{
        "assert": lambda self: {name}_assert(),
        "equal": lambda self: self.assertEqual(1, 2),
        "true": lambda self: self.assertTrue(False),
        "raises": raises,
    }}
    for value in list(globals().values()):
        if isinstance(value, type) and issubclass(value, unittest.TestCase) and value.__module__ == __name__:
            for what, method in methods.items():
                setattr(value, "{name}_" + what, method)


_{name}()
"""
"""Functions for pytest's and SymPy's runner, and methods for the classes that unittest's and Django's run."""


class Heard(NamedTuple):
    """What a run says of the tests that have to fail: how many do, which pass, and whether its exit code fits."""

    failed: int
    passed: tuple[str, ...]
    exit_code: int
    ended: str

    @property
    def clean(self) -> bool:
        """Whether failures come out as failures."""
        return bool(self.failed) and not self.passed and self.exit_code != 0 and self.ended == "exit"


def gets_beyond_itself(changes: Iterable[Change]) -> bool:
    """Whether a patch newly uses what reaches beyond its own modules, is about running tests, or cannot be read."""
    return any(
        change.new is not None and _gets_beyond(change.path, change.base or b"", change.new) for change in changes
    )


def _gets_beyond(path: str, base: bytes, new: bytes) -> bool:
    return b"\0" in new or _OF_RUNNERS.search(path) is not None or _uses(new) > _uses(base)


def _uses(content: bytes) -> int:
    """Python takes identifiers in their compatibility form, so that is what is looked at."""
    return len(_BEYOND.findall(unicodedata.normalize("NFKC", content.decode("utf-8", "replace"))))


def hidden_failures(bench: Workbench, patch: str) -> str:
    """In one line what a patch makes of tests that have to fail; empty where they fail, or would not be told anyway.

    Tests are added to the benchmark's test files and run with the native command. Where they do not plainly fail, the
    ground truth is tried too: what is the same there is the command's doing. The patch has to apply, and leave the
    benchmark's tests their place.
    """
    name = f"test_{hashlib.sha256(patch.encode('utf-8', 'surrogateescape')).hexdigest()[:16]}"
    heard = listen(bench, patch, name)
    if heard.clean:
        return ""
    truth = listen(bench, bench.instance.patch, name)
    if heard.passed and not truth.passed:
        return f"after this patch a test passes that has to fail ({len(heard.passed)} do)"
    if truth.clean:
        return "after this patch a test that has to fail is not reported as failed"
    return ""


def listen(bench: Workbench, patch: str, name: str) -> Heard:
    """What the native command says of tests of that name, on a patched tree."""
    tree = bench.base_tree("canary")
    patches.apply_patch(tree, patch)
    bench.set_aside(tree)
    bench.install_project(tree)
    bench.install_tests(tree)
    for path in patches.patch_paths(bench.instance.test_patch):
        file = tree / path
        if path.endswith(".py") and file.is_file() and file.resolve() == tree.resolve() / path:
            with file.open("a", encoding="utf-8") as out:
                out.write(_TEXT.format(name=name))
    shell = suite_command(bench.instance, tree, bench.executables)
    done = bench.run(shell, tree, timeout=bench.config.timeouts.suite)
    ours = {test: status for test, status in parse_log(done.output, bench.instance).items() if name in test}
    return Heard(
        failed=sum(status in ("FAILED", "ERROR") for status in ours.values()),
        passed=tuple(sorted(test for test, status in ours.items() if status in ("PASSED", "XFAIL"))),
        exit_code=done.exit_code,
        ended=done.ended,
    )
