"""The command lines of an instance: its native command for whole files, and the same narrowed to one test."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from patchperf.study import native, tox
from patchperf.study.derivation import Underivable
from patchperf.study.identifiers import Target
from patchperf.study.instance import Instance


class ShellCommand(BaseModel):
    """A command line for the root of a tree, and the variables that belong to it (to add to those of the sandbox).

    A program with a slash in it is relative to the tree, any other is found on PATH.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    argv: tuple[str, ...]
    environment: dict[str, str] = {}


def suite_command(instance: Instance, tree: Path, executables: Collection[str]) -> ShellCommand:
    """The native command for whole test files, in a tree with the test patch applied.

    ``executables`` are the programs that the environment brings: tox, where absent, is replaced by what it would run,
    and pytest by ``python -m pytest``.
    Several commands, and those that need a shell, go to bash: each is run, whatever became of the one before, and the
    exit code is that of the last test runner that failed, else 0.
    """
    lines = _lines(instance, tree, executables)
    if len(lines) == 1 and (call := native.parse_call(lines[0])) is not None:
        return _direct(call)
    return _script(lines)


def single_point_command(instance: Instance, target: Target, tree: Path, executables: Collection[str]) -> ShellCommand:
    """The native command narrowed to one test: same runner, same options, the test in place of files or labels.

    Commands before the runner's (a cd, an export) stay. sympy's ``-k`` selects every test of the file whose name
    contains the target's: ``instrument.hide`` takes the others away. Raises Underivable where the native command has no
    one call to narrow.
    """
    lines = _lines(instance, tree, executables)
    calls = [native.parse_call(line) for line in lines]
    unknown = [line for line, call in zip(lines, calls, strict=True) if call is None and native.runs_tests(line)]
    if unknown:
        raise Underivable(f"{instance.instance_id}: only a plain call of a test runner can be narrowed", unknown)
    serving = [(at, call) for at, call in enumerate(calls) if call and _serves(call, target)]
    if len(serving) > 1:
        serving = [(at, call) for at, call in serving if _names(call, target)]
    if len(serving) != 1:
        raise Underivable(f"{instance.instance_id}: not one call of {target.runner} to narrow", lines)
    at, call = serving[0]
    narrowed = replace(call, arguments=_NARROW[call.runner](call.arguments, target))
    before = [line for line, earlier in zip(lines[:at], calls, strict=False) if earlier is None]
    return _script([*before, str(narrowed)]) if before else _direct(narrowed)


def _lines(instance: Instance, tree: Path, executables: Collection[str]) -> list[str]:
    """The native commands as the environment can run them."""
    lines: list[str] = []
    for line in native.native_commands(instance):
        call = native.parse_call(line)
        if call is None:
            lines.append(line)
        elif call.runner == "tox" and "tox" not in executables:
            lines += [_as_module(inner, executables) for inner in tox.expand(call, tree)]
        elif call.runner == "tox":
            inner = native.posargs(call.arguments)
            words = call.arguments if "--" in call.arguments else (*call.arguments, "--")
            head = words[: len(words) - len(inner)]
            lines.append(str(replace(call, arguments=(*head, *tox.report_all(inner)))))
        else:
            lines.append(_as_module(line, executables))
    return lines


def _as_module(line: str, executables: Collection[str]) -> str:
    """The line; ``pytest`` becomes ``python -m pytest`` where only Python is there, as when pytest itself is tested."""
    call = native.parse_call(line)
    if call is None or call.program != ("pytest",) or "pytest" in executables or "python" not in executables:
        return line
    return str(replace(call, program=("python", "-m", "pytest")))


def _direct(call: native.Call) -> ShellCommand:
    return ShellCommand(argv=(*call.program, *call.arguments), environment=call.environment)


def _script(lines: Sequence[str]) -> ShellCommand:
    """A bash script of all lines: those that run tests decide its exit code, or all if none is known to."""
    deciding = [line for line in lines if native.runs_tests(line)] or list(lines)
    parts = ["set -o pipefail", "patchperf_status=0"]
    parts += [f"{{ {line}\n}} || patchperf_status=$?" if line in deciding else line for line in lines]
    return ShellCommand(argv=("bash", "-c", "\n".join([*parts, "exit $patchperf_status"])))


# ------------------------------------------------------------------------------------------------------ one test only


def _serves(call: native.Call, target: Target) -> bool:
    return call.runner == target.runner or (call.runner == "tox" and target.runner == "pytest")


def _names(call: native.Call, target: Target) -> bool:
    """Whether a call names the target's file, or a label that the target's begins with."""
    return any(
        word.partition("::")[0] == target.file or f"{target.selector}.".startswith(f"{word}.")
        for word in call.arguments
    )


def _narrow_pytest(arguments: tuple[str, ...], target: Target) -> tuple[str, ...]:
    options, _ = native.split_arguments("pytest", arguments)
    return (*options, target.selector)


def _narrow_tox(arguments: tuple[str, ...], target: Target) -> tuple[str, ...]:
    inner = native.posargs(arguments)
    return (*arguments[: len(arguments) - len(inner)], *_narrow_pytest(inner, target))


def _narrow_django(arguments: tuple[str, ...], target: Target) -> tuple[str, ...]:
    options, _ = native.split_arguments("django", arguments)
    return (*options, target.selector)


def _narrow_sympy(arguments: tuple[str, ...], target: Target) -> tuple[str, ...]:
    options, _ = native.split_arguments("sympy", arguments)
    if any(option.startswith("-k") for option in options):
        raise Underivable("the native command selects tests by a keyword of its own", options)
    return (*options, target.file, "-k", target.selector)


def _narrow_unittest(arguments: tuple[str, ...], target: Target) -> tuple[str, ...]:
    options, positionals = native.split_arguments("unittest", arguments)
    if positionals[:1] == ("discover",) or not positionals:
        raise Underivable("unittest's discovery cannot be narrowed to one test", arguments)
    return (*options, target.selector)


_NARROW: dict[native.Program, Callable[[tuple[str, ...], Target], tuple[str, ...]]] = {
    "pytest": _narrow_pytest,
    "tox": _narrow_tox,
    "django": _narrow_django,
    "sympy": _narrow_sympy,
    "unittest": _narrow_unittest,
}
