"""A table that a person gives as CSV: every cell as text, every row with its line in the file."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from patchperf.errors import InputError

LINE = "line"
"""The name of the index, which has the lines where the rows begin, from 1; the header has one too."""


def read_csv_rows(path: Path) -> pd.DataFrame:
    """The rows of a CSV file (RFC 4180, UTF-8, with or without a byte order mark): columns of text, the index LINE.

    Lines end in any way; blank ones are left out. Raises InputError, one line with the file and its line, for a file
    that is not there, is no UTF-8 or no CSV, for a column without a name or with that of another, and for a row that
    has not a field for each column.
    """
    rows = _rows(path, _text(path))
    _, header = next(rows, (0, []))
    if not header:
        raise InputError(f"{path}: empty: its first line names the columns")
    for place, name in enumerate(header, 1):
        if not name.strip():
            raise InputError(f"{path}: column {place} has no name in the first line: name it, or leave it out")
        if name in header[: place - 1]:
            raise InputError(f"{path}: two columns {name}: leave one of them out")
    lines, cells = [], []
    for line, row in rows:
        if len(row) != len(header):
            raise InputError(
                f"{path}, line {line}: {len(row)} fields, {len(header)} columns: write commas inside a field in quotes"
            )
        lines.append(line)
        cells.append(row)
    return pd.DataFrame(cells, columns=header, index=pd.Index(lines, dtype="int64", name=LINE), dtype="str")


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}: name a CSV file") from None
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise InputError(f"{path}, line {line}: no UTF-8 text: save the table as CSV in UTF-8") from None


def _rows(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """Each row that is not blank, with the line where it begins."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    begins = 1
    try:
        for row in reader:
            if any("\0" in field for field in row):
                raise InputError(f"{path}, line {begins}: a NUL character: save the table as CSV in UTF-8")
            if len(row) > 1 or "".join(row).strip():
                yield begins, row
            begins = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"{path}, line {begins}: no CSV: {error}: check the row's quotes") from None
