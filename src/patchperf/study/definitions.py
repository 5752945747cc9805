"""Where a test function or class is defined in a Python file: syntax only, nothing is imported or run."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

from patchperf.study.derivation import Underivable

Function = ast.FunctionDef | ast.AsyncFunctionDef


def parse_bytes(source: bytes, name: str) -> ast.Module:
    """The syntax tree of a file's content; raises Underivable where this Python's grammar does not fit it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(source, name)
        except (SyntaxError, ValueError) as error:
            line = getattr(error, "lineno", None)
            where = name if line is None else f"{name}, line {line}"
            raise Underivable(f"{where}: cannot be parsed: {getattr(error, 'msg', error)}") from None


def parse_file(tree: Path, file: str) -> ast.Module:
    """The syntax tree of a file of a tree; raises Underivable if it is not there or cannot be parsed."""
    try:
        source = (tree / file).read_bytes()
    except OSError as error:
        raise Underivable(f"{file}: {error.strerror}") from None
    return parse_bytes(source, file)


@dataclass(frozen=True)
class Binding:
    """A statement that binds a name in a scope; ``certain`` unless it stands below an if, a loop, a try or a match."""

    name: str
    statement: ast.stmt
    certain: bool


def bindings(body: Sequence[ast.stmt], certain: bool = True) -> Iterator[Binding]:
    """All bindings of a module's or class's scope in the order of the file, without those in nested scopes."""
    for statement in body:
        for name in _bound_names(statement):
            yield Binding(name, statement, certain)
        inner_certain = certain and isinstance(statement, ast.With | ast.AsyncWith)
        if not is_function(statement) and not isinstance(statement, ast.ClassDef):
            for inner in _blocks(statement):
                yield from bindings(inner, inner_certain)


def _bound_names(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield statement.name
        case ast.Import() | ast.ImportFrom():
            for alias in statement.names:
                yield alias.asname or alias.name.partition(".")[0]
        case ast.Delete():
            yield from (target.id for target in statement.targets if isinstance(target, ast.Name))
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.For() | ast.AsyncFor():
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                yield from (node.id for node in ast.walk(target) if isinstance(node, ast.Name))


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    for field in ("body", "orelse", "finalbody"):
        block = getattr(statement, field, None)
        if block:
            yield block
    for field in ("handlers", "cases"):
        for part in getattr(statement, field, ()):
            yield part.body


def possible_definitions(body: Sequence[ast.stmt], name: str) -> list[ast.stmt]:
    """The statements of which one has bound the name when the scope has run: [] never, one where it is certain.

    Later statements win; one below an if, a loop or a try may or may not have run, so those before it stay possible.
    """
    possible: list[ast.stmt] = []
    for binding in bindings(body):
        if binding.name == name:
            possible = [binding.statement] if binding.certain else [*possible, binding.statement]
    return possible


def is_function(node: ast.AST) -> TypeGuard[Function]:
    """Whether a node is a ``def`` or an ``async def``."""
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def find(module: ast.Module, qualname: str, file: str) -> Function | ast.ClassDef | None:
    """The function or class of that dotted name, or None where nothing in the file defines it.

    Raises Underivable where several definitions may win, or where the name is bound to something else in the end.
    """
    found: ast.Module | Function | ast.ClassDef = module
    seen: list[str] = []
    for name in qualname.split("."):
        if is_function(found):
            raise Underivable(f"{file}: {qualname} is inside a function")
        seen.append(name)
        possible = possible_definitions(found.body, name)
        if not possible:
            return None
        if len(possible) > 1:
            lines = ", ".join(str(statement.lineno) for statement in possible)
            raise Underivable(
                f"{file}: which definition of {'.'.join(seen)} is in force cannot be told (lines {lines})"
            )
        (statement,) = possible
        if not is_function(statement) and not isinstance(statement, ast.ClassDef):
            raise Underivable(f"{file}, line {statement.lineno}: {'.'.join(seen)} is bound to something else there")
        found = statement
    return None if isinstance(found, ast.Module) else found


@dataclass(frozen=True)
class Method:
    """A method as a class has it: ``owner`` is the dotted name of the class whose body defines it."""

    owner: str
    node: Function


def find_method(module: ast.Module, class_name: str, method: str, file: str) -> Method | None:
    """The method that a class of the file has under a name: its own, or the first along its bases in this file.

    None where no class of the file defines it (a base from elsewhere may). Bases that are not defined in this file are
    passed over, also where Python would ask them first. Raises Underivable where the definition is not certain.
    """
    for owner in linearize(module, class_name, file):
        if not _is_class(module, owner, file):
            continue
        found = find(module, f"{owner}.{method}", file)
        if found is not None:
            return Method(owner, found) if is_function(found) else None
    return None


def foreign_bases(module: ast.Module, class_name: str, file: str) -> list[str]:
    """The bases of a class, and of its bases in this file, that come from elsewhere, as written; without ``object``."""
    order = linearize(module, class_name, file)
    return [name for name in order if name != "object" and not _is_class(module, name, file)]


def linearize(module: ast.Module, class_name: str, file: str) -> list[str]:
    """A class and its bases in the order in which Python looks for a method (C3).

    Classes of the file are given by their dotted names, others as they are written. Raises Underivable for bases in a
    circle or without an order.
    """
    return _linearize(module, class_name, file, ())


def _linearize(module: ast.Module, class_name: str, file: str, below: tuple[str, ...]) -> list[str]:
    if class_name in below:
        raise Underivable(f"{file}: {class_name} is a base of itself")
    node = find(module, class_name, file) if _is_class(module, class_name, file) else None
    if not isinstance(node, ast.ClassDef):
        return [class_name]
    bases = [ast.unparse(base) for base in node.bases]
    queues = [_linearize(module, base, file, (*below, class_name)) for base in bases] + [bases]
    order = [class_name]
    while queues := [queue for queue in queues if queue]:
        tails = {name for queue in queues for name in queue[1:]}
        head = next((queue[0] for queue in queues if queue[0] not in tails), None)
        if head is None:
            raise Underivable(f"{file}: the bases of {class_name} have no order")
        order.append(head)
        queues = [queue[1:] if queue[0] == head else queue for queue in queues]
    return order


def _is_class(module: ast.Module, name: str, file: str) -> bool:
    if not all(part.isidentifier() for part in name.split(".")):
        return False
    first = possible_definitions(module.body, name.partition(".")[0])
    if not any(isinstance(statement, ast.ClassDef) for statement in first):
        return False
    return isinstance(find(module, name, file), ast.ClassDef)


def classes(body: Sequence[ast.stmt], prefix: str = "") -> Iterator[str]:
    """The dotted names of all classes of a scope and of the classes in them, each once, in the order of the file."""
    for name in dict.fromkeys(b.name for b in bindings(body) if isinstance(b.statement, ast.ClassDef)):
        yield prefix + name
        for statement in possible_definitions(body, name):
            if isinstance(statement, ast.ClassDef):
                yield from classes(statement.body, f"{prefix}{name}.")


def first_lines(function: Function) -> set[str]:
    """What unittest may print for a function's docstring: its first line, blank lines before it skipped or not.

    Python up to 3.6 takes the very first line, later ones strip the docstring before.
    """
    docstring = ast.get_docstring(function, clean=False) or ""
    lines = (docstring.split("\n")[0].strip(), docstring.strip().split("\n")[0].strip())
    return {line for line in lines if line}
