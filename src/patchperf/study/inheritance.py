"""Where the classes and functions of a file are defined, also through its imports and along the bases of its classes.

Syntax only: a name is followed from file to file of one tree, nothing is imported or run.
"""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from patchperf.study import definitions
from patchperf.study.definitions import Function
from patchperf.study.derivation import Underivable


class Place(NamedTuple):
    """A class or function by the file whose body defines it and its dotted name there."""

    file: str
    name: str


class Sources:
    """The Python files of a tree, each parsed once; ``roots`` are the folders in which modules are looked up."""

    def __init__(self, tree: Path, roots: Sequence[str] = (".", "src")) -> None:
        self._tree = tree
        self._roots = roots
        self._modules: dict[str, ast.Module] = {}

    def module(self, file: str) -> ast.Module:
        """The syntax tree of a file; raises Underivable if it is not there or cannot be parsed."""
        if file not in self._modules:
            self._modules[file] = definitions.parse_file(self._tree, file)
        return self._modules[file]

    def node(self, place: Place) -> Function | ast.ClassDef | None:
        """The definition at a place, None if there is none; raises Underivable where it is not certain."""
        return definitions.find(self.module(place.file), place.name, place.file)

    def locate(self, file: str, name: str) -> Place | None:
        """Where the class or function that a file knows under a dotted name is defined.

        None where the file does not have the name, or has it from outside of the tree. Raises Underivable where several
        definitions may be in force, or where it is bound to something else in the end.
        """
        return self._locate(Place(file, name), ())

    def _locate(self, place: Place, path: tuple[Place, ...]) -> Place | None:
        if place in path:
            return None
        path = (*path, place)
        file, name = place
        head, _, rest = name.partition(".")
        possible = definitions.possible_definitions(self.module(file).body, head)
        if not possible:
            starred = {self._locate(Place(source, name), path) for source in self._starred(file)} - {None}
            return starred.pop() if len(starred) == 1 else None
        imported = possible[0] if len(possible) == 1 else None
        if isinstance(imported, ast.ImportFrom):
            original = next(alias.name for alias in imported.names if head == (alias.asname or alias.name))
            return self._attribute(self._stems(file, imported), [original, *rest.split(".")], path)
        if isinstance(imported, ast.Import):
            alias = next(a for a in imported.names if head == (a.asname or a.name.partition(".")[0]))
            parts = [*alias.name.split("."), *rest.split(".")] if alias.asname else name.split(".")
            return self._attribute(self._roots, parts, path)
        return place if self.node(place) is not None else None

    def _attribute(self, stems: Sequence[str], parts: Sequence[str], path: tuple[Place, ...]) -> Place | None:
        """What a module or package at one of these paths has under a dotted name, as much of it as can be a module."""
        names = [part for part in parts if part]
        for end in range(len(names) - 1, -1, -1):
            source = self._file([posixpath.join(stem, *names[:end]) for stem in stems])
            found = self._locate(Place(source, ".".join(names[end:])), path) if source else None
            if found is not None:
                return found
        return None

    def _starred(self, file: str) -> list[str]:
        """The files of the tree from which a file imports everything."""
        imports = [node for node in self.module(file).body if isinstance(node, ast.ImportFrom)]
        starred = [self._file(self._stems(file, node)) for node in imports if node.names[0].name == "*"]
        return [source for source in starred if source]

    def _stems(self, file: str, statement: ast.ImportFrom) -> list[str]:
        """The paths, without ending, of the module that a ``from … import`` in a file names."""
        below = (statement.module or "").replace(".", "/")
        if not statement.level:
            return [posixpath.join(root, below) for root in self._roots]
        return [posixpath.normpath(posixpath.join(posixpath.dirname(file), *[".."] * (statement.level - 1), below))]

    def _file(self, stems: Sequence[str]) -> str | None:
        """The file of a module, None where none or several of the paths have one."""
        paths = [path for stem in map(posixpath.normpath, stems) for path in (f"{stem}/__init__.py", f"{stem}.py")]
        found = {path for path in paths if (self._tree / path).is_file()}
        return found.pop() if len(found) == 1 else None

    # ------------------------------------------------------------------------------------------------ along the bases

    def method(self, owner: Place, name: str) -> Place | None:
        """The method that a class has under a name: its own, or the first along its bases.

        None where no class of the tree defines it (a base from elsewhere may). Bases from elsewhere are passed over,
        also where Python would ask them first. Raises Underivable where the definition is not certain.
        """
        for base in self.linearize(owner):
            if isinstance(base, Place):
                found = Place(base.file, f"{base.name}.{name}")
                node = self.node(found)
                if node is not None:
                    return found if definitions.is_function(node) else None
        return None

    def method_names(self, owner: Place) -> list[str]:
        """The names of all functions that a class and its bases in the tree define."""
        classes = [self.node(base) for base in self.linearize(owner) if isinstance(base, Place)]
        bodies = [node.body for node in classes if isinstance(node, ast.ClassDef)]
        bound = [binding for body in bodies for binding in definitions.bindings(body)]
        return list(dict.fromkeys(b.name for b in bound if definitions.is_function(b.statement)))

    def foreign_bases(self, owner: Place) -> list[str]:
        """The bases along a class that the tree does not define, as they are written; without ``object``."""
        return [base for base in self.linearize(owner) if isinstance(base, str) and base != "object"]

    def linearize(self, owner: Place) -> list[Place | str]:
        """A class and its bases in the order in which Python looks for a method (C3).

        Bases that the tree does not define, or not with certainty, are given as they are written. Raises Underivable
        for bases in a circle or without an order.
        """
        return self._linearize(owner, ())

    def _linearize(self, owner: Place | str, below: tuple[Place | str, ...]) -> list[Place | str]:
        if owner in below:
            raise Underivable(f"{_written(owner)} is a base of itself")
        node = self.node(owner) if isinstance(owner, Place) else None
        if not isinstance(owner, Place) or not isinstance(node, ast.ClassDef):
            return [owner]
        bases = [self._base(owner.file, ast.unparse(base)) for base in node.bases]
        queues = [self._linearize(base, (*below, owner)) for base in bases] + [bases]
        order: list[Place | str] = [owner]
        while queues := [queue for queue in queues if queue]:
            tails = {base for queue in queues for base in queue[1:]}
            head = next((queue[0] for queue in queues if queue[0] not in tails), None)
            if head is None:
                raise Underivable(f"the bases of {_written(owner)} have no order")
            order.append(head)
            queues = [queue[1:] if queue[0] == head else queue for queue in queues]
        return order

    def _base(self, file: str, written: str) -> Place | str:
        if not all(part.isidentifier() for part in written.split(".")):
            return written
        try:
            place = self.locate(file, written)
            return place if place is not None and isinstance(self.node(place), ast.ClassDef) else written
        except Underivable:
            return written


def _written(owner: Place | str) -> str:
    return f"{owner.file}: {owner.name}" if isinstance(owner, Place) else owner
