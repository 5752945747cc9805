"""What a patch changes beside its code: tests, and files that test runners and interpreters read untold.

None of it is the candidate's to change, so it is put back before anything runs: the tests are the benchmark's, and a
``conftest.py``, a ``sitecustomize.py`` or a module under the name of pytest would decide what they say. What the ground
truth itself changes is the issue's business and stays.
"""

from __future__ import annotations

import posixpath
import re
import sys
import tomllib
from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase
from typing import Any

from patchperf.study.derivation import Underivable
from patchperf.study.instance import Instance
from patchperf.study.native import native_commands
from patchperf.study.solutions import Change, is_test_file, package_roots

SETTINGS = (
    "conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "nose.cfg", ".coveragerc",
    "sitecustomize.py", "usercustomize.py", "*.pth", "*._pth", "pyvenv.cfg",
)  # fmt: skip
"""Names of files that are there for runners and interpreters alone."""

SHARED = {
    "setup.cfg": re.compile(rb"^\[tool:pytest\][^\n]*\n(?:(?!\[)[^\n]*\n?)*", re.MULTILINE),
    "tox.ini": re.compile(rb"^\[pytest\][^\n]*\n(?:(?!\[)[^\n]*\n?)*", re.MULTILINE),
    "pyproject.toml": None,
}
"""Files that have a section for pytest beside others, and that section; of TOML, the table ``tool.pytest``."""

TOOLS = frozenset(
    {
        "pytest", "_pytest", "pluggy", "py", "iniconfig", "packaging", "pygments", "exceptiongroup", "tomli", "nose",
        "unittest", "doctest", "xdist", "pytest_cov", "coverage", "tox", "sitecustomize", "usercustomize",
    }
)  # fmt: skip
"""Modules that runners are made of, or that interpreters load untold; one in a tree would come before the installed."""

RUNNERS = ("runtests.py", "bin/test", "bin/doctest")
"""Runners that repositories have of their own, by the ends of their paths."""

SETTINGS_OF_COMMANDS = {"tox": ("tox.ini", "tox.toml"), "make": ("Makefile",), "nox": ("noxfile.py",)}
"""What decides on the commands of a program that the native command calls."""

_IMPORTED = (".py", ".so", ".pyd")
_COMPILED = (".pyc", ".pyo")

_PLUGIN = b"pytest11"


def set_aside(changes: Iterable[Change], instance: Instance, truth: Collection[str]) -> tuple[str, ...]:
    """The paths among a patch's changes that are put back to the base, sorted; ``truth`` are the ground truth's paths.

    They are tests, settings of runners and interpreters, runners of the repository's own (the files that the native
    command names among them), metadata of packages, compiled code that would be taken for a source file's, and modules
    under the name of a runner's or one of Python's own where the base has none. Of a file that pytest shares with
    others, the whole is put back where what it says to pytest has changed, or where it newly names pytest's plugins.
    Files of tests within the package that are no tests by name (``pkg/tests/helpers.py``) may be code that others use:
    of these only new ones go.
    """
    named = _files_of_commands(instance)
    roots = package_roots(truth)
    tools = TOOLS - set(map(_module, truth))
    return tuple(
        sorted(
            change.path for change in changes if change.path not in truth and _is_foreign(change, named, roots, tools)
        )
    )


def _is_foreign(change: Change, named: Collection[str], roots: Collection[str], tools: Collection[str]) -> bool:
    *folders, name = change.path.split("/")
    if is_setting(change.path) or change.path in named or name.endswith(_COMPILED):
        return True
    if any(folder.endswith((".egg-info", ".dist-info")) for folder in folders):
        return True
    if name in SHARED:
        base, new = change.base or b"", change.new or b""
        plugin = _PLUGIN in new and _PLUGIN not in base
        return plugin or _of_pytest(name, base) != _of_pytest(name, new)
    if is_test_file(change.path):
        in_package = any(change.path.startswith(f"{root}/") for root in roots)
        return change.base is None or not in_package or is_test_file(f"any/{name}")
    if any(f"/{change.path}".endswith(f"/{runner}") for runner in RUNNERS):
        return True
    return change.base is None and (_module(change.path) in tools or _hides_standard_module(change.path))


def _of_pytest(name: str, content: bytes) -> Any:
    """What a shared file says to pytest; of TOML that cannot be read, all."""
    section = SHARED[name]
    if section is not None:
        return section.findall(content)
    try:
        return tomllib.loads(content.decode("utf-8")).get("tool", {}).get("pytest")
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, AttributeError):
        return content


def _hides_standard_module(path: str) -> bool:
    """Whether a new file makes a module at the root, or right below ``src`` or ``lib``, that Python has itself."""
    parts = path.split("/")
    top = parts[1:] if parts[0] in {"src", "lib"} and len(parts) > 1 else parts
    makes_one = len(top) == 1 or (len(top) == 2 and top[1].partition(".")[0] == "__init__")
    return makes_one and path.endswith(_IMPORTED) and _module(path) in sys.stdlib_module_names


def is_setting(path: str) -> bool:
    """Whether a file is there for runners and interpreters alone, by its name."""
    return any(fnmatchcase(posixpath.basename(path), pattern) for pattern in SETTINGS)


def _files_of_commands(instance: Instance) -> Collection[str]:
    try:
        lines = native_commands(instance)
    except Underivable:
        return ()
    words = [word for line in lines for word in re.split(r"[\s;&|]+", line)]
    settings = {path for word in words for path in SETTINGS_OF_COMMANDS.get(posixpath.basename(word), ())}
    return settings | {posixpath.normpath(word) for word in words if "/" in word or word.endswith((".py", ".sh"))}


def _module(path: str) -> str:
    """The top module that a file belongs to where the root, ``src`` or ``lib`` is searched for it; extensions too."""
    parts = path.split("/")
    top = parts[1:] if parts[0] in {"src", "lib"} and len(parts) > 1 else parts
    return top[0].partition(".")[0]
