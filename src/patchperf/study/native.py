"""The benchmark's native test commands: which shell lines they are, and the calls of test runners among them."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass

from patchperf.study import shell
from patchperf.study.calls import Call, Runner, parse_call
from patchperf.study.derivation import Underivable
from patchperf.study.instance import Instance

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
    Django's are turned into labels below tests/. Raises Underivable where the row has no command and its repository is
    none of the twelve.
    """
    if instance.test_commands:
        return instance.test_commands
    command = NATIVE_COMMANDS_OF_VERSIONS.get((instance.repo, instance.version), NATIVE_COMMANDS.get(instance.repo))
    if command is None:
        raise Underivable(
            f"{instance.instance_id}: no test command in the row and none known for {instance.repo}; "
            "use a file with eval_script or test_cmds"
        )
    files = [file for file in patched_files(instance.test_patch) if not file.endswith(_NO_TEST_FILE)]
    if instance.repo == "django/django":
        files = [file.removesuffix(".py").removeprefix("tests/").replace("/", ".") for file in files]
    return (" ".join([command, shlex.join(files)]).strip(),)


def runner_of(instance: Instance) -> Runner:
    """The runner that the native command calls; tox counts as pytest, which it wraps in this benchmark.

    Raises Underivable where the command is no plain call of a known runner, or calls several kinds.
    """
    commands = native_commands(instance)
    runners: set[Runner] = {"pytest" if s.call.runner == "tox" else s.call.runner for s in steps(commands)[0]}
    if len(runners) != 1:
        what = "several runners" if runners else "no plain call of a known test runner"
        raise Underivable(f"{instance.instance_id}: the native command has {what}", commands)
    return runners.pop()


IMAGE_ROOT = "/testbed"
"""Where a tree lies in the benchmarks' images."""

_NAMES_RUNNER = re.compile(r"(?<![\w.-])(?:pytest|py\.test|tox|unittest|nosetests|runtests\.py|bin/test)(?![\w.-])")
_RUNS_NONE = re.compile(
    r"(?:\.|apt|apt-get|cat|cp|echo|export|ls|mkdir|mv|rm|sed|source|which"
    r"|(?:python[\d.]* -m |uv )?pip3? (?:install|uninstall|show|list|freeze))(?: |$)"
)


def runs_tests(line: str) -> bool:
    """Whether a shell line seems to call a test runner, plain or not."""
    parts = shell.simple_commands(line)
    return bool(_NAMES_RUNNER.search(line)) if parts is None else any(_runs_tests(part) for part in parts)


def _runs_tests(part: shell.Simple) -> bool:
    return bool(_NAMES_RUNNER.search(part.words)) and not _RUNS_NONE.match(part.words)


@dataclass(frozen=True)
class Step:
    """A call of a test runner among the native commands.

    ``before`` are the shell lines that come first, without other calls of runners; ``directory`` is where the call
    runs, relative to the tree, None where a ``cd`` before it is not understood.
    """

    call: Call
    before: tuple[str, ...] = ()
    directory: str | None = "."


def steps(commands: Iterable[str]) -> tuple[list[Step], list[str]]:
    """The calls of test runners in native commands, which share one shell, and those commands not understood.

    A pipe, redirections and ``|| true`` after a call only say what becomes of its output and are left out. A call that
    reads from a pipe or a file, or runs only if another command fails, is not understood.
    """
    found: list[Step] = []
    unknown: list[str] = []
    before: list[str] = []
    directory: str | None = "."
    for command in commands:
        parts = shell.simple_commands(command)
        if parts is None or any(_runs_tests(part) and _plain_call(part) is None for part in parts):
            unknown += [command] if runs_tests(command) else []
            before.append(command)
            directory = None if re.search(r"\b(?:cd|pushd|popd)\b", command) else directory
            continue
        kept: list[shell.Simple] = []
        behind_call = False
        for part in parts:
            call = _plain_call(part) if _runs_tests(part) else None
            behind_call = call is not None or (behind_call and part.link in ("|", "||"))
            if call is not None:
                found.append(Step(call, (*before, *([shell.joined(kept)] if kept else ())), directory))
            elif not behind_call:
                kept.append(part)
                directory = _entered(directory, part)
        before += [shell.joined(kept)] if kept else []
    return found, unknown


def _plain_call(part: shell.Simple) -> Call | None:
    return None if part.reads or part.link == "||" else parse_call(part.words)


def _entered(directory: str | None, part: shell.Simple) -> str | None:
    """The directory after a command, relative to the tree: None where that cannot be told."""
    if not re.match(r"(?:cd|pushd|popd)\b", part.words):
        return directory
    goal = re.fullmatch(rf"cd (?:{IMAGE_ROOT}(?P<below>(?:/[\w./-]*)?)|(?!-$)(?P<relative>[\w.-][\w./-]*))", part.words)
    if goal is None or part.reads or part.link == "||" or (directory is None and goal["below"] is None):
        return None
    start = directory if goal["below"] is None else "."
    entered = posixpath.normpath(f"{start}/{goal['below'] or goal['relative'] or ''}")
    return None if entered.split("/")[0] == ".." else entered
