"""The size of differences against the evidence for them."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from patchperf.plots.style import (
    DARK,
    DOUBLE,
    METRIC_COLOURS,
    SINGLE,
    decade_axis,
    empty_figure,
    mark_distinguishable,
    metric_label,
    new_figure,
    say_missing,
    styled,
)
from patchperf.stats.schema import backends

LEAST_P = 1e-12
LEAST_RSD = 1e-6


@styled
def draw_significance(cases: pd.DataFrame) -> Figure:
    """RSD of solution means against Welch's p, a point per tested case, a panel per metric.

    Filled points are distinguishable. Points beyond the axes' ends (p below 1e-12, RSD below 1e-6) are triangles there.
    """
    tested = cases.dropna(subset=["rsd", "p"])
    if tested.empty:
        return empty_figure("No case was tested: RSD and p need two measured solutions.")
    metrics = list(tested.groupby("metric"))
    figure = new_figure(SINGLE if len(metrics) == 1 else DOUBLE, 2.5)
    panels = figure.subplots(1, len(metrics), squeeze=False, sharex=True, sharey=True)[0]
    for axes, (metric, rows) in zip(panels, metrics, strict=True):
        p, rsd = rows["p"].clip(lower=LEAST_P), rows["rsd"].clip(lower=LEAST_RSD)
        edge = (rows["p"] < LEAST_P) | (rows["rsd"] < LEAST_RSD)
        colour = METRIC_COLOURS.get(str(metric), DARK)
        for marker, here in (("o", ~edge), ("^", edge)):
            for real in (False, True):
                shown = here & (rows["distinguishable"] == real)
                axes.scatter(
                    100 * rsd[shown],
                    p[shown],
                    s=11,
                    marker=marker,
                    facecolors=colour if real else "none",
                    edgecolors=colour if real else DARK,
                    linewidths=0.5,
                    alpha=0.8,
                    clip_on=False,
                    zorder=3,
                )
        alpha = rows["alpha"].iloc[0]
        axes.axhline(alpha, color=DARK, linewidth=0.8, linestyle="--")
        axes.text(1, alpha, f"α = {alpha:g}", transform=axes.get_yaxis_transform(), ha="right", va="bottom", fontsize=6)
        count = int(rows["distinguishable"].sum())
        axes.set_title(
            f"{metric_label(str(metric), backends(rows['backend']))}\n{count} of {len(rows)} distinguishable"
        )
        axes.set_yscale("log")
        axes.set_xlabel("RSD of solution means (%)")
    sizes = 100 * tested["rsd"].clip(lower=LEAST_RSD)
    decade_axis(panels[0], float(sizes.min()), float(sizes.max()))
    panels[0].set_ylim(1.5, min(1e-3, float(tested["p"].clip(lower=LEAST_P).min()) / 3))
    mark_distinguishable(figure)
    panels[0].set_ylabel("Welch's p on logs")
    say_missing(figure, tested["metric"])
    return figure
