"""The edits of a test file: our decorator on the one test, and neighbours that its runner would select as well hidden.

Sources are texts as ``bytes.decode("utf-8", "surrogateescape")`` gives them, so that a file in any encoding comes back
byte for byte; lines are added and none is changed.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Sequence

from patchperf.study.definitions import Function, bindings, find, is_function, parse_bytes
from patchperf.study.derivation import Underivable

MODULE = "patchperf_inprocess"
DECORATOR = f"{MODULE}.measured"

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_BYTE_ORDER_MARK = "\ufeff"


def insert_decorator(source: str, qualname: str, hidden: Sequence[str] = ()) -> str:
    """The source with ``@patchperf_inprocess.measured`` above all decorators of a function, and its import.

    Above all others, because what they do at each call (patch, override settings, supply arguments, decide to skip) is
    part of what a call of the test is, and has to be repeated with it. Marks are attributes, which our wrapper has too.

    ``qualname`` is the function's dotted name in the file, e.g. "Class.test_x"; of several definitions it is the one in
    force when the file has run. ``hidden`` are names that ``hide`` takes away as well. Raises Underivable where the
    file cannot be parsed, the function is not there or not certain, or is a generator that no decorator can turn into
    a plain function.
    """
    mark = _BYTE_ORDER_MARK if source.startswith(_BYTE_ORDER_MARK) else ""
    body = source[len(mark) :]
    module = _parse(body)
    function = _function(module, qualname)
    if _is_generator(function) and all(map(_is_mark, function.decorator_list)):
        raise Underivable(f"{qualname} is a generator: calling it runs nothing of its body")
    lines = _LINE.findall(body)
    ending = _ending(lines)
    above = _first_line(function) - 1
    indentation = re.match(r"[ \t\f]*", lines[above])
    lines.insert(above, f"{indentation[0] if indentation else ''}@{DECORATOR}{ending}")
    lines.insert(_import_line(module), f"import {MODULE}{ending}")
    edited = "".join(lines)
    if not _adds_only_ours(edited, module, qualname):
        raise Underivable(f"{qualname}: the decorator cannot be put in without changing something else")
    return hide(mark + edited, hidden)


def original_line(source: str, edited: str, line: int) -> int:
    """The line of a source that a line of its edited text was; for a line of ours, that before which it was put."""
    lines = _LINE.findall(source)
    original = 0
    for number, text in enumerate(_LINE.findall(edited), 1):
        kept = original < len(lines) and text == lines[original]
        if number == line:
            return min(original + 1, len(lines))
        original += kept
    return min(line, len(lines))


def hide(source: str, names: Sequence[str]) -> str:
    """The source with names removed from the module's namespace at its end.

    Raises Underivable where a name is not bound at module level, or where code that stays uses it.
    """
    if not names:
        return source
    module = _parse(source.removeprefix(_BYTE_ORDER_MARK))
    missing = set(names) - {binding.name for binding in bindings(module.body)}
    if missing:
        raise Underivable(f"not at module level, so it cannot be hidden: {', '.join(sorted(missing))}")
    for user, name in _uses(module, set(names)):
        raise Underivable(f"{name} cannot be hidden: line {user} uses it")
    lines = _LINE.findall(source)
    ending = _ending(lines)
    closing = "" if lines and lines[-1].endswith(("\r", "\n")) else ending
    return source + closing + "".join(f'globals().pop("{name}", None){ending}' for name in names)


def hidden_neighbours(source: str, name: str) -> tuple[str, ...]:
    """The other ``test_*`` functions of a module whose names contain ``name`` in any case, in the file's order.

    sympy's ``-k`` compares so in its newer versions; older ones, which heed case, select no more than these. Imported
    names count, since older versions run them too.
    """
    module = _parse(source.removeprefix(_BYTE_ORDER_MARK))
    bound = dict.fromkeys(
        binding.name
        for binding in bindings(module.body)
        if is_function(binding.statement) or isinstance(binding.statement, ast.Import | ast.ImportFrom)
    )
    return tuple(
        other for other in bound if other != name and other.startswith("test_") and name.lower() in other.lower()
    )


def _parse(source: str) -> ast.Module:
    return parse_bytes(source.encode("utf-8", "surrogateescape"), "test file")


def _function(module: ast.Module, qualname: str) -> Function:
    found = find(module, qualname, "test file")
    if found is None or not is_function(found):
        raise Underivable(f"no function {qualname} in the test file; it may be made when the file runs (exec, setattr)")
    return found


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _is_generator(function: Function) -> bool:
    """Whether the function's own body yields, not that of a function or class inside it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return True
        if not is_function(node) and not isinstance(node, ast.ClassDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)
    return False


def _is_mark(decorator: ast.expr) -> bool:
    return ast.unparse(decorator).startswith("pytest.mark.")


def _import_line(module: ast.Module) -> int:
    """How many lines stay above the import: up to the module's docstring and ``from __future__``, whole statements."""
    prologue = 0
    for at, statement in enumerate(module.body):
        documents = at == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        documents = documents and isinstance(statement.value.value, str)  # type: ignore[attr-defined]
        if documents or (isinstance(statement, ast.ImportFrom) and statement.module == "__future__"):
            prologue = at + 1
        else:
            break
    if prologue == 0:
        return _first_line(module.body[0]) - 1
    above = module.body[prologue - 1].end_lineno or 0
    for statement in module.body[prologue:]:
        if statement.lineno <= above:
            above = max(above, statement.end_lineno or 0)
    return above


def _ending(lines: Sequence[str]) -> str:
    """The file's line ending: that of its first line."""
    match = re.search(r"\r\n|\r|\n", lines[0]) if lines else None
    return match[0] if match else "\n"


def _adds_only_ours(edited: str, original: ast.Module, qualname: str) -> bool:
    """Whether an edited source is the original once our import and decorator are taken out again."""
    try:
        module = _parse(edited)
        function = _function(module, qualname)
    except Underivable:
        return False
    imports = [s for s in module.body if isinstance(s, ast.Import) and [a.name for a in s.names] == [MODULE]]
    if not imports or not function.decorator_list or ast.unparse(function.decorator_list[0]) != DECORATOR:
        return False
    module.body.remove(imports[0])
    del function.decorator_list[0]
    return all(itertools.starmap(_is_alike, itertools.zip_longest(ast.walk(module), ast.walk(original))))


def _is_alike(one: ast.AST | None, other: ast.AST | None) -> bool:
    """Whether two nodes are of one kind with the same values, and with children in the same places."""
    return type(one) is type(other) and _shape(one) == _shape(other)


def _shape(node: ast.AST | None) -> list[object]:
    fields = ast.iter_fields(node) if node is not None else ()
    return [
        [isinstance(item, ast.AST) or (type(item), item) for item in (value if isinstance(value, list) else [value])]
        for _, value in fields
    ]


def _uses(module: ast.Module, names: set[str]) -> list[tuple[int, str]]:
    """Lines outside the named functions that read one of the names."""
    waiting: list[ast.AST] = list(module.body)
    uses = []
    while waiting:
        node = waiting.pop()
        if is_function(node) and node.name in names:
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names:
            uses.append((node.lineno, node.id))
        waiting += ast.iter_child_nodes(node)
    return sorted(uses)
