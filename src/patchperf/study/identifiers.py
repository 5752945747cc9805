"""From a benchmark's test identifier to the one function it names, and to what the runner wants to select it."""

from __future__ import annotations

import ast
import contextlib
import itertools
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from patchperf.study import calls, definitions, native
from patchperf.study.calls import Runner
from patchperf.study.derivation import Underivable
from patchperf.study.inheritance import Place, Sources
from patchperf.study.instance import Instance
from patchperf.study.logs import is_whole_name
from patchperf.study.native import Step, runner_of

__all__ = ["Target", "Undecided", "find_target", "runner_of"]


@dataclass(frozen=True)
class Target:
    """One test: the function that is its body, and how its runner selects it.

    ``file`` (relative to the tree) and ``qualname`` (e.g. "Class.test_x") say where the function is defined;
    ``selector`` is a node id for pytest, a dotted label for Django and unittest, the bare name for sympy. For an
    inherited test the selector names the class that runs it, file and qualname the one that defines it.
    """

    runner: Runner
    file: str
    qualname: str
    selector: str


class Undecided(Underivable):
    """An identifier that the tree alone does not settle; ``listing`` has the runner do it.

    ``scope`` is the whole test function, for pytest, where the identifier stands for one of its parameter sets.
    """

    def __init__(self, reason: str, tried: Iterable[str] = (), scope: Target | None = None) -> None:
        self.scope = scope
        super().__init__(reason, tried)


def find_target(instance: Instance, test_id: str, tree: Path) -> Target:
    """The test that an identifier names, in a tree with the test patch applied.

    Raises Underivable, with what was tried, where the identifier does not lead to exactly one function, and Undecided
    where it may still do so once the runner has listed its tests.
    """
    return _FINDERS[runner_of(instance)](instance, test_id, tree)


def _steps(instance: Instance) -> list[Step]:
    return native.steps(native.native_commands(instance))[0]


def _directories(instance: Instance) -> list[str]:
    """Where the native command calls its runner, relative to the tree."""
    found = dict.fromkeys(step.directory for step in _steps(instance))
    if None in found:
        raise Underivable(f"{instance.instance_id}: where the native command runs its tests cannot be told")
    return [directory for directory in found if directory is not None]


def _below(*parts: str) -> str:
    return posixpath.normpath(posixpath.join(*parts))


# ------------------------------------------------------------------------------------------------------------- pytest


def _find_pytest(instance: Instance, test_id: str, tree: Path) -> Target:
    """``file.py::Class::test_x[param]``, the file relative to where pytest is called."""
    function, bracket, parameters = test_id.partition("[")
    file, *names = [part for part in function.split("::") if part != "()"]
    function = "::".join([file, *names])
    if not names or not all(name.isidentifier() for name in names):
        raise Underivable(f"{test_id}: not the node id of a test function")
    folders = _directories(instance)
    files = [_below(folder, file) for folder in folders]
    there = [path for path in files if (tree / path).is_file()] or files
    if len(there) != 1:
        raise Underivable(f"{test_id}: pytest is called in several folders", folders)
    place = _test_function(_sources(tree, there[0], *folders), there[0], names)
    if bracket and not is_whole_name(test_id, instance):
        scope = Target("pytest", place.file, place.name, function)
        raise Undecided(f"{test_id}: no whole node id, may stand for several tests", scope=scope)
    return Target("pytest", place.file, place.name, f"{function}{bracket}{parameters}")


def _sources(tree: Path, file: str, *roots: str) -> Sources:
    """The files of a tree as a test file sees them: also from the first folder above it that is no package."""
    folder = posixpath.dirname(file)
    while folder and (tree / folder / "__init__.py").is_file():
        folder = posixpath.dirname(folder)
    return Sources(tree, tuple(dict.fromkeys([*roots, folder or ".", ".", "src"])))


def _test_function(sources: Sources, file: str, names: Sequence[str]) -> Place:
    """Where the function is defined that a file runs under a name, or under a class's name and its own."""
    *around, name = names
    if not around:
        place = sources.locate(file, name)
        if place is None or not definitions.is_function(sources.node(place)):
            raise Underivable(f"{file}: no function {name} at module level")
        return place
    class_name = ".".join(around)
    owner = sources.locate(file, class_name)
    if owner is None or not isinstance(sources.node(owner), ast.ClassDef):
        raise Underivable(f"{file}: no class {class_name}")
    method = sources.method(owner, name)
    if method is None:
        elsewhere = sources.foreign_bases(owner)
        raise Underivable(f"{file}: {class_name} and its bases in the tree define no method {name}", elsewhere)
    return method


# ------------------------------------------------------------------------------------------------ Django and unittest

_UNITTEST_ID = re.compile(r"(?P<method>[\w.]+) \((?P<where>[\w.]+)\)(?: \[.*\])?(?: \(.*\))?", re.DOTALL)


def _find_unittest(instance: Instance, test_id: str, tree: Path) -> Target:
    """``test_x (module.Class)``, from Python 3.11 on ``test_x (module.Class.test_x)``, or a docstring's first line.

    What unittest prints behind it for a subtest is left out: a subtest cannot be run alone. Modules are relative to the
    folder of Django's runtests.py, or to that of unittest's discovery.
    """
    found = _UNITTEST_ID.fullmatch(test_id)
    if found is None:
        return _find_docstring(instance, test_id, tree)
    method, where = found["method"], found["where"].split(".")
    if where[-1] == "_FailedTest":
        raise Underivable(f"{test_id}: stands for a module that could not be imported, not for a test")
    if not method.startswith("test"):
        raise Underivable(f"{test_id}: {method} is not a test method")
    readings = [where[:-1], where] if where[-1] == method else [where]
    tried: list[str] = []
    for path, root in itertools.product(readings, _module_roots(instance)):
        for at in range(len(path) - 1, 0, -1):
            file = _module_file(tree, root, path[:at])
            if file is None:
                tried.append(_below(root, *path[:at]))
                continue
            sources = _sources(tree, file, root)
            if sources.locate(file, ".".join(path[at:])) is not None:
                place = _test_function(sources, file, [*path[at:], method])
                return Target(runner_of(instance), place.file, place.name, ".".join([*path, method]))
            tried.append(f"class {'.'.join(path[at:])} in {file}")
    raise Underivable(f"{test_id}: no such class", tried)


def _module_roots(instance: Instance) -> list[str]:
    """The folders that the modules of the native command are relative to."""
    _directories(instance)
    roots = []
    for step in _steps(instance):
        folder = step.directory or "."
        if step.call.runner == "django":
            roots.append(_below(folder, posixpath.dirname(step.call.program[-1])))
        else:
            roots.append(_below(folder, calls.discovery(step.call.arguments) or "."))
    return list(dict.fromkeys(roots))


def _module_file(tree: Path, root: str, parts: Sequence[str]) -> str | None:
    stem = _below(root, *parts)
    return next((file for file in (f"{stem}.py", f"{stem}/__init__.py") if (tree / file).is_file()), None)


def _find_docstring(instance: Instance, test_id: str, tree: Path) -> Target:
    """A test that the runner printed by the first line of its docstring, in the modules that the native command runs.

    Of several tests with that line the last one printed counts in the benchmark, which only the runner can tell.
    """
    modules = [(root, file) for root in _module_roots(instance) for file in _label_files(instance, tree, root)]
    files = dict.fromkeys(modules)
    found = [target for root, file in files for target in _documented(runner_of(instance), test_id, tree, root, file)]
    if len(found) != 1:
        what = "is the first line of several tests' docstrings" if found else "is no test and no docstring's first line"
        raise Undecided(f"{test_id!r} {what}", [target.selector for target in found] or [file for _, file in files])
    return found[0]


def _label_files(instance: Instance, tree: Path, root: str) -> Iterator[str]:
    """The modules of the labels in the native command; of a package also those that are named ``test*.py``."""
    for step in _steps(instance):
        for label in calls.split_arguments(runner_of(instance), step.call.arguments)[1]:
            file = _module_file(tree, root, label.split("."))
            if file is not None:
                yield file
            if file is None or file.endswith("/__init__.py"):
                folder = tree / _below(root, *label.split("."))
                yield from sorted(str(path.relative_to(tree)) for path in folder.rglob("test*.py"))


def _documented(runner: Runner, line: str, tree: Path, root: str, file: str) -> Iterator[Target]:
    """The tests of a file with that first docstring line, one per class that runs them."""
    sources = _sources(tree, file, root)
    label = posixpath.relpath(file, root).removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    for owner in [Place(file, name) for name in definitions.class_names(sources.module(file).body)]:
        for name in _test_methods(sources, owner):
            with contextlib.suppress(Underivable):
                place = sources.method(owner, name)
                if place is not None and line in definitions.first_lines(sources.node(place)):
                    yield Target(runner, place.file, place.name, f"{label}.{owner.name}.{name}")


def _test_methods(sources: Sources, owner: Place) -> list[str]:
    """The names of a class's test methods, none where it has no base from outside the tree, as every TestCase has."""
    with contextlib.suppress(Underivable):
        if sources.foreign_bases(owner):
            return [name for name in sources.method_names(owner) if name.startswith("test")]
    return []


# -------------------------------------------------------------------------------------------------------------- sympy


def _find_sympy(instance: Instance, test_id: str, tree: Path) -> Target:
    """A bare name: the function in the files of the native command.

    Of several files that define it, the one that is run last counts in the benchmark: its line replaces the others'.
    """
    if not test_id.isidentifier():
        raise Underivable(f"{test_id}: not a function's name")
    files = [
        _below(step.directory or ".", file)
        for step in _steps(instance)
        for file in calls.split_arguments("sympy", step.call.arguments)[1]
    ]
    files = [file for file in dict.fromkeys(files) if (tree / file).is_file()]
    holding = [file for file in files if _defines(tree, file, test_id)]
    if len(holding) > 1:
        raise Undecided(f"{test_id} is defined in several files", holding)
    if not holding:
        raise Underivable(f"{test_id} is not defined", files)
    return Target("sympy", holding[0], test_id, test_id)


def _defines(tree: Path, file: str, name: str) -> bool:
    node = definitions.find(definitions.parse_file(tree, file), name, file)
    return definitions.is_function(node)


_FINDERS: dict[Runner, Callable[[Instance, str, Path], Target]] = {
    "pytest": _find_pytest,
    "django": _find_unittest,
    "sympy": _find_sympy,
    "unittest": _find_unittest,
}
