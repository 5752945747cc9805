"""When the effects of two candidates are the same code: test files and files outside the package dropped, Python
compared by its syntax tree without docstrings, comments and formatting.

Two candidates of one digest are measured once. So what may differ at run time must never get one digest; what is the
same may get two (a helper moved, a variable renamed), which only costs a measurement.

What is kept of a candidate's changes, and all else is dropped:

- files below a package root (the ground truth's packages) other than test files;
- what a runner or interpreter reads by itself, wherever it lies: conftest.py, setup.cfg, sitecustomize.py, …;
- changed or deleted files that existed before, other than tests and documents, since something in the repository may
  use them; so also helpers in a package's own folder of tests. New files outside the roots are scratch, unless
- a kept Python file could import them by name or names them in a string, or they would hide a standard module.
"""

from __future__ import annotations

import ast
import hashlib
import posixpath
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from pydantic import BaseModel, ConfigDict

from patchperf.study.instance import GROUND_TRUTH


@dataclass(frozen=True)
class Change:
    """What a patch did to one file; None stands for a file that does not exist before or after."""

    path: str
    base: bytes | None
    new: bytes | None


class Solution(BaseModel):
    """A distinct solution of one instance and the sources that came to it, the ground truth first."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    digest: str
    sources: tuple[str, ...]


TEST_FOLDERS = frozenset({"tests"})
"""A folder of one of these names, at any depth, holds tests. ``test`` and ``testing`` are often library code there."""

ROOT_TEST_FOLDERS = frozenset({"test", "testing"})
"""Names of folders that hold tests when they lie at the root of the repository."""

TEST_FILES = ("test_*.py", "*_test.py", "unittest_*.py")
ROOT_TEST_FILES = frozenset({"test.py", "tests.py"})

CONFIGURATION = (
    "conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", "tox.toml", "setup.cfg",
    "setup.py", "pyproject.toml", "sitecustomize.py", "usercustomize.py", "*.pth", "*._pth", "pyvenv.cfg",
    ".coveragerc", "nose.cfg", "noxfile.py", "MANIFEST.in", "requirements*.txt", "constraints*.txt",
)  # fmt: skip
"""Names of files that runners, interpreters and installers read without being told."""

DOCUMENT_FOLDERS = frozenset({"doc", "docs"})
"""Folders at the root in which all files are documents, also the Python ones."""

CHANGE_FOLDERS = frozenset({"changelog", "changelogs", "changes", "news", "newsfragments"})
DOCUMENT_SUFFIXES = frozenset({".rst", ".md", ".markdown", ".adoc"})
DOCUMENT_FILES = (
    "author*", "change*", "contribut*", "copying*", "history*", "install*", "licen[cs]e*", "news*", "readme*",
    "release*", "thanks*", "todo*", ".mailmap", ".gitignore", ".gitattributes",
)  # fmt: skip
"""Names (in lower case) of files at the root that people read and programs do not; Python files never."""


def is_test_file(path: str) -> bool:
    """Whether a path (relative to the repository, ``/`` between its parts) is a test or belongs to tests.

    Strict: ``pkg/test/client.py`` and ``pkg/tests.py`` may be library code and are not test files.
    """
    *folders, name = path.split("/")
    if any(folder in TEST_FOLDERS for folder in folders) or (folders and folders[0] in ROOT_TEST_FOLDERS):
        return True
    return _is_named_test(path) or (not folders and name in ROOT_TEST_FILES)


def _is_named_test(path: str) -> bool:
    return any(fnmatchcase(posixpath.basename(path), pattern) for pattern in TEST_FILES)


def is_document(path: str) -> bool:
    """Whether a path is read by people only: documentation, change log, licence."""
    *folders, name = path.split("/")
    if folders and folders[0].lower() in DOCUMENT_FOLDERS:
        return True
    if _is_python(path):
        return False
    if posixpath.splitext(name)[1].lower() in DOCUMENT_SUFFIXES or (folders and folders[0].lower() in CHANGE_FOLDERS):
        return True
    return not folders and any(fnmatchcase(name.lower(), pattern) for pattern in DOCUMENT_FILES)


def is_configuration(path: str) -> bool:
    """Whether test runners, interpreters or installers read a file of this name by themselves."""
    name = posixpath.basename(path)
    return any(fnmatchcase(name, pattern) for pattern in CONFIGURATION)


def package_roots(ground_truth_paths: Iterable[str]) -> frozenset[str]:
    """The top folders of what the ground truth changes, tests, documents and configuration apart.

    ``pkg/core/x.py`` gives ``pkg``; ``src/pkg/x.py`` and ``lib/pkg/x.py`` give ``src/pkg`` and ``lib/pkg``; a module at
    the root (or right below ``src``) is its own root.
    """
    return frozenset(
        _root_of(path)
        for path in ground_truth_paths
        if not is_test_file(path) and not is_document(path) and not is_configuration(path)
    )


def _root_of(path: str) -> str:
    parts = path.split("/")
    return "/".join(parts[: 2 if parts[0] in {"src", "lib"} else 1])


def relevant(path: str, roots: frozenset[str]) -> bool:
    """Whether a change to this path is kept whatever else the candidate changes."""
    if is_configuration(path):
        return True
    return not is_test_file(path) and _below(path, roots)


def relevant_changes(changes: Iterable[Change], roots: frozenset[str]) -> tuple[Change, ...]:
    """The changes that make up the candidate's solution, by path; equal content before and after is no change."""
    real = sorted((change for change in changes if not _same(change)), key=lambda change: change.path)
    kept = [change for change in real if relevant(change.path, roots) or _alters_code(change, roots)]
    rest = [change for change in real if change not in kept]
    kept += [change for change in rest if _hides_standard_module(change.path)]
    frontier = kept
    while frontier:
        names = [_names_in(change.path, change.new) for change in frontier if change.new is not None]
        frontier = [
            change for change in rest if change not in kept and any(found.reach(change.path) for found in names)
        ]
        kept = kept + frontier
    return tuple(sorted(kept, key=lambda change: change.path))


def solution_digest(changes: Iterable[Change], roots: frozenset[str]) -> str:
    """SHA-256 (hexadecimal) of a candidate's solution; equal for candidates that are the same code.

    A candidate without any relevant change has the digest ``NO_CHANGE``. It is a solution like others if it was
    graded correct: the base itself is what gets measured.
    """
    whole = hashlib.sha256()
    for change in relevant_changes(changes, roots):
        content = "deleted" if change.new is None else content_digest(change.path, change.new)
        whole.update(f"{len(change.path)}:{change.path}={content}\n".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()


NO_CHANGE: str = solution_digest((), frozenset())
"""The digest of a candidate that changes nothing relevant."""


def distinct_solutions(candidates: Mapping[str, str]) -> tuple[Solution, ...]:
    """The distinct solutions among correct candidates, from source to digest.

    Ordered by their sources: the ground truth's first, then by the first source's name, so that the order does not
    depend on that of the mapping. The id is the shortest prefix of the digest, of ten digits or more, that no other
    solution of the instance shares.
    """
    sources: dict[str, list[str]] = {}
    for source in sorted(candidates, key=lambda name: (name != GROUND_TRUTH, name)):
        sources.setdefault(candidates[source], []).append(source)
    length = next(n for n in range(10, 65) if len({digest[:n] for digest in sources}) == len(sources))
    return tuple(Solution(id=digest[:length], digest=digest, sources=tuple(names)) for digest, names in sources.items())


def content_digest(path: str, content: bytes) -> str:
    """SHA-256 of a file's content: of the normal form of its syntax tree for Python, of its bytes for all else.

    The host's Python must be able to parse the file; if it cannot, and where the code reads its own source text or line
    numbers, the bytes count. Docstrings stay where the code reads docstrings.
    """
    tree = _tree(content) if _is_python(path) else None
    if tree is None or _identifiers(tree) & _READS_SOURCE:
        return hashlib.sha256(b"bytes\0" + content).hexdigest()
    if not _identifiers(tree) & _READS_DOCSTRINGS:
        _drop_docstrings(tree)
    digest = hashlib.sha256(b"tree\0")
    for token in _tokens(tree):
        digest.update(token.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()


def _same(change: Change) -> bool:
    if change.base is None or change.new is None:
        return change.base is change.new
    if change.base == change.new:
        return True
    return content_digest(change.path, change.base) == content_digest(change.path, change.new)


def _alters_code(change: Change, roots: frozenset[str]) -> bool:
    """Whether a change is one to a file that the rest of the repository may already use."""
    if change.base is None or is_document(change.path):
        return False
    return not is_test_file(change.path) or (_below(change.path, roots) and not _is_named_test(change.path))


def _below(path: str, roots: frozenset[str]) -> bool:
    return any(path == root or path.startswith(f"{root}/") for root in roots)


def _is_python(path: str) -> bool:
    return path.endswith((".py", ".pyw"))


def _hides_standard_module(path: str) -> bool:
    if not _is_python(path):
        return False
    parts = path.split("/")
    top = parts[1:] if parts[0] in {"src", "lib"} and len(parts) > 1 else parts
    return posixpath.splitext(top[0])[0] in sys.stdlib_module_names


def _tree(content: bytes) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


_READS_SOURCE = frozenset(
    {
        "getsource",
        "getsourcelines",
        "getblock",
        "findsource",
        "getframeinfo",
        "getinnerframes",
        "getouterframes",
        "f_lineno",
        "tb_lineno",
        "co_firstlineno",
        "co_lnotab",
        "co_linetable",
        "co_lines",
        "co_positions",
    }
)
_READS_DOCSTRINGS = frozenset({"__doc__", "getdoc", "getcomments", "doctest", "docopt", "ply", "yacc"})
"""Names by which code gets at docstrings; PLY takes grammars from them, doctest tests, docopt options."""


def _identifiers(tree: ast.AST) -> set[str]:
    """All names in the code: variables, attributes, parts of imported names, and strings that could be names."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                found.add(name)
            case ast.alias(name=name):
                found.update(name.split("."))
            case ast.ImportFrom(module=str(module)):
                found.update(module.split("."))
            case ast.Constant(value=str(text)) if text.isidentifier():
                found.add(text)
    return found


def _drop_docstrings(tree: ast.Module) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            match node.body:
                case [ast.Expr(value=ast.Constant(value=str())), *rest]:
                    node.body = rest or ([] if isinstance(node, ast.Module) else [ast.Pass()])


def _tokens(tree: ast.AST) -> Iterator[str]:
    """The tree in a form that no two different trees share and that does not change with the host's Python.

    ``ast.dump`` names fields that only some versions have, tells ``u"a"`` from ``"a"``, and fails on very long integers
    and very deep expressions.
    """
    pending: list[object] = [tree]
    while pending:
        item = pending.pop()
        match item:
            case _Literal(text):
                yield text
            case ast.Constant(value=value):
                shown = hex(value) if type(value) is int else repr(value)
                yield f"{type(value).__name__} {shown}"
            case ast.AST():
                yield type(item).__name__
                pending.append(_Literal("}"))
                for name in reversed(item._fields):
                    value = getattr(item, name, None)
                    if value is None or value == [] or name == "type_comment":
                        continue
                    pending += [value, _Literal(f"{name}=")]
            case list():
                yield "["
                pending.append(_Literal("]"))
                pending += reversed(item)
            case _:
                yield f"{type(item).__name__} {item!r}"


@dataclass(frozen=True)
class _Literal:
    text: str


@dataclass(frozen=True)
class _Names:
    """What a file could load: dotted names of modules, and words that may be names of files.

    ``anything`` stands for a Python file that cannot be read, so that any code might be meant.
    """

    modules: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    anything: bool = False

    def reach(self, path: str) -> bool:
        """Whether the file could load that path: a module under any name it may have, another file by its name."""
        if posixpath.basename(path) in self.words:
            return True
        if not _is_python(path):
            return False
        parts = _module(path).split(".")
        named = any(".".join(parts[start:]) in self.modules for start in range(len(parts)))
        return named or (self.anything and not is_test_file(path))


_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_IMPORTERS = frozenset(
    {
        "__import__",
        "import_module",
        "import_string",
        "find_spec",
        "spec_from_file_location",
        "exec_module",
        "load_module",
        "load_source",
        "run_module",
        "run_path",
    }
)


def _names_in(path: str, content: bytes) -> _Names:
    if not _is_python(path):
        text = content.decode("utf-8", "replace") if is_configuration(path) else ""
        return _Names(_with_parents(_DOTTED.findall(text)), _file_names([text]))
    tree = _tree(content)
    if tree is None:
        return _Names(anything=True)
    _drop_docstrings(tree)
    modules: set[str] = set()
    strings: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                modules.update(alias.name for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                origin = ".".join(filter(None, [_package_above(path, level), module]))
                modules.update(f"{origin}.{alias.name}".lstrip(".") for alias in names)
            case ast.Constant(value=str(text)):
                strings.add(text)
    if _identifiers(tree) & _IMPORTERS:
        modules.update(text for text in strings if _DOTTED.fullmatch(text))
    return _Names(_with_parents(modules), _file_names(strings))


def _with_parents(modules: Iterable[str]) -> frozenset[str]:
    split = [name.split(".") for name in modules]
    return frozenset(".".join(parts[: end + 1]) for parts in split for end in range(len(parts)))


def _file_names(texts: Iterable[str]) -> frozenset[str]:
    return frozenset(word for text in texts for word in re.split(r"[\\/\s]+", text) if "." in word)


def _module(path: str) -> str:
    stem = posixpath.splitext(path)[0]
    return stem.removesuffix("/__init__").removeprefix("src/").removeprefix("lib/").replace("/", ".")


def _package_above(path: str, level: int) -> str:
    """The package that a relative import of this level starts from; empty for an absolute import."""
    if level == 0:
        return ""
    parts = _module(path).split(".")
    is_package = posixpath.basename(path) == "__init__.py"
    return ".".join(parts[: len(parts) - level + is_package])
