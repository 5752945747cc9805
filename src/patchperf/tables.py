"""Tables as files: CSV with full precision for programs, LaTeX for people; and reading the CSV back as it was."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from patchperf.errors import InputError

LONG = 40
"""Rows from which a LaTeX table breaks over pages."""


def write_table(
    frame: pd.DataFrame, csv_path: str | Path, tex_path: str | Path, caption: str, columns: Sequence[str] | None = None
) -> None:
    """Write a table twice: as CSV, and as a LaTeX table (packages booktabs and longtable) with a caption.

    CSV has all columns, floats that read back to the same bits, and lists joined by a space. LaTeX has ``columns``
    (default: all) with four significant digits. The label is ``tab:`` and the file's name. Missing folders are made.
    """
    for path in (csv_path, tex_path):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    flat = _joined(frame)
    flat.to_csv(csv_path, index=False, lineterminator="\n")
    shown = flat[list(columns)] if columns else flat
    Path(tex_path).write_text(latex_table(shown, caption, f"tab:{Path(tex_path).stem}"), "utf-8")


def read_table(path: str | Path, schema: Mapping[str, str]) -> pd.DataFrame:
    """A table that ``write_table`` wrote, with the schema's columns and types; text stays text, blank numbers missing.

    Raises InputError if a column is missing or does not have its type.
    """
    text = [name for name, kind in schema.items() if kind in ("str", "object")]
    types = {name: "str" if name in text else kind for name, kind in schema.items()}
    try:
        return pd.read_csv(
            path,
            usecols=list(schema),
            dtype=types,
            keep_default_na=False,
            na_values={name: [""] for name in schema if name not in text},
        )[list(schema)]
    except ValueError as error:
        raise InputError(f"{path}: {str(error).splitlines()[0]}; delete it and run again") from None


def latex_table(frame: pd.DataFrame, caption: str, label: str) -> str:
    """The table as LaTeX source with booktabs' rules; more than 40 rows become a longtable.

    Cells and column names are escaped; ``caption`` is LaTeX already.
    """
    numeric = [pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind) for kind in frame.dtypes]
    long = len(frame) > LONG
    style = _joined(frame).reset_index(drop=True).style.hide(axis="index")
    style = style.format(_cell, na_rep="--", escape="latex").format_index(escape="latex", axis="columns")
    return "% \\usepackage{booktabs,longtable}\n" + style.to_latex(
        environment="longtable" if long else "table",
        position=None if long else "htbp",
        position_float=None if long else "centering",
        column_format="".join("r" if number else "l" for number in numeric),
        hrules=True,
        caption=caption,
        label=label,
    )


def _joined(frame: pd.DataFrame) -> pd.DataFrame:
    lists = [name for name in frame.columns if pd.api.types.is_object_dtype(frame[name])]
    return frame.assign(**{name: frame[name].map(_words) for name in lists})


def _words(value: Any) -> str:
    return value if isinstance(value, str) else " ".join(map(str, value))


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, float):
        return str(value)
    if math.isinf(value):
        return "$\\infty$" if value > 0 else "$-\\infty$"
    digits, _, exponent = f"{value:.4g}".partition("e")
    return f"${digits}\\times10^{{{int(exponent)}}}$" if exponent else digits
