"""How the files of a stage are named."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

Files = Mapping[str, str | Path]
"""A stage's files by name. A table has two: its own name for the CSV, and the name with ``_tex`` for the LaTeX form."""


def table_files(folder: Path, *tables: str) -> dict[str, Path]:
    """The files that a stage makes for some tables."""
    csv = {table: folder / f"{table}.csv" for table in tables}
    return csv | {f"{table}_tex": folder / f"{table}.tex" for table in tables}
