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
        except (RecursionError, MemoryError):
            raise Underivable(f"{name}: cannot be parsed: nested too deeply") from None
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
                names = [node for node in ast.walk(target) if isinstance(node, ast.Name)]
                yield from (name.id for name in names if isinstance(name.ctx, ast.Store))


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


def is_function(node: ast.AST | None) -> TypeGuard[Function]:
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
        for line in _attribute_assignments(module, ".".join(seen)):
            raise Underivable(f"{file}, line {line}: {'.'.join(seen)} is set from outside of its class there")
    return None if isinstance(found, ast.Module) else found


def _attribute_assignments(module: ast.Module, dotted: str) -> Iterator[int]:
    """The lines that assign to an attribute by its dotted name, such as ``Class.test_x = …``."""
    if "." in dotted:
        assignments = [node for node in ast.walk(module) if isinstance(node, ast.Assign)]
        for node in assignments:
            if any(isinstance(target, ast.Attribute) and ast.unparse(target) == dotted for target in node.targets):
                yield node.lineno


def class_names(body: Sequence[ast.stmt]) -> list[str]:
    """The names that a scope's own class statements bind, each once, in the order of the file."""
    return list(dict.fromkeys(b.name for b in bindings(body) if isinstance(b.statement, ast.ClassDef)))


def first_lines(node: ast.AST | None) -> set[str]:
    """What unittest may print for a function's docstring: its first line, blank lines before it skipped or not.

    Python up to 3.6 takes the very first line, later ones strip the docstring before. Nothing for what is no function.
    """
    docstring = (ast.get_docstring(node, clean=False) if is_function(node) else None) or ""
    lines = (docstring.split("\n")[0].strip(), docstring.strip().split("\n")[0].strip())
    return {line for line in lines if line}
