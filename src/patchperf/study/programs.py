"""Benchmarks of single Python programs (a buggy file, a fixed one, tests), as a table of patches to rate."""

from __future__ import annotations

import ast
import difflib
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pandas as pd

from patchperf.errors import InputError, MachineError
from patchperf.quality.changed_lines import changed_lines
from patchperf.quality.complexity import source_text
from patchperf.quality.versions import count_versions
from patchperf.sandbox.protocol import Command, Completed, Limits, Sandbox
from patchperf.study.instance import GROUND_TRUTH

COLUMNS = (
    "instance_id", "source", "correct", "compiles", "complexity", "complexity_reference", "findings",
    "findings_reference", "lines", "note",
)  # fmt: skip

PROGRAM = "{program}"
"""What stands for a program's name in a place."""

_PASSED = re.compile(r"\b(\d+) passed\b")
_PREFIXES = "import json, pytest, sys; print(json.dumps([sys.prefix, sys.base_prefix]))"


@dataclass(frozen=True)
class Benchmark:
    """Where the programs are, all by their file's name without ``.py``.

    ``buggy`` and ``fixed`` are folders of programs. ``tree`` is what tests run in; ``place`` says where in it a program
    goes, ``test`` where its test file is, both with ``{program}`` in them. Raises InputError for a ``place`` or a
    ``test`` that leaves the tree.
    """

    buggy: Path
    fixed: Path
    tree: Path
    place: str
    test: str

    def __post_init__(self) -> None:
        for name, text in (("place", self.place), ("test", self.test)):
            path = PurePosixPath(text)
            if not path.name or path.is_absolute() or ".." in path.parts:
                raise InputError(f"{name} {text!r}: name a file in the tree, relative to it and without '..'")
            if set("{}") & set(text.replace(PROGRAM, "")):
                raise InputError(f"{name} {text!r}: write {PROGRAM} for the program's name, and no other braces")

    def place_of(self, program: str) -> str:
        """Where a program goes, relative to the tree."""
        return self.place.replace(PROGRAM, program)

    def test_of(self, program: str) -> str:
        """Where a program's test file is, relative to the tree."""
        return self.test.replace(PROGRAM, program)


@dataclass(frozen=True)
class Runner:
    """How tests are run: the sandbox, an interpreter that has pytest, bounds, and seconds for one program's tests."""

    sandbox: Sandbox
    python: Path
    limits: Limits
    timeout: float


def programs_of(benchmark: Benchmark) -> tuple[str, ...]:
    """The programs that have a buggy file, a fixed one and a test file, by name; raises InputError for none."""
    found = tuple(
        sorted(
            file.stem
            for file in benchmark.fixed.glob("*.py")
            if (benchmark.buggy / file.name).is_file() and (benchmark.tree / benchmark.test_of(file.stem)).is_file()
        )
    )
    if not found:
        raise InputError(
            f"{benchmark.fixed}: no program with a file in {benchmark.buggy} and a test in {benchmark.tree}"
        )
    return found


def rate_programs(benchmark: Benchmark, sources: Mapping[str, Path], runner: Runner) -> tuple[pd.DataFrame, list[str]]:
    """A row per program and source that has a file for it, as ``read_patches`` reads it; and what was left out.

    A patch is correct when pytest passes on its program, with as many tests as pass on the fixed one: a program that
    ends the run early is not correct. That is no proof against one that means to forge a pass. A program whose fixed
    version does not pass is left out. The fixed versions are the rows of ``ground_truth``. Each run has a fresh copy of
    the tree, in the sandbox, and no plugins of pytest but its own.
    """
    readable = _prefixes(runner.python)
    rows: list[dict[str, object]] = []
    programs = programs_of(benchmark)
    left_out = []
    for source, folder in sources.items():
        if not any((folder / f"{program}.py").is_file() for program in programs):
            raise InputError(f"{folder}: {source} has no file for any of the {len(programs)} programs: give its folder")
    for program in programs:
        versions = {GROUND_TRUTH: (benchmark.fixed / f"{program}.py").read_bytes()}
        for source, folder in sources.items():
            if (file := folder / f"{program}.py").is_file():
                versions[source] = file.read_bytes()
        runs = {text: _passed(benchmark, program, text, runner, readable) for text in dict.fromkeys(versions.values())}
        wanted = runs[versions[GROUND_TRUTH]]
        if not wanted:
            left_out.append(f"{program}: its fixed version does not pass")
            continue
        path = f"{program}.py"
        files = {source: {path: text} for source, text in versions.items()}
        counts = count_versions({}, files[GROUND_TRUTH], files)
        size = _changed((benchmark.buggy / path).read_bytes(), versions[GROUND_TRUTH])
        rows += [
            {
                "instance_id": program,
                "source": source,
                "correct": int(runs[versions[source]] == wanted and counted.compiles),
                "compiles": int(counted.compiles),
                "complexity": counted.complexity,
                "complexity_reference": counted.complexity_reference,
                "findings": counted.findings,
                "findings_reference": counted.findings_reference,
                "lines": size,
                "note": counted.note,
            }
            for source, counted in counts.items()
        ]
    if not rows:
        raise InputError(
            f"{benchmark.fixed}: no fixed version passes its tests in {benchmark.tree}: run one there by hand"
        )
    return pd.DataFrame(rows, columns=list(COLUMNS)), left_out


def _passed(benchmark: Benchmark, program: str, text: bytes, runner: Runner, readable: tuple[Path, ...]) -> int:
    """How many tests pass on a program's text, 0 where any does not."""
    test = benchmark.test_of(program)
    environment = {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": runner.sandbox.layout.tree,
        "PYTHONHASHSEED": "0",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    with _tree(benchmark, program, text) as tree:
        command = Command(
            argv=(str(runner.python), "-m", "pytest", "--verbosity=-1", "--color=no", "-p", "no:cacheprovider", test),
            tree=tree,
            environment=environment,
            readable=readable,
            timeout=runner.timeout,
        )
        done = runner.sandbox.run(command, runner.limits)
    return _number(done)


def _number(done: Completed) -> int:
    last = done.output.strip().splitlines()[-1:]
    counted = _PASSED.search(last[0]) if done.ok and last else None
    return int(counted[1]) if counted else 0


@contextmanager
def _tree(benchmark: Benchmark, program: str, text: bytes) -> Iterator[Path]:
    """A copy of the tree with a program's text in its place; it is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="patchperf-") as scratch:
        tree = Path(scratch, "tree")
        try:
            shutil.copytree(benchmark.tree, tree, symlinks=True, ignore=shutil.ignore_patterns(".git", "__pycache__"))
        except shutil.Error as error:
            where, _, why = error.args[0][0]
            raise InputError(f"{where}: cannot be copied: {why}") from None
        file = tree / benchmark.place_of(program)
        if not file.resolve().is_relative_to(tree.resolve()):
            raise InputError(f"{benchmark.tree / benchmark.place_of(program)}: a link leads out of the tree")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text)
        yield tree


def _prefixes(python: Path) -> tuple[Path, ...]:
    """The folders of an interpreter and of what it has installed; raises MachineError for one without pytest."""
    try:
        done = subprocess.run([python, "-c", _PREFIXES], capture_output=True, text=True, check=False, timeout=60)
    except OSError as error:
        raise MachineError(f"{python}: no Python that runs: {error.strerror}") from None
    if done.returncode:
        raise MachineError(f"{python} has no pytest: install it there, or name another interpreter")
    try:
        return tuple(Path(prefix) for prefix in dict.fromkeys(json.loads(done.stdout)))
    except (ValueError, TypeError):
        raise MachineError(f"{python}: is no Python: name an interpreter that has pytest") from None


def _changed(buggy: bytes, fixed: bytes) -> int:
    """How many lines of code differ: without comments, texts that stand alone, and formatting, where both parse."""
    try:
        before, after = _code(buggy), _code(fixed)
    except (SyntaxError, ValueError):
        before, after = source_text(buggy), source_text(fixed)
    diff = difflib.unified_diff(before.splitlines(), after.splitlines(), "a/program.py", "b/program.py", lineterm="")
    return changed_lines("\n".join([*diff, ""]))


def _code(text: bytes) -> str:
    return ast.unparse(_WithoutTexts().visit(ast.parse(text)))


class _WithoutTexts(ast.NodeTransformer):
    """Drops statements that are a string and nothing more: docstrings, and notes in quotes."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else node
