"""How the files of a stage are named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from patchperf.errors import InputError

Files = Mapping[str, str | Path]
"""A stage's files by name. A table has two: its own name for the CSV, and the name with ``_tex`` for the LaTeX form."""


def require_others(out: Path, made: Iterable[Path], given: Iterable[Path]) -> None:
    """Raise InputError where a file that is made would take the place of one that is read."""
    places = {path.resolve() for path in made}
    for path in given:
        if path.resolve() in places:
            raise InputError(f"{path}: would be overwritten by the table of that name: name another folder than {out}")


def table_files(folder: Path, *tables: str) -> dict[str, Path]:
    """The files that a stage makes for some tables."""
    csv = {table: folder / f"{table}.csv" for table in tables}
    return csv | {f"{table}_tex": folder / f"{table}.tex" for table in tables}
