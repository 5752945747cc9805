"""``patchperf programs``: a benchmark of single Python programs, run and counted to a table that can be rated."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from patchperf.cli.errors import errors_in_one_line
from patchperf.errors import InputError
from patchperf.study.instance import GROUND_TRUTH


def programs(
    out: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The table.", show_default=False)],
    *,
    buggy: Annotated[Path, typer.Option(help="Folder of the buggy programs.", show_default=False)],
    fixed: Annotated[Path, typer.Option(help="Folder of the fixed programs.", show_default=False)],
    tree: Annotated[Path, typer.Option(help="Folder that tests run in.", show_default=False)],
    source: Annotated[
        list[str], typer.Option(metavar="NAME=DIR", help="A source's programs; repeat.", show_default=False)
    ],
    place: Annotated[str, typer.Option(help="Where in the tree a program goes.")] = "{program}.py",
    test: Annotated[str, typer.Option(help="Where in the tree its tests are.")] = "test_{program}.py",
    python: Annotated[Path | None, typer.Option(help="An interpreter with pytest [default: this one].")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds for one program's tests.", min=1)] = 60.0,
) -> None:
    """Run the tests of single Python programs, and count their complexity and findings.

    Each source has a folder with its version of the programs, file by file. Tests run in namespaces, without network.
    The table is one for `patchperf quality`; programs without a test, and those that fail as fixed, are left out.
    """
    with errors_in_one_line():
        from patchperf.config import SandboxSettings  # noqa: PLC0415  (seconds that others save)
        from patchperf.sandbox.local import local_sandbox  # noqa: PLC0415
        from patchperf.sandbox.protocol import Limits  # noqa: PLC0415
        from patchperf.study.programs import Benchmark, Runner, rate_programs  # noqa: PLC0415

        given = _sources(source)
        benchmark = Benchmark(buggy, fixed, tree, place, test)
        for folder in (buggy, fixed, tree, *given.values()):
            if not folder.is_dir():
                raise InputError(f"{folder}: no folder")
        if out.is_dir():
            raise InputError(f"{out}: a folder: name the file of the table")
        for folder in (buggy, fixed, tree, *given.values()):
            if out.exists() and out.resolve().is_relative_to(folder.resolve()):
                raise InputError(f"{out}: a file of {folder}, which is read: name another one for the table")
        out.parent.mkdir(parents=True, exist_ok=True)
        sandbox = local_sandbox(SandboxSettings(), out.parent)
        runner = Runner(sandbox, python or Path(sys.executable), Limits(), timeout)
        table, left_out = rate_programs(benchmark, given, runner)
        table.to_csv(out, index=False, lineterminator="\n")
        for line in left_out:
            typer.echo(f"left out: {line}", err=True)
        typer.echo(f"{table['instance_id'].nunique()} programs, {len(table)} patches: {out}")


def _sources(texts: list[str]) -> dict[str, Path]:
    given: dict[str, Path] = {}
    for text in texts:
        name, found, folder = text.partition("=")
        if not found or not name.strip():
            raise InputError(f"--source {text}: write it as NAME=DIR")
        if name == GROUND_TRUTH:
            raise InputError(f"--source {text}: {GROUND_TRUTH} is the name of the fixed programs: give another one")
        if name in given:
            raise InputError(f"--source {text}: {name} has a folder already: give each source a name of its own")
        given[name] = Path(folder)
    return given
