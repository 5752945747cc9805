"""The command lines of an instance: its native command for whole files, and the same narrowed to one test."""

from __future__ import annotations

import itertools
import posixpath
import re
import shlex
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from patchperf.study import native, plugins, pytest_settings, shell, tox
from patchperf.study.calls import MANAGERS, Call, Program, discovery, parse_call, posargs, split_arguments
from patchperf.study.derivation import Underivable
from patchperf.study.identifiers import Target
from patchperf.study.instance import Instance
from patchperf.study.native import Step


class ShellCommand(BaseModel):
    """A command line for the root of a tree, and the variables that belong to it (to add to those of the sandbox).

    A program with a slash in it is relative to the tree, any other is found on PATH.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    argv: tuple[str, ...]
    environment: dict[str, str] = {}


def suite_command(instance: Instance, tree: Path, executables: Collection[str]) -> ShellCommand:
    """The native command for whole test files, in a tree with the test patch applied.

    ``executables`` are the programs that the environment brings. What is absent there is replaced: tox by what it would
    run, pytest by ``python -m pytest``, a manager of environments (``poetry run``) by nothing, since the environment is
    the one it would choose.
    Several commands, and those that need a shell, go to bash: each is run, whatever became of the one before, and the
    exit code is that of the last test runner that failed, else 0.
    """
    lines = _lines(instance, tree, executables)
    if len(lines) == 1 and (call := parse_call(lines[0])) is not None:
        return _direct(call)
    return _script(lines)


def single_point_command(instance: Instance, target: Target, tree: Path, executables: Collection[str]) -> ShellCommand:
    """The native command narrowed to one test: same runner, same options, the test in place of files or labels.

    Commands before the runner's (a cd, an export) stay, what comes after it is left out. Of pytest's options those go
    that hide the number of tests or hand the test to another process, and coverage is not measured, neither by
    ``coverage run`` nor by pytest's plugin, since its tracer would be timed with the test. What draws at random is off
    or has a fixed seed: pytest's plugins (``plugins.steady_options``) and sympy's runner; the hash seed is left to
    whoever runs the command. sympy's ``-k`` selects every test of the file whose name contains the target's:
    ``instrument.hide`` takes the others away.
    Raises Underivable where the native command has no one call to narrow.
    """
    return _narrowed(instance, target, tree, executables, _single)


def collect_command(instance: Instance, scope: Target, tree: Path, executables: Collection[str]) -> ShellCommand:
    """pytest's list of the node ids of one test function, one a line, under the options of the native command."""
    return _narrowed(instance, scope, tree, executables, _collected)


_Narrow = Callable[[Step, Target], tuple[str, ...]]


def _narrowed(
    instance: Instance, target: Target, tree: Path, executables: Collection[str], narrow: _Narrow
) -> ShellCommand:
    lines = _lines(instance, tree, executables)
    steps, unknown = native.steps(lines)
    if unknown:
        raise Underivable(f"{instance.instance_id}: only a plain call of a test runner can be narrowed", unknown)
    serving = [step for step in steps if _serves(step.call, target)]
    if len(serving) > 1:
        serving = [step for step in serving if _covers(step, target, tree)]
    if len(serving) != 1:
        raise Underivable(f"{instance.instance_id}: not one call of {target.runner} to narrow", lines)
    (step,) = serving
    environment = {name: value for name, value in step.call.environment.items() if name != "PYTHONHASHSEED"}
    call = _untraced(replace(step.call, arguments=narrow(step, target), environment=environment))
    if target.runner == "pytest":
        *options, selector = call.arguments
        call = replace(
            call, arguments=(*options, *_additions(call, pytest_settings.added(tree, target.file)), selector)
        )
    return _script([*step.before, str(call)]) if step.before else _direct(call)


def _additions(call: Call, settings: pytest_settings.Added) -> tuple[str, ...]:
    """Options for pytest that undo what its own and the tree's options ask for beside the one test."""
    given = posargs(call.arguments) if call.runner == "tox" else call.arguments
    variable = call.environment.get("PYTEST_ADDOPTS", "")
    try:
        words = (*given[:-1], *settings.options, *shlex.split(variable))
    except ValueError as error:
        raise Underivable(f"PYTEST_ADDOPTS={variable}: {error}") from None
    covered = any(word == "--cov" or word.startswith("--cov=") for word in words)
    return (*plugins.steady_options(words, settings.required), *(("--no-cov",) if covered else ()))


def _lines(instance: Instance, tree: Path, executables: Collection[str]) -> list[str]:
    """The native commands as the environment can run them."""
    lines: list[str] = []
    for line in native.native_commands(instance):
        call = parse_call(line)
        if call is not None and call.runner == "tox" and "tox" not in executables:
            lines += [_runnable(inner, executables) for inner in tox.expand(call, tree)]
        else:
            lines.append(_runnable(line, executables))
    return lines


def _runnable(line: str, executables: Collection[str]) -> str:
    """The line with each of its calls as the environment can run it; the line itself where that changes nothing."""
    parts = shell.simple_commands(line) or ()
    calls = [parse_call(part.words) for part in parts]
    known = [call and _available(call, executables) for call in calls]
    if known == calls:
        return line
    return shell.joined(
        [replace(part, words=str(call)) if call else part for part, call in zip(parts, known, strict=True)]
    )


def _available(call: Call, executables: Collection[str]) -> Call:
    wrappers = tuple(words for words in call.wrappers if words[0] not in MANAGERS or words[0] in executables)
    program, arguments = call.program, call.arguments
    if program == ("pytest",) and "pytest" not in executables and "python" in executables:
        program = ("python", "-m", "pytest")
    if program[0] == "-m" and not wrappers:
        program = ("python", *program)
    if call.runner == "tox":
        inner = posargs(arguments)
        words = arguments if "--" in arguments else (*arguments, "--")
        arguments = (*words[: len(words) - len(inner)], *tox.report_all(inner))
    return replace(call, wrappers=wrappers, program=program, arguments=arguments)


def _direct(call: Call) -> ShellCommand:
    return ShellCommand(argv=call.words, environment=call.environment)


def _script(lines: Sequence[str]) -> ShellCommand:
    """A bash script of all lines: those that run tests decide its exit code, or all if none is known to."""
    deciding = [line for line in lines if native.runs_tests(line)] or list(lines)
    parts = ["set -o pipefail", "patchperf_status=0", "patchperf_root=$PWD"]
    parts += [f"{{ {_rooted(line)}\n}} || patchperf_status=$?" if line in deciding else _rooted(line) for line in lines]
    return ShellCommand(argv=("bash", "-c", "\n".join([*parts, "exit $patchperf_status"])))


def _rooted(line: str) -> str:
    """The line with the tree's own place instead of that in the benchmark's images."""
    return re.sub(rf"\bcd {native.IMAGE_ROOT}(?=[/\s;&|]|$)", 'cd "$patchperf_root"', line)


# ------------------------------------------------------------------------------------------------------ one test only


def _serves(call: Call, target: Target) -> bool:
    return call.runner == target.runner or (call.runner == "tox" and target.runner == "pytest")


def _covers(step: Step, target: Target, tree: Path) -> bool:
    """Whether a call names the target's file, a folder around it, a label that the target's begins with, or nothing."""
    arguments = posargs(step.call.arguments) if step.call.runner == "tox" else step.call.arguments
    _, named = split_arguments(target.runner, arguments)
    if target.runner in ("django", "unittest"):
        return not named or any(f"{target.selector}.".startswith(f"{label}.") for label in named)

    def located(word: str) -> str:
        return posixpath.normpath(posixpath.join(step.directory or ".", word.partition("::")[0]))

    file = located(target.selector) if target.runner == "pytest" else target.file
    covers = not named or any(located(word) in (".", file) or file.startswith(f"{located(word)}/") for word in named)
    return covers and (tree / file).is_file()


def _single(step: Step, target: Target) -> tuple[str, ...]:
    return _NARROW[step.call.runner](step, target)


def _collected(step: Step, scope: Target) -> tuple[str, ...]:
    *options, selector = _single(step, scope)
    return (*options, "--collect-only", "--verbosity=-1", selector)


def _untraced(call: Call) -> Call:
    """The call without ``coverage run`` around it, which runs its program in the interpreter it finds on PATH."""
    wrappers = tuple(words for words in call.wrappers if words[0] != "coverage")
    if wrappers == call.wrappers:
        return call
    return replace(call, wrappers=wrappers, program=("python", *call.program))


_UNWANTED = re.compile(
    r"-q+|--quiet|(?:-n|--numprocesses|--maxprocesses|--dist|--tx)(?:=.*)?|-n\w+|--cov(?:[-=].*)?|--no-cov(?:-.*)?"
)


def _narrow_pytest(step: Step, target: Target) -> tuple[str, ...]:
    options, _ = split_arguments("pytest", step.call.arguments)
    wanted = [option for option in options if not _UNWANTED.fullmatch(option[0])]
    return (*itertools.chain(*wanted), target.selector)


def _narrow_tox(step: Step, target: Target) -> tuple[str, ...]:
    arguments = step.call.arguments
    inner = posargs(arguments)
    narrowed = _narrow_pytest(replace(step, call=replace(step.call, arguments=inner)), target)
    return (*arguments[: len(arguments) - len(inner)], *narrowed)


def _narrow_django(step: Step, target: Target) -> tuple[str, ...]:
    options, _ = split_arguments("django", step.call.arguments)
    return (*itertools.chain(*options), target.selector)


def _narrow_sympy(step: Step, target: Target) -> tuple[str, ...]:
    options, _ = split_arguments("sympy", step.call.arguments)
    if any(option[0].startswith("-k") for option in options):
        raise Underivable("the native command selects tests by a keyword of its own", step.call.arguments)
    file = posixpath.relpath(target.file, step.directory or ".")
    seed = () if any(option[0].startswith("--seed") for option in options) else ("--seed", "0")
    return (*itertools.chain(*options), *seed, file, "-k", target.selector)


_DISCOVERS = re.compile(r"-[pst].*|--(?:pattern|start-directory|top-level-directory)(?:=.*)?")


def _narrow_unittest(step: Step, target: Target) -> tuple[str, ...]:
    """The test's dotted name; discovery from another folder keeps it, with a pattern that fits the whole name."""
    arguments = step.call.arguments
    options, _ = split_arguments("unittest", arguments)
    if discovery(arguments) in (None, "."):
        kept = [option for option in options if not _DISCOVERS.fullmatch(option[0])]
        return (*itertools.chain(*kept), target.selector)
    if any(option[0].startswith("-k") for option in options):
        raise Underivable("the native command selects tests by a keyword of its own", arguments)
    return (*arguments, "-k", f"*{target.selector}")


_NARROW: dict[Program, Callable[[Step, Target], tuple[str, ...]]] = {
    "pytest": _narrow_pytest,
    "tox": _narrow_tox,
    "django": _narrow_django,
    "sympy": _narrow_sympy,
    "unittest": _narrow_unittest,
}
