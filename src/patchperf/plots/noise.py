"""How much the replicates of one solution differ."""

from __future__ import annotations

from itertools import cycle

import pandas as pd
from matplotlib.figure import Figure

from patchperf.plots.style import (
    DARK,
    METRIC_COLOURS,
    SINGLE,
    decade_axis,
    empty_figure,
    metric_label,
    new_figure,
    say_missing,
    styled,
)

LINES = ("-", "--", ":", "-.")
LEAST = 1e-6


@styled
def draw_noise(solutions: pd.DataFrame) -> Figure:
    """Share of solutions whose replicates vary by at most so much (CV), a line per metric and backend, with its median.

    Solutions whose replicates are all equal count at the left edge.
    """
    varied = solutions.dropna(subset="cv")
    if varied.empty:
        return empty_figure("No solution has two replicates: no noise to show.")
    figure = new_figure(SINGLE, 2.2)
    axes = figure.add_subplot()
    positive = varied.loc[varied["cv"] > 0, "cv"]
    floor, top = (float(positive.min()), float(positive.max())) if len(positive) else (LEAST, LEAST)
    decade_axis(axes, 100 * floor, 100 * top)
    axes.set_ylim(0, 1)
    for line, ((metric, backend), rows) in zip(cycle(LINES), varied.groupby(["metric", "backend"]), strict=False):
        label = f"{metric_label(str(metric), str(backend))}: median {100 * rows['cv'].median():.2g} %, n = {len(rows)}"
        axes.ecdf(
            100 * rows["cv"].clip(lower=axes.get_xlim()[0] / 100),
            color=METRIC_COLOURS.get(str(metric), DARK),
            linestyle=line,
            label=label,
        )
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.set_xlabel("CV of a solution's replicates (%)")
    axes.set_ylabel("solutions")
    figure.legend(loc="outside upper left")
    say_missing(figure, varied["metric"])
    return figure
