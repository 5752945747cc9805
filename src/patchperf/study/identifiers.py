"""From a benchmark's test identifier to the one function it names, and to what the runner wants to select it."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchSet

from patchperf.study import definitions, native
from patchperf.study.derivation import Underivable
from patchperf.study.instance import Instance
from patchperf.study.native import Runner

__all__ = ["Runner", "Target", "Underivable", "find_target", "runner_of", "test_files"]


@dataclass(frozen=True)
class Target:
    """One test: the function that is its body, and how its runner selects it.

    ``file`` (relative to the tree) and ``qualname`` (e.g. "Class.test_x") say where the function is defined;
    ``selector`` is a node id for pytest, a dotted label for Django and unittest, the bare name for sympy. For an
    inherited test the selector names the class that runs it, the qualname the one that defines it.
    """

    runner: Runner
    file: str
    qualname: str
    selector: str


def runner_of(instance: Instance) -> Runner:
    """The runner that the native command calls; tox counts as pytest, which it wraps in this benchmark.

    Raises Underivable where the command is no plain call of a known runner, or calls several kinds.
    """
    commands = native.native_commands(instance)
    calls = [call for call in map(native.parse_call, commands) if call is not None]
    runners: set[Runner] = {"pytest" if call.runner == "tox" else call.runner for call in calls}
    if len(runners) != 1:
        what = "several runners" if runners else "no plain call of a known test runner"
        raise Underivable(f"{instance.instance_id}: the native command has {what}", commands)
    return runners.pop()


def test_files(instance: Instance) -> tuple[str, ...]:
    """The files of the test patch in its order, then those that only the native command names, relative to the tree.

    Dotted labels of Django and unittest name no file without a tree; those that are not in the test patch are left out.
    """
    words = [word.partition("::")[0] for call in _calls(instance) for word in call.arguments if word[0:1] != "-"]
    files = [posixpath.normpath(word) for word in words if word.endswith(".py")]
    return tuple(dict.fromkeys([*native.patched_files(instance.test_patch), *files]))


test_files.__test__ = False  # type: ignore[attr-defined]


def find_target(instance: Instance, test_id: str, tree: Path) -> Target:
    """The test that an identifier names, in a tree with the test patch applied.

    Raises Underivable, with what was tried, where the identifier does not lead to exactly one function.
    """
    return _FINDERS[runner_of(instance)](instance, test_id, tree)


def _calls(instance: Instance) -> list[native.Call]:
    return [call for call in map(native.parse_call, native.native_commands(instance)) if call is not None]


def _named(instance: Instance) -> list[str]:
    """The files, labels or node ids in the native command."""
    words: list[str] = []
    for call in _calls(instance):
        if call.runner == "tox":
            words += native.split_arguments("pytest", native.posargs(call.arguments))[1]
        else:
            words += native.split_arguments(call.runner, call.arguments)[1]
    return words


# ------------------------------------------------------------------------------------------------------------- pytest


def _find_pytest(instance: Instance, test_id: str, tree: Path) -> Target:
    """``file.py::Class::test_x[param]``; an id cut at a space is taken if its function has one set of parameters."""
    file, separator, inside = test_id.partition("::")
    names, bracket, _ = inside.partition("[")
    parts = [part for part in names.split("::") if part != "()"]
    if not separator or not all(part.isidentifier() for part in parts):
        raise Underivable(f"{test_id}: not a pytest node id")
    module = definitions.parse_file(tree, file)
    selector = test_id
    qualname, node = _method(module, parts[:-1], parts[-1], file)
    if bracket and test_id.count("[") > test_id.count("]"):
        if _parameter_sets(module, node, parts[:-1]) != 1:
            raise Underivable(f"{test_id}: cut at a space, and {qualname} is not known to have one set of parameters")
        selector = test_id.partition("[")[0]
    return Target("pytest", file, qualname, selector)


def _method(module: ast.Module, class_names: list[str], name: str, file: str) -> tuple[str, definitions.Function]:
    """Qualname and node of a test function, looked up along its class's bases in the file."""
    if not class_names:
        node = definitions.find(module, name, file)
        if node is None or not definitions.is_function(node):
            raise Underivable(f"{file}: no function {name} at module level")
        return name, node
    class_name = ".".join(class_names)
    if not isinstance(definitions.find(module, class_name, file), ast.ClassDef):
        raise Underivable(f"{file}: no class {class_name}")
    method = definitions.find_method(module, class_name, name, file)
    if method is None:
        foreign = definitions.foreign_bases(module, class_name, file)
        raise Underivable(f"{file}: {class_name} and its bases in the file have no method {name}", foreign)
    return f"{method.owner}.{name}", method.node


def _parameter_sets(module: ast.Module, node: definitions.Function, class_names: list[str]) -> int | None:
    """How many tests pytest makes of a function, where literal parametrize lists on itself alone say so."""
    holders = [definitions.find(module, ".".join(class_names[: n + 1]), "") for n in range(len(class_names))]
    around = [decorator for holder in holders if holder is not None for decorator in holder.decorator_list]
    if any("parametrize" in ast.unparse(decorator) for decorator in around):
        return None
    count = 1
    for decorator in node.decorator_list:
        if "parametrize" not in ast.unparse(decorator):
            continue
        values = decorator.args[1] if isinstance(decorator, ast.Call) and len(decorator.args) > 1 else None
        if not isinstance(values, ast.List | ast.Tuple) or any(isinstance(v, ast.Starred) for v in values.elts):
            return None
        count *= len(values.elts)
    return count


# ------------------------------------------------------------------------------------------------ Django and unittest

_UNITTEST_ID = re.compile(r"(?P<method>\w+) \((?P<where>[\w.]+)\)")


def _find_django(instance: Instance, test_id: str, tree: Path) -> Target:
    """Labels are relative to the folder of runtests.py."""
    folders = {posixpath.normpath(posixpath.dirname(call.program[-1])) for call in _calls(instance)}
    if len(folders) != 1:
        raise Underivable(f"{instance.instance_id}: runtests.py of several folders", folders)
    return _find_unittest_id("django", instance, test_id, tree, folders.pop())


def _find_unittest(instance: Instance, test_id: str, tree: Path) -> Target:
    """Modules are relative to the tree's root."""
    return _find_unittest_id("unittest", instance, test_id, tree, ".")


def _find_unittest_id(runner: Runner, instance: Instance, test_id: str, tree: Path, root: str) -> Target:
    match = _UNITTEST_ID.fullmatch(test_id)
    if match is None:
        return _find_docstring(runner, instance, test_id, tree, root)
    method = match["method"]
    if not method.startswith("test"):
        raise Underivable(f"{test_id}: {method} is not a test method")
    where = match["where"].split(".")
    tried: list[str] = []
    for path in [where[:-1], where] if where[-1] == method else [where]:
        for at in range(len(path) - 1, 0, -1):
            file = _module_file(tree, root, path[:at])
            if file is None:
                tried.append(".".join(path[:at]))
                continue
            module = definitions.parse_file(tree, file)
            if not isinstance(definitions.find(module, ".".join(path[at:]), file), ast.ClassDef):
                tried.append(f"class {'.'.join(path[at:])} in {file}")
                continue
            qualname, _ = _method(module, path[at:], method, file)
            return Target(runner, file, qualname, ".".join([*path, method]))
    raise Underivable(f"{test_id}: no such class below {root}", tried)


def _module_file(tree: Path, root: str, parts: list[str]) -> str | None:
    stem = posixpath.normpath(posixpath.join(root, *parts))
    return next((file for file in (f"{stem}.py", f"{stem}/__init__.py") if (tree / file).is_file()), None)


def _find_docstring(runner: Runner, instance: Instance, test_id: str, tree: Path, root: str) -> Target:
    """A test that the runner printed by the first line of its docstring, in the files that the native command runs."""
    labels = [_module_file(tree, root, label.split(".")) for label in _named(instance)]
    inside = "" if root == "." else f"{root}/"
    patched = [f for f in native.patched_files(instance.test_patch) if f.startswith(inside) and f.endswith(".py")]
    files = dict.fromkeys([*(file for file in labels if file), *(file for file in patched if (tree / file).is_file())])
    found = [target for file in files for target in _documented(runner, test_id, tree, root, file)]
    if len(found) != 1:
        what = "is the first line of several tests' docstrings" if found else "is no test and no docstring's first line"
        raise Underivable(f"{test_id!r} {what}", [target.selector for target in found] or files)
    return found[0]


def _documented(runner: Runner, line: str, tree: Path, root: str, file: str) -> list[Target]:
    """The tests of a file with that first docstring line, one per class that runs them."""
    module = definitions.parse_file(tree, file)
    nodes = [node for node in ast.walk(module) if definitions.is_function(node) and node.name.startswith("test")]
    nodes = [node for node in nodes if line in definitions.first_lines(node)]
    if not nodes:
        return []
    label = posixpath.relpath(file, root).removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    targets = []
    for class_name in definitions.classes(module.body):
        if not definitions.foreign_bases(module, class_name, file):
            continue
        for node in nodes:
            method = definitions.find_method(module, class_name, node.name, file)
            if method is not None and method.node is node:
                selector = f"{label}.{class_name}.{node.name}"
                targets.append(Target(runner, file, f"{method.owner}.{node.name}", selector))
    return targets


# -------------------------------------------------------------------------------------------------------------- sympy


def _find_sympy(instance: Instance, test_id: str, tree: Path) -> Target:
    """A bare name: the function in the command's files; of several, the one that the test patch changes."""
    if not test_id.isidentifier():
        raise Underivable(f"{test_id}: not a function's name")
    files = [word for word in _named(instance) if word.endswith(".py") and (tree / word).is_file()]
    holding = []
    for file in dict.fromkeys(files):
        node = definitions.find(definitions.parse_file(tree, file), test_id, file)
        if node is not None and definitions.is_function(node):
            holding.append((file, node))
    if len(holding) > 1:
        changed = _changed_lines(instance)
        holding = [
            (file, node)
            for file, node in holding
            if any(node.lineno <= line <= (node.end_lineno or 0) for line in changed.get(file, ()))
        ] or holding
    if len(holding) != 1:
        what = "is defined in several files and the test patch does not tell which" if holding else "is not defined"
        raise Underivable(f"{test_id} {what}", [file for file, _ in holding] or files)
    return Target("sympy", holding[0][0], test_id, test_id)


def _changed_lines(instance: Instance) -> dict[str, list[int]]:
    """The lines that the test patch adds, by file, counted as they are after it."""
    try:
        patch = PatchSet(instance.test_patch)
    except UnidiffParseError as error:
        raise Underivable(f"{instance.instance_id}: test patch cannot be read: {error}") from None
    return {
        file.path: [line.target_line_no for hunk in file for line in hunk if line.is_added and line.target_line_no]
        for file in patch
    }


_FINDERS: dict[Runner, Callable[[Instance, str, Path], Target]] = {
    "pytest": _find_pytest,
    "django": _find_django,
    "sympy": _find_sympy,
    "unittest": _find_unittest,
}
