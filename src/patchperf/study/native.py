"""The benchmark's native test command, taken apart: environment, program, options, files or labels."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from patchperf.errors import InputError
from patchperf.study.derivation import Underivable
from patchperf.study.instance import Instance

Runner = Literal["pytest", "django", "sympy", "unittest"]
Program = Literal["pytest", "django", "sympy", "unittest", "tox"]

_PYTEST = "pytest -rA"
_RUNTESTS = "./tests/runtests.py --verbosity 2"

NATIVE_COMMANDS = {
    "astropy/astropy": _PYTEST,
    "django/django": f"{_RUNTESTS} --settings=test_sqlite --parallel 1",
    "matplotlib/matplotlib": _PYTEST,
    "mwaskom/seaborn": "pytest --no-header -rA",
    "pallets/flask": _PYTEST,
    "psf/requests": _PYTEST,
    "pydata/xarray": _PYTEST,
    "pylint-dev/pylint": _PYTEST,
    "pytest-dev/pytest": _PYTEST,
    "scikit-learn/scikit-learn": _PYTEST,
    "sphinx-doc/sphinx": "tox --current-env -epy39 -v --",
    "sympy/sympy": "PYTHONWARNINGS='ignore::UserWarning,ignore::SyntaxWarning' bin/test -C --verbose",
}
"""SWE-bench's test command per repository, for rows without one of their own; the test patch's files follow it."""

NATIVE_COMMANDS_OF_VERSIONS = {
    ("django/django", "1.9"): _RUNTESTS,
    **{
        ("astropy/astropy", version): "pytest -rA -vv -o console_output_style=classic --tb=no"
        for version in ("0.1", "0.2", "0.3", "0.4", "1.1", "1.2", "1.3")
    },
}

_NO_TEST_FILE = (".json", ".png", "csv", ".txt", ".md", ".jpg", ".jpeg", ".pkl", ".yml", ".yaml", ".toml")


def patched_files(patch: str) -> tuple[str, ...]:
    """The files that a patch with ``diff --git`` lines touches, under their new names, in its order."""
    return tuple(re.findall(r"^diff --git a/.* b/(.*)$", patch.replace("\r\n", "\n"), re.MULTILINE))


def native_commands(instance: Instance) -> tuple[str, ...]:
    """The row's own test commands, or SWE-bench's command for its repository with the files of the test patch.

    The files stand in the patch's order and data files are left out by their ending, as in SWE-bench up to version 4;
    Django's are turned into labels below tests/. Raises InputError where the row has no command and its repository is
    none of the twelve.
    """
    if instance.test_commands:
        return instance.test_commands
    command = NATIVE_COMMANDS_OF_VERSIONS.get((instance.repo, instance.version), NATIVE_COMMANDS.get(instance.repo))
    if command is None:
        raise InputError(
            f"{instance.instance_id}: no test command in the row and none known for {instance.repo}; "
            "use a file with eval_script or test_cmds"
        )
    files = [file for file in patched_files(instance.test_patch) if not file.endswith(_NO_TEST_FILE)]
    if instance.repo == "django/django":
        files = [file.removesuffix(".py").removeprefix("tests/").replace("/", ".") for file in files]
    return (" ".join([command, shlex.join(files)]).strip(),)


@dataclass(frozen=True)
class Call:
    """One plain call of a test runner: no pipes, expansions or lists.

    ``program`` is everything up to and with the runner, e.g. ("python", "-X", "dev", "-m", "pytest"), and
    ``arguments`` what follows it; ``environment`` are the assignments before it.
    """

    runner: Program
    program: tuple[str, ...]
    arguments: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        assignments = [f"{name}={shlex.quote(value)}" for name, value in self.environment.items()]
        return " ".join([*assignments, shlex.join([*self.program, *self.arguments])])


_PLAIN = re.compile(r"(?:[\w@%+=:,./\[\]\- ]|'[^'\n]*'|\"[^\"\\$`!\n]*\")+")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_PYTHON = re.compile(r"python(?:[23](?:\.\d+)?)?")
_WRAPPERS = ("hatch", "pdm", "pipenv", "poetry", "rye", "uv")
_MODULES: dict[str, Program] = {"pytest": "pytest", "py.test": "pytest", "unittest": "unittest", "tox": "tox"}
_RUNS_TESTS = re.compile(r"(?<![\w.-])(?:pytest|py\.test|tox|unittest|nosetests|runtests\.py|bin/test)(?![\w.-])")


def runs_tests(command: str) -> bool:
    """Whether a shell line names a test runner."""
    return bool(_RUNS_TESTS.search(command))


def parse_call(command: str) -> Call | None:
    """The command taken apart, or None where it is no plain call of a runner that is known here."""
    command = command.strip()
    if not _PLAIN.fullmatch(command):
        return None
    words = shlex.split(command)
    environment = {}
    while words and (assignment := _ASSIGNMENT.fullmatch(words[0])):
        environment[assignment[1]] = assignment[2]
        words = words[1:]
    start = 0
    if len(words) > 2 and words[0] in _WRAPPERS and words[1] == "run":
        start = next((at for at in range(2, len(words)) if _recognise(words[at:])), 0)
    found = _recognise(words[start:])
    if found is None:
        return None
    runner, length = found
    end = start + length
    return Call(runner, tuple(words[:end]), tuple(words[end:]), environment)


def _recognise(words: list[str]) -> tuple[Program, int] | None:
    """The runner that the words begin with, and how many words name it."""
    if not words:
        return None
    if runner := _script(words[0]):
        return runner, 1
    if not _PYTHON.fullmatch(posixpath.basename(words[0])):
        return None
    at = 1
    while at < len(words) and words[at].startswith("-") and words[at] != "-m":
        at += 2 if words[at] in ("-X", "-W") else 1
    if at + 1 < len(words) and words[at] == "-m":
        module = _MODULES.get(words[at + 1])
        return (module, at + 2) if module else None
    if at < len(words) and (runner := _script(words[at])):
        return runner, at + 1
    return None


def _script(word: str) -> Program | None:
    name = posixpath.basename(word)
    if name in ("pytest", "py.test"):
        return "pytest"
    if name == "runtests.py":
        return "django"
    if posixpath.normpath(word).split("/")[-2:] == ["bin", "test"] and not word.startswith("/"):
        return "sympy"
    return "tox" if name == "tox" else None


@dataclass(frozen=True)
class _Grammar:
    """Which of a runner's options take a value: ``shorts`` and ``values`` always, ``optional`` if the word fits."""

    shorts: str
    values: frozenset[str]
    flags: frozenset[str]
    optional: dict[str, Callable[[str], bool]] = field(default_factory=dict)


def _long(names: str) -> frozenset[str]:
    return frozenset(f"--{name}" for name in names.split())


def _number(word: str) -> bool:
    return word.isdigit() or word == "auto"


_GRAMMARS: dict[Program, _Grammar] = {
    "pytest": _Grammar(
        shorts="ckmnoprW",
        values=_long(
            "assert basetemp capture code-highlight color confcutdir cov-config cov-report deselect dist "
            "doctest-glob doctest-report durations durations-min ignore ignore-glob import-mode junit-prefix "
            "junit-xml junitxml last-failed-no-failures log-cli-level log-file log-level maxfail maxprocesses "
            "numprocesses override-ini pythonwarnings reruns rootdir show-capture tb timeout verbosity"
        ),
        flags=_long(
            "cache-clear disable-pytest-warnings disable-warnings doctest-modules exitfirst failed-first ff "
            "full-trace lf keep-duplicates last-failed new-first nf no-cov no-header no-summary "
            "noconftest pyargs quiet runxfail setup-show showlocals stepwise strict strict-config strict-markers "
            "verbose"
        ),
        optional={"--cov": lambda word: True},
    ),
    "django": _Grammar(
        shorts="kv",
        values=_long("bisect exclude-tag pair selenium settings start-after start-at tag verbosity"),
        flags=_long("debug-sql failfast headless keepdb no-failfast no-input noinput pdb reverse timing"),
        optional={"--parallel": _number, "--shuffle": str.isdigit},
    ),
    "sympy": _Grammar(
        shorts="kt",
        values=_long("seed split tb timeout types"),
        flags=_long(
            "enhance-asserts fail-on-timeout force-colors no-cache no-colors no-subprocess pdb rerun slow sort verbose"
        ),
    ),
    "unittest": _Grammar(
        shorts="kpst",
        values=_long("durations pattern start-directory top-level-directory"),
        flags=_long("buffer catch failfast locals quiet verbose"),
    ),
}


def split_arguments(runner: Runner, arguments: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The options (with their values) and the files, labels or node ids among a runner's arguments, each in order.

    Raises Underivable where an option is not known and a plain word follows it, which may be its value.
    """
    grammar = _GRAMMARS[runner]
    options: list[str] = []
    positionals: list[str] = []
    words = list(arguments)
    while words:
        word = words.pop(0)
        if word == "--":
            positionals += words
            break
        if not word.startswith("-") or word == "-":
            positionals.append(word)
            continue
        options.append(word)
        if words and (
            _needs_value(grammar, word) or (not words[0].startswith("-") and _takes(grammar, word, words[0]))
        ):
            options.append(words.pop(0))
    return tuple(options), tuple(positionals)


def _needs_value(grammar: _Grammar, option: str) -> bool:
    """Whether the next word is the option's value, as for ``--tb`` and for the ``-k`` in ``-vk``."""
    if option.startswith("--"):
        return option in grammar.values
    opened = [at for at, letter in enumerate(option) if at > 0 and letter in grammar.shorts]
    return bool(opened) and opened[0] == len(option) - 1


def _takes(grammar: _Grammar, option: str, following: str) -> bool:
    if option in grammar.optional:
        return grammar.optional[option](following)
    if not option.startswith("--") or "=" in option or option in grammar.flags:
        return False
    raise Underivable(f"option {option} of the test runner is not known: {following} may be its value")


def posargs(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """What tox hands on to the command it wraps: all after ``--``."""
    return arguments[arguments.index("--") + 1 :] if "--" in arguments else ()
