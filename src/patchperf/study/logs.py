"""From what a test runner printed to the status of each test, named as the benchmark names it.

The benchmark's lists of tests were made with its own parsers, one per repository, so each parser here finds the same
names: also where those cut a name at a space, shorten it, or take a line of a docstring for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal, get_args

from patchperf.errors import InputError
from patchperf.study.calls import Runner
from patchperf.study.instance import Instance
from patchperf.study.native import runner_of

Status = Literal["PASSED", "FAILED", "ERROR", "SKIPPED", "XFAIL"]
Statuses = dict[str, Status]

_STATUSES: dict[str, Status] = {status: status for status in get_args(Status)}


def parse_log(output: str, instance: Instance) -> Statuses:
    """The status of every test that a runner's output tells of; of several lines on one test the last holds.

    The parser is the one that the row names, else its repository's in SWE-bench, else that of the runner. Raises
    InputError where the row names a parser that is not known.
    """
    return _parser(instance)(output)


def logged_name(node_id: str, instance: Instance) -> str:
    """The name under which a test of pytest stands in the benchmark's lists once it has passed."""
    return next(iter(parse_log(f"PASSED {node_id}", instance)), node_id)


def is_whole_name(name: str, instance: Instance) -> bool:
    """Whether a name of pytest's in the benchmark's lists is sure to be the node id itself.

    It is not where it ends within brackets, has a space that may have been several characters, or looks like what the
    instance's parser makes of other node ids.
    """
    parser = _parser(instance)
    if name.count("[") > name.count("]") or re.search(r"\s", name):
        return False
    if parser is _pytest_options:
        return "[/" not in name
    return parser is not _matplotlib or not re.search(r"[\[-][13][\]-]", name)


def tests_run(output: str, runner: Runner) -> int | None:
    """How many tests the runner itself says it has run or skipped, from its last summary; None where it printed none.

    pytest counts a test that passes and then fails in its teardown twice.
    """
    return _COUNTERS[runner](re.sub(r"\x1b\[[0-9;]*m", "", output))


tests_run.__test__ = False  # type: ignore[attr-defined]


def all_skipped(output: str, runner: Runner) -> bool:
    """Whether the runner's last summary tells of skipped tests and of no others."""
    told = SUMMARIES[runner].findall(re.sub(r"\x1b\[[0-9;]*m", "", output))
    skipped = _SKIPPED.search(told[-1]) if told else None
    return skipped is not None and int(skipped[1] or skipped[2]) == tests_run(output, runner)


# ------------------------------------------------------------------------------------------------------------- pytest


def _summary_words(line: str) -> tuple[Status, list[str]] | None:
    """Status and words of a line such as ``FAILED a.py::test_x - AssertionError`` in pytest's short summary.

    ``SKIPPED [3] a.py:7: reason`` counts places, not tests, and is no such line.
    """
    words = line.split()
    status = _STATUSES.get(words[0]) if words and line.startswith(words[0]) else None
    if status is None or len(words) < 2 or (status == "SKIPPED" and re.fullmatch(r"\[\d+\]", words[1])):
        return None
    return status, words[1:]


def _pytest(output: str) -> Statuses:
    """The name is the first word after the status: names with spaces in brackets are cut there."""
    return dict(_first_words(output))


def _first_words(output: str) -> Iterator[tuple[str, Status]]:
    for line in output.split("\n"):
        if found := _summary_words(line):
            yield found[1][0], found[0]


def _pytest_options(output: str) -> Statuses:
    """As ``_pytest``, but an absolute path in brackets is its last part only, and nothing follows the brackets."""
    return {_shorten(name): status for name, status in _first_words(output)}


def _shorten(name: str) -> str:
    bracketed = re.match(r"(.*?)\[(.*)\]", name)
    if bracketed is None:
        return name
    function, option = bracketed.groups()
    if option.startswith("/") and not option.startswith("//") and "*" not in option:
        option = "/" + option.rpartition("/")[2]
    return f"{function}[{option}]"


def _pytest_spaces(output: str) -> Statuses:
    """Names keep their spaces; colours are taken out; lines that end with a status, as older versions print, count too.

    A failed test's name ends before `` - ``, where its message begins.
    """
    statuses: Statuses = {}
    for coloured in output.split("\n"):
        line = re.sub(r"[\x01-\x1f]", "", re.sub(r"\[\d+m", "", coloured))
        if line.startswith(tuple(_STATUSES)):
            found = _summary_words(line.partition(" - ")[0] if line.startswith("FAILED") else line)
            if found:
                statuses[" ".join(found[1])] = found[0]
        elif line.endswith(tuple(_STATUSES)):
            *name, last = line.split()
            if name and last in _STATUSES:
                statuses[" ".join(name)] = _STATUSES[last]
    return statuses


def _matplotlib(output: str) -> Statuses:
    """As ``_pytest``; mouse buttons stand under their numbers, as in older Python versions."""
    return _pytest(output.replace("MouseButton.LEFT", "1").replace("MouseButton.RIGHT", "3"))


def _seaborn(output: str) -> Statuses:
    """Passed and failed tests only, from the summary or from ``a.py::test_x PASSED [ 5%]``."""
    statuses: Statuses = {}
    for line in output.split("\n"):
        if progress := re.match(r"\s*(?!FAILED\s)(\S+)\s+PASSED ", line):
            statuses[progress[1]] = "PASSED"
        elif summary := re.match(r"(FAILED|PASSED)\s+(\S+)", line):
            statuses[summary[2]] = _STATUSES[summary[1]]
    return statuses


_PYTEST_TAIL = re.compile(r"^(?:=+ )?((?:\d+ [a-z][a-z -]*(?:, )?)+|no tests ran) in [\d.]+ ?s", re.MULTILINE)
_PYTEST_COUNT = re.compile(r"(\d+) (?:passed|failed|errors?|skipped|xfailed|xpassed)\b")


def _count_pytest(output: str) -> int | None:
    tails = _PYTEST_TAIL.findall(output)
    return sum(map(int, _PYTEST_COUNT.findall(tails[-1]))) if tails else None


# ------------------------------------------------------------------------------------------------ Django and unittest

_UNITTEST_HEADER = re.compile(r"(FAIL|ERROR): (\w+ \([\w.]+\))")
_SILENCED = re.compile(r"(.*?)\s\.\.\.\sTesting against Django installed in ")
_MIGRATED = "Applying sites.0002_alter_domain_unique..."


def _unittest(output: str) -> Statuses:
    """``test_x (module.Class) ... ok``, or a line of the docstring before the dots, as ``unittest -v`` prints them.

    What a test prints may stand between dots and verdict: a line that begins with "ok" belongs to the last test begun.
    A test that the runner lists under FAIL: or ERROR: in the end has failed whatever was read before.
    """
    statuses: Statuses = {}
    failed: Statuses = {}
    begun: str | None = None
    for printed in output.split("\n"):
        line = printed.strip()
        if "--version is equivalent to version" in line:
            statuses["--version is equivalent to version"] = "PASSED"
        if " ... " in line:
            begun = line.partition(" ... ")[0]
        if passed := re.fullmatch(r"(.*) \.\.\. (?:ok|OK| OK)", line):
            name = passed[1]
            if name.startswith(f"{_MIGRATED}test_no_migrations"):
                name = name.removeprefix(_MIGRATED)
            statuses[name] = "PASSED"
        if " ... skipped" in line:
            statuses[line.partition(" ... skipped")[0]] = "SKIPPED"
        for verdict, status in (("FAIL", "FAILED"), ("ERROR", "ERROR")):
            if line.endswith(f" ... {verdict}"):
                statuses[line.partition(f" ... {verdict}")[0]] = _STATUSES[status]
            if line.startswith(f"{verdict}:") and len(line.split()) > 1:
                statuses[line.split()[1]] = _STATUSES[status]
                if header := _UNITTEST_HEADER.match(line):
                    failed[header[2]] = _STATUSES[status]
        if line.startswith("ok") and begun is not None:
            statuses[begun] = "PASSED"
    return {**statuses, **dict.fromkeys(_interrupted(output), "PASSED"), **failed}


def _interrupted(output: str) -> Iterator[str]:
    """Tests whose line Django's own start-up message broke, and whose ``ok`` follows the end of that message."""
    begun: str | None = None
    before = ""
    for line in output.split("\n"):
        if begun is None and (start := _SILENCED.match(line)):
            begun = start[1]
        elif begun is not None and line == "ok" and before.endswith(" silenced)."):
            yield begun
            begun = None
        before = line


def _count_unittest(output: str) -> int | None:
    counts = re.findall(r"^Ran (\d+) tests? in ", output, re.MULTILINE)
    return int(counts[-1]) if counts else None


# -------------------------------------------------------------------------------------------------------------- sympy

_SYMPY_VERDICTS: dict[str, Status] = {"ok": "PASSED", "F": "FAILED", "E": "ERROR"}
_SYMPY_LINE = re.compile(r"(test_\S*)(?: .*)? (ok|F|E)(?: +\[(?:OK|FAIL)\])?")
_SYMPY_TAIL = re.compile(r"tests finished: (.*?)in [\d.]+ seconds", re.DOTALL)
_SYMPY_TITLE = re.compile(r"^_* (\S.*\.py:\S+) _*$", re.MULTILINE)


def _sympy(output: str) -> Statuses:
    """``test_x ok``, one line a test; names are bare. The last test of a file shares its line with the file's [OK].

    Tests that were skipped or failed as expected have no status, as in the benchmark. A failure's traceback is titled
    ``file.py:test_x`` and stands under that name too.
    """
    statuses: Statuses = dict.fromkeys(_SYMPY_TITLE.findall(output), "FAILED")
    for line in output.split("\n"):
        if found := _SYMPY_LINE.fullmatch(line.strip()):
            statuses[found[1]] = _SYMPY_VERDICTS[found[2]]
    return statuses


def _count_sympy(output: str) -> int | None:
    tails = _SYMPY_TAIL.findall(output)
    return sum(map(int, re.findall(r"\d+", tails[-1]))) if tails else None


# ------------------------------------------------------------------------------------------------------------- choice

_Parser = Callable[[str], Statuses]

_PARSERS: dict[str, _Parser] = {
    "django": _unittest,
    "matplotlib": _matplotlib,
    "pytest": _pytest,
    "pytest_options": _pytest_options,
    "pytest_v2": _pytest_spaces,
    "seaborn": _seaborn,
    "sympy": _sympy,
    "unittest": _unittest,
    **dict.fromkeys(("astropy", "scikit", "sphinx"), _pytest_spaces),
    **dict.fromkeys(("pydicom", "pylint", "requests"), _pytest_options),
    **dict.fromkeys(("astroid", "flask", "marshmallow", "pvlib", "pyvista", "sqlfluff", "xarray"), _pytest),
}
_PARSER_OF_REPOSITORY = {
    "astropy/astropy": "astropy",
    "django/django": "django",
    "matplotlib/matplotlib": "matplotlib",
    "mwaskom/seaborn": "seaborn",
    "pallets/flask": "flask",
    "psf/requests": "requests",
    "pydata/xarray": "xarray",
    "pylint-dev/pylint": "pylint",
    "pytest-dev/pytest": "pytest",
    "scikit-learn/scikit-learn": "scikit",
    "sphinx-doc/sphinx": "sphinx",
    "sympy/sympy": "sympy",
}


def _parser(instance: Instance) -> _Parser:
    if instance.log_parser:
        unknown = unknown_parser(instance)
        if unknown is not None:
            raise InputError(f"{instance.instance_id}: {unknown}")
        return _PARSERS[_parser_name(instance.log_parser)]
    return _PARSERS[_PARSER_OF_REPOSITORY.get(instance.repo) or runner_of(instance)]


def unknown_parser(instance: Instance) -> str | None:
    """None if the parser that the row names is known, or if it names none; else one line that says which are."""
    if not instance.log_parser or _parser_name(instance.log_parser) in _PARSERS:
        return None
    first = instance.log_parser.strip().split("\n")[0][:60]
    return f"log parser {first!r} is not known; known are {', '.join(sorted(_PARSERS))}"


def _parser_name(written: str) -> str:
    return written.strip().removeprefix("parse_log_").lower()


_COUNTERS: dict[Runner, Callable[[str], int | None]] = {
    "pytest": _count_pytest,
    "django": _count_unittest,
    "sympy": _count_sympy,
    "unittest": _count_unittest,
}
_UNITTEST_SUMMARY = re.compile(r"^Ran \d+ tests? in .*\n+((?:OK|FAILED).*)", re.MULTILINE)
SUMMARIES: dict[Runner, re.Pattern[str]] = {
    "pytest": _PYTEST_TAIL,
    "django": _UNITTEST_SUMMARY,
    "sympy": _SYMPY_TAIL,
    "unittest": _UNITTEST_SUMMARY,
}
"""What a runner prints once, when all its tests have run."""

_SKIPPED = re.compile(r"\b(\d+) skipped\b|\bskipped=(\d+)")
