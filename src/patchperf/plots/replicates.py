"""Every replicate of every solution of one case."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from patchperf.plots.style import (
    DARK,
    METRIC_COLOURS,
    SINGLE,
    empty_figure,
    metric_label,
    new_figure,
    say_missing,
    short_names,
    strip_axis,
    styled,
)


@styled
def draw_replicates(replicates: pd.DataFrame) -> Figure:
    """A panel per metric and a row per solution: values in per cent of the grand mean, with the solutions' means.

    Columns: metric, backend, label (of the solution), value, void. The grand mean is that of the solutions' means of
    usable values; void values are not drawn.
    """
    usable = replicates[~replicates["void"] & replicates["value"].notna()]
    if usable.empty:
        return empty_figure("No replicate has a usable value.")
    panels = list(usable.groupby(["metric", "backend"]))
    height = 0.5 + max(rows["label"].nunique() for _, rows in panels) * 0.28
    figure = new_figure(SINGLE, 0.2 + height * len(panels))
    for axes, ((metric, backend), rows) in zip(figure.subplots(len(panels), squeeze=False)[:, 0], panels, strict=True):
        means = rows.groupby("label", sort=False)["value"].mean()
        grand = means.mean()
        for place, (label, mean) in enumerate(means.items()):
            apart = 100 * (rows.loc[rows["label"] == label, "value"] / grand - 1)
            colour = METRIC_COLOURS.get(str(metric), DARK)
            axes.plot(apart, [place] * len(apart), "o", color=colour, alpha=0.6, markersize=3.5, markeredgewidth=0)
            axes.plot([100 * (mean / grand - 1)], [place], "|", color=DARK, markersize=9)
        axes.set_yticks(range(len(means)), short_names(list(means.index)))
        axes.set_ylim(-0.6, len(means) - 0.4)
        axes.set_title(metric_label(str(metric), str(backend)))
        axes.set_xlabel("from the mean of all solutions (%)")
        strip_axis(axes)
    say_missing(figure, usable["metric"])
    return figure
