"""One call of a test runner, taken apart: environment, wrappers, program, options, files or labels."""

from __future__ import annotations

import itertools
import posixpath
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from patchperf.study.derivation import Underivable

Runner = Literal["pytest", "django", "sympy", "unittest"]
Program = Literal["pytest", "django", "sympy", "unittest", "tox"]


@dataclass(frozen=True)
class Call:
    """One plain call of a test runner: no pipes, expansions or lists.

    ``program`` names the runner, e.g. ("python", "-X", "dev", "-m", "pytest"), and ``arguments`` is what follows it;
    ``environment`` are the assignments before it, ``wrappers`` the programs that start it, with their own options, e.g.
    (("xvfb-run", "-a"), ("poetry", "run")).
    """

    runner: Program
    program: tuple[str, ...]
    arguments: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)
    wrappers: tuple[tuple[str, ...], ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        """The command without the assignments."""
        return (*itertools.chain(*self.wrappers), *self.program, *self.arguments)

    def __str__(self) -> str:
        assignments = [f"{name}={shlex.quote(value)}" for name, value in self.environment.items()]
        return " ".join([*assignments, shlex.join(self.words)])


@dataclass(frozen=True)
class _Grammar:
    """Which of a program's options take a value: ``shorts`` and ``values`` always, ``optional`` if the word fits."""

    shorts: str = ""
    values: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    optional: dict[str, Callable[[str], bool]] = field(default_factory=dict)


def _long(names: str) -> frozenset[str]:
    return frozenset(f"--{name}" for name in names.split())


def _number(word: str) -> bool:
    return word.isdigit() or word == "auto"


_PLAIN = re.compile(r"(?:[\w@%+=:,./\[\]\- ]|'[^'\n]*'|\"[^\"\\$`!\n]*\")+")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_PYTHON = re.compile(r"python(?:[23](?:\.\d+)?)?")
_MODULES: dict[str, Program] = {"pytest": "pytest", "py.test": "pytest", "unittest": "unittest", "tox": "tox"}

MANAGERS = ("conda", "hatch", "mamba", "micromamba", "pdm", "pipenv", "poetry", "rye", "uv")
"""Wrappers that only choose the environment in which a command runs."""

_CONDA = _Grammar("np", _long("cwd name prefix"))
_WRAPPERS: dict[tuple[str, ...], _Grammar] = {
    ("conda", "run"): _CONDA,
    ("coverage", "run"): _Grammar("L", _long("concurrency context data-file include omit rcfile source")),
    ("dbus-run-session",): _Grammar(values=_long("config-file dbus-daemon")),
    ("env",): _Grammar("Cu", _long("chdir unset")),
    ("hatch", "run"): _Grammar(),
    ("mamba", "run"): _CONDA,
    ("micromamba", "run"): _CONDA,
    ("nice",): _Grammar("n", _long("adjustment")),
    ("nohup",): _Grammar(),
    ("pdm", "run"): _Grammar("p", _long("project venv")),
    ("pipenv", "run"): _Grammar(),
    ("poetry", "run"): _Grammar("CP", _long("directory project")),
    ("rye", "run"): _Grammar(values=_long("pyproject")),
    ("stdbuf",): _Grammar("eio", _long("error input output")),
    ("timeout",): _Grammar("ks", _long("kill-after signal")),
    ("uv", "run"): _Grammar(
        "CPfipw",
        _long(
            "directory env-file exclude-newer extra extra-index-url find-links group index index-url no-extra no-group "
            "only-group package project python with with-editable with-requirements"
        ),
    ),
    ("xvfb-run",): _Grammar("efnpsw", _long("auth-file error-file server-args server-num wait xauth-protocol")),
}


def parse_call(command: str) -> Call | None:
    """The command taken apart, or None where it is no plain call of a runner that is known here."""
    command = command.strip()
    if not _PLAIN.fullmatch(command):
        return None
    environment: dict[str, str] = {}
    wrappers: list[tuple[str, ...]] = []
    words = _assigned(shlex.split(command), environment)
    while length := _wrapper(words):
        wrappers.append(tuple(words[:length]))
        words = _assigned(words[length:], environment)
    found = _recognise(words)
    if found is None:
        return None
    runner, length = found
    return Call(runner, tuple(words[:length]), tuple(words[length:]), environment, tuple(wrappers))


def _assigned(words: list[str], environment: dict[str, str]) -> list[str]:
    """The words after the assignments, which are added to the environment."""
    while words and (assignment := _ASSIGNMENT.fullmatch(words[0])):
        environment[assignment[1]] = assignment[2]
        words = words[1:]
    return words


def _wrapper(words: list[str]) -> int:
    """How many words belong to the wrapper that they begin with; 0 if they begin with none.

    An option that is not known is taken for one without a value: the word after it has to be the runner.
    """
    for name, grammar in _WRAPPERS.items():
        if tuple(words[: len(name)]) == name:
            at = len(name)
            while at < len(words) and words[at].startswith("-") and words[at] not in ("-m", "--"):
                at += 2 if _needs_value(grammar, words[at]) else 1
            at += name == ("timeout",)
            return at + (words[at : at + 1] == ["--"])
    return 0


def _recognise(words: list[str]) -> tuple[Program, int] | None:
    """The runner that the words begin with, and how many words name it."""
    if not words:
        return None
    if runner := _script(words[0]):
        return runner, 1
    at = 0
    if _PYTHON.fullmatch(posixpath.basename(words[0])):
        at = 1
        while at < len(words) and words[at].startswith("-") and words[at] != "-m":
            at += 2 if words[at] in ("-X", "-W") else 1
        if at < len(words) and (runner := _script(words[at])):
            return runner, at + 1
    module = _MODULES.get(words[at + 1]) if words[at : at + 1] == ["-m"] and at + 1 < len(words) else None
    return (module, at + 2) if module else None


def _script(word: str) -> Program | None:
    name = posixpath.basename(word)
    if name in ("pytest", "py.test"):
        return "pytest"
    if name == "runtests.py":
        return "django"
    if posixpath.normpath(word).split("/")[-2:] == ["bin", "test"] and not word.startswith("/"):
        return "sympy"
    return "tox" if name == "tox" else None


_GRAMMARS: dict[Program, _Grammar] = {
    "pytest": _Grammar(
        shorts="ckmnoprW",
        values=_long(
            "assert asyncio-mode basetemp capture code-highlight color confcutdir count cov-config cov-context "
            "cov-fail-under cov-report deselect dist doctest-encoding doctest-glob doctest-report ds durations "
            "durations-min html hypothesis-profile hypothesis-seed ignore ignore-glob import-mode json-report-file "
            "junit-prefix junit-xml junitxml last-failed-no-failures lfnf log-cli-format log-cli-level log-date-format "
            "log-disable log-file log-file-level log-file-mode log-format log-level maxfail maxprocesses numprocesses "
            "only-rerun override-ini pastebin pdbcls pythonwarnings random-order-seed rerun-except reruns reruns-delay "
            "rootdir show-capture tb timeout timeout-method tx verbosity"
        ),
        flags=_long(
            "cache-clear co collect-only continue-on-collection-errors cov-append cov-branch cov-reset create-db "
            "disable-pytest-warnings disable-warnings doctest-continue-on-failure doctest-ignore-import-errors "
            "doctest-modules exitfirst failed-first ff forked full-trace json-report keep-duplicates last-failed lf "
            "new-first nf no-cov no-cov-on-fail no-fold-skipped no-header no-migrations no-showlocals no-summary "
            "noconftest nomigrations pdb pyargs quiet reuse-db runxfail self-contained-html setup-only setup-plan "
            "setup-show showlocals stepwise stepwise-skip strict strict-config strict-markers sw trace trace-config "
            "verbose xfail-tb"
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
        values=_long("rerun seed split tb timeout types"),
        flags=_long(
            "enhance-asserts fail-on-timeout force-colors no-cache no-colors no-subprocess pdb random slow verbose"
        ),
    ),
    "unittest": _Grammar(
        shorts="kpst",
        values=_long("durations pattern start-directory top-level-directory"),
        flags=_long("buffer catch failfast locals quiet verbose"),
    ),
}


Options = tuple[tuple[str, ...], ...]
"""Options in their order, each with the words of its value."""


def split_arguments(runner: Runner, arguments: Sequence[str]) -> tuple[Options, tuple[str, ...]]:
    """The options and the files, labels or node ids among a runner's arguments, each in their order.

    Raises Underivable where an option is not known and a plain word follows it, which may be its value.
    """
    grammar = _GRAMMARS[runner]
    options: list[tuple[str, ...]] = []
    positionals: list[str] = []
    words = list(arguments)
    while words:
        word = words.pop(0)
        if word == "--":
            positionals += words
            break
        if not word.startswith("-") or word == "-":
            positionals.append(word)
        elif words and (
            _needs_value(grammar, word) or (not words[0].startswith("-") and _takes(grammar, word, words[0]))
        ):
            options.append((word, words.pop(0)))
        else:
            options.append((word,))
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


def discovery(arguments: Sequence[str]) -> str | None:
    """The folder that the modules of unittest's discovery are relative to; None where modules or tests are named.

    It is the top-level folder, by default the start folder, by default where unittest is called; unittest discovers
    also where nothing is named.
    """
    options, positionals = split_arguments("unittest", arguments)
    if positionals and positionals[0] != "discover":
        return None
    start, _, top = (*positionals[1:], *[None] * 3)[:3]
    top = top or _value(options, r"-t|--top-level-directory=?")
    return top or start or _value(options, r"-s|--start-directory=?") or "."


def _value(options: Options, name: str) -> str | None:
    """The value of the last option with such a name, joined to it or not."""
    given = (re.match(rf"(?:{name})(.*)", " ".join(option)) for option in options)
    return next((match[1].strip() for match in reversed([*given]) if match), None)
