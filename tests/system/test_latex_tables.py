"""Tables as LaTeX sets them: small ones, long ones, wide ones, and texts full of its special characters."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pandas as pd
import pytest
from debian_packages import need

from patchperf.tables import latex_table

HOSTILE = "a_b {c} 100 % $x$ #1 & ~ ^ \\end{document} results/probes/owner__name-1.json, „Größe“ < > | * `"
TEXT_WIDTH_PT = 345
DOCUMENT = r"""\documentclass{article}
\usepackage[utf8]{inputenc}
\usepackage[T1]{fontenc}
%s
\begin{document}
See Table~\ref{tab:t}.
\input{table}
\end{document}
"""


def table(rows: int, texts: int, text: str) -> pd.DataFrame:
    """So many rows of a number, a share, a list, and so many columns of text."""
    numbers = {"n_1": range(rows), "share": [1.5e-21] * rows, "sources": [["m_1", "m 2"]] * rows}
    return pd.DataFrame({**numbers, **{f"text_{place}": [text] * rows for place in range(texts)}})


@pytest.mark.parametrize(
    ("rows", "texts", "text"),
    [(0, 1, ""), (3, 1, "ok"), (3, 4, "twenty characters ..."), (3, 3, HOSTILE), (100, 1, "ok"), (100, 3, HOSTILE)],
)
def test_every_shape_of_table_compiles_and_stays_on_its_page(tmp_path: Path, rows: int, texts: int, text: str) -> None:
    need({"pdflatex": "texlive-latex-recommended"})
    source = latex_table(table(rows, texts, text), "A caption", "tab:t")
    (tmp_path / "table.tex").write_text(source, "utf-8")
    packages = source.splitlines()[0].removeprefix("% ")
    (tmp_path / "paper.tex").write_text(DOCUMENT % packages, "utf-8")
    for _ in range(4):  # longtable finds its widths, and references their numbers, in several runs
        done = subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        printed = done.stdout.decode("latin-1")
        assert done.returncode == 0, printed[-3000:]
    assert "Overfull" not in printed
    assert "undefined" not in printed
