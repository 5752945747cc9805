"""Which repositories the I/O filter removed most from."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from patchperf.plots.style import BLUE, DARK, GREY, SINGLE, empty_figure, new_figure, short_names, strip_axis, styled

LARGEST = 15


@styled
def draw_io(io: pd.DataFrame) -> Figure:
    """Instances of each repository excluded for I/O (solid) and its others (hatched), the largest contributors only."""
    if io.empty:
        return empty_figure("No instance was excluded for I/O.")
    shown = io.head(LARGEST)
    figure = new_figure(SINGLE, 0.75 + 0.18 * len(shown))
    axes = figure.add_subplot()
    repos = short_names(list(shown["repo"]))
    axes.barh(repos, shown["excluded"], color=BLUE, height=0.7, label="excluded for I/O")
    axes.barh(
        repos,
        shown["instances"] - shown["excluded"],
        left=shown["excluded"],
        color="white",
        edgecolor=GREY,
        hatch="/////",
        linewidth=0.5,
        height=0.7,
        label="others",
    )
    most = int(shown["instances"].max())
    for place, (size, excluded, share) in enumerate(
        zip(shown["instances"], shown["excluded"], shown["share"], strict=True)
    ):
        text = f"{excluded} of {size} ({share:.0%})"
        axes.text(size + 0.02 * most, place, text, va="center", color=DARK, fontsize=6.5)
    axes.set_ylim(-0.5, len(shown) - 0.5)
    axes.set_xlim(0, 1.9 * most)
    axes.set_title(f"I/O exclusions: n = {io['excluded'].sum()}")
    axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
    axes.set_xlabel(f"instances ({LARGEST} of {len(io)} repositories)" if len(io) > LARGEST else "instances")
    strip_axis(axes)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower right", ncols=2)
    return figure
