"""What each filter removed."""

from __future__ import annotations

import math

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from patchperf.plots.style import (
    BLUE,
    DARK,
    DOUBLE,
    GREY,
    SINGLE,
    empty_figure,
    new_figure,
    short_names,
    strip_axis,
    styled,
)

FILTER_NAMES = {
    "input": "Usable rows",
    "configuration": "Selected",
    "single-test": "Single test",
    "repeatability": "Repeatable",
    "io": "Free of I/O",
    "measurement": "Measurable",
    "corpus": "Corpus",
}
COLUMNS = 3


@styled
def draw_funnel(funnel: pd.DataFrame) -> Figure:
    """Instances left after each filter (solid) and removed by it (hatched), one panel per dataset."""
    datasets = list(funnel.groupby("dataset"))
    if not datasets:
        return empty_figure("No instances in the datasets.")
    columns = min(len(datasets), COLUMNS)
    rows = math.ceil(len(datasets) / columns)
    filters = funnel["filter"].unique()
    figure = new_figure(SINGLE if columns == 1 else DOUBLE, rows * (0.55 + 0.2 * len(filters)))
    panels = figure.subplots(rows, columns, squeeze=False, sharey=True).flat
    for axes, (dataset, steps) in zip(panels, datasets, strict=False):
        names = [FILTER_NAMES.get(name, name.capitalize()) for name in steps["filter"]]
        axes.barh(names, steps["left"], color=BLUE, height=0.7, label="left")
        axes.barh(
            names,
            steps["removed"],
            left=steps["left"],
            color="white",
            edgecolor=GREY,
            hatch="/////",
            linewidth=0.5,
            height=0.7,
            label="removed",
        )
        total = int(steps["left"].iloc[0] + steps["removed"].iloc[0])
        for place, (left, removed) in enumerate(zip(steps["left"], steps["removed"], strict=True)):
            text = f"{left}  (−{removed})" if removed else f"{left}"
            axes.text(left + removed + 0.02 * total, place, text, va="center", color=DARK, fontsize=6.5)
        axes.set_xlim(0, 1.3 * max(total, 1))
        axes.set_title(f"{short_names([str(dataset)])[0]}: n = {total}")
        axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True))
        axes.set_xlabel("instances")
    for axes in list(panels):
        axes.set_axis_off()
    strip_axis(figure.axes[0])
    for axes in figure.axes[1:]:
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=2)
    return figure
