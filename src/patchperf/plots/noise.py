"""How much the replicates of one solution differ."""

from __future__ import annotations

from itertools import cycle

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from patchperf.plots.style import (
    DARK,
    METRIC_COLOURS,
    SINGLE,
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
    floor, top = (_decade(positive.min()), 10 * _decade(positive.max())) if len(positive) else (LEAST, 1.0)
    axes.set(xscale="log", xlim=(100 * floor, 100 * top), ylim=(0, 1))
    for line, ((metric, backend), rows) in zip(cycle(LINES), varied.groupby(["metric", "backend"]), strict=False):
        label = f"{metric_label(str(metric), str(backend))}: median {100 * rows['cv'].median():.2g} %, n = {len(rows)}"
        axes.ecdf(
            100 * rows["cv"].clip(lower=floor),
            color=METRIC_COLOURS.get(str(metric), DARK),
            linestyle=line,
            label=label,
        )
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.set_xlabel("CV of a solution's replicates (%)")
    axes.set_ylabel("solutions")
    figure.legend(loc="outside upper left")
    say_missing(figure, varied["metric"])
    return figure


def _decade(value: float) -> float:
    return float(10.0 ** np.floor(np.log10(value)))
