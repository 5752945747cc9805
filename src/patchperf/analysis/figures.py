"""Figures, each from its one table."""

from __future__ import annotations

import logging
from pathlib import Path

from patchperf.plots.figures import FIGURES, QUALITY_FIGURES
from patchperf.plots.style import save_figure
from patchperf.tables import read_table


def write_figure(name: str, table: str | Path, *made: str | Path) -> None:
    """Draw the figure of a name from its table, to files whose suffixes say the format."""
    logging.getLogger("fontTools").setLevel(logging.WARNING)
    plot = (FIGURES | QUALITY_FIGURES)[name]
    save_figure(plot.draw(read_table(table, plot.schema)), *made)
