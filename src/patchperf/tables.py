"""Tables as files: CSV with full precision for programs, LaTeX for people; and reading the CSV back as it was."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from patchperf.errors import InputError

LONG = 40
"""Rows from which a LaTeX table breaks over pages."""

MOST = 1_000
"""Rows that a LaTeX table has at most: some twenty pages; nobody prints more."""

BREAKING, PAGE, DENSE = 18, 90, 130
"""Characters from which a text breaks in such a table; that fit beside each other on a page in small print; and on a
page turned aside."""

SMALLEST = 0.0001
"""Below it, print says no more of a p-value."""

PACKAGES = "% \\usepackage{array,booktabs,longtable,graphicx,pdflscape}\n"

_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    }
)


def write_table(
    frame: pd.DataFrame, csv_path: str | Path, tex_path: str | Path, caption: str, columns: Sequence[str] | None = None
) -> None:
    """Write a table twice: as CSV, and as a LaTeX table (packages booktabs and longtable) with a caption.

    CSV has all columns, floats that read back to the same bits, and lists joined by a space. LaTeX has ``columns``
    (default: all) with four significant digits, p-values with four decimals. The label is ``tab:`` and the file's name.
    Missing folders are made.
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
    """The table as LaTeX source with booktabs' rules; its first line names the packages that it needs.

    A small one is a table, shrunk a little where it is wider than the text. One of more than 40 rows, or much wider, is
    a longtable in small print whose long texts break, on pages turned aside where it is wide. Cells and column names
    are escaped; ``caption`` is LaTeX already. Of more than 1,000 rows the first are set, and the caption says so.
    """
    if len(frame) > MOST:
        caption = f"{caption} The first {MOST} of {len(frame)} rows; all are in the CSV file."
    cells = _joined(frame.head(MOST)).reset_index(drop=True)
    widths = {name: _width(cells[name], str(name)) for name in cells.columns}
    total = sum(widths.values())
    long = total > PAGE or len(cells) > LONG
    style = cells.style.hide(axis="index").format(_cell, na_rep="--", escape="latex")
    levels = [name for name in cells.columns if _is_level(str(name))]
    style = style.format(_level, na_rep="--", subset=pd.Index(levels)) if levels else style
    if long:
        broken = [name for name in cells.columns if widths[name] > BREAKING]
        style = style.format(_breakable, na_rep="--", subset=pd.Index(broken)) if broken else style
    headings = (
        style.format_index(_heading, axis="columns") if long else style.format_index(escape="latex", axis="columns")
    )
    source = headings.to_latex(
        environment="longtable" if long else "table",
        position=None if long else "htbp",
        position_float=None if long else "centering",
        column_format="".join(_alignment(cells[name], widths[name], long) for name in cells.columns),
        hrules=True,
        caption=caption,
        label=label,
    )
    return PACKAGES + (_small_print(source, total) if long else _fitting(source))


def _is_number(cells: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(cells.dtype) and not pd.api.types.is_bool_dtype(cells.dtype)


def _alignment(cells: pd.Series, width: int, long: bool) -> str:
    if _is_number(cells):
        return "r"
    return rf">{{\raggedright\arraybackslash}}p{{{BREAKING / 2:g}em}}" if long and width > BREAKING else "l"


def _width(cells: pd.Series, name: str) -> int:
    """How many characters a column is wide, about: its longest cell, or a part of its name that does not break."""
    shown = cells.map(_level if _is_level(name) else _cell, na_action="ignore")
    lengths = shown.map(lambda text: len(re.sub(r"\\times|[$^{}]", "", text)), na_action="ignore")
    return max(*map(len, name.split("_")), int(lengths.max()) if lengths.notna().any() else 0)


def _heading(name: object) -> str:
    """A column's name, its parts on lines of their own."""
    parts = [part.translate(_LATEX) for part in str(name).split("_")]
    return r"\shortstack[l]{" + r"\_\\".join(parts) + "}" if len(parts) > 1 else parts[0]


def _fitting(source: str) -> str:
    shrunk = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
    return source.replace(r"\begin{tabular}", f"{shrunk}\n\\begin{{tabular}}").replace(
        r"\end{tabular}", r"\end{tabular}}"
    )


def _small_print(source: str, width: int) -> str:
    begin, end = (r"\begin{landscape}", r"\end{landscape}") if width > PAGE else (r"\begingroup", r"\endgroup")
    size = r"\tiny" if width > DENSE else r"\scriptsize"
    return f"{begin}{size}\\setlength{{\\tabcolsep}}{{2pt}}\n{source}{end}\n"


def _breakable(value: Any) -> str:
    """A text's LaTeX that may break behind its punctuation."""
    escaped = str(value).translate(_LATEX)
    return re.sub(r"(?<=[,:;/.-])(?=\S)|(?<=\\_)(?=[^\\])", r"\\allowbreak{}", escaped)


def _joined(frame: pd.DataFrame) -> pd.DataFrame:
    lists = [name for name in frame.columns if pd.api.types.is_object_dtype(frame[name])]
    return frame.assign(**{name: frame[name].map(_words) for name in lists})


def _words(value: Any) -> str:
    return value if isinstance(value, str) else " ".join(map(str, value))


def _is_level(name: str) -> bool:
    """Whether a column has p-values."""
    return name in ("p", "q") or name.startswith("p_")


def _level(p: Any) -> str:
    return f"{p:.4f}" if p >= SMALLEST else f"$<{SMALLEST:g}$"


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, float):
        return str(value)
    if math.isinf(value):
        return "$\\infty$" if value > 0 else "$-\\infty$"
    digits, _, exponent = f"{value:.4g}".partition("e")
    return f"${digits}\\times10^{{{int(exponent)}}}$" if exponent else digits
