"""The ratios of single cases."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from patchperf.plots.style import (
    DARK,
    DOUBLE,
    GREY,
    METRIC_COLOURS,
    SINGLE,
    empty_figure,
    mark_distinguishable,
    metric_label,
    new_figure,
    say_missing,
    short_names,
    strip_axis,
    styled,
)
from patchperf.stats.schema import backends, source_order
from patchperf.study.instance import GROUND_TRUTH

LINEAR = 0.01
TICKS = (1e-4, 1e-3, 0.01, 0.1, 0.5, 0.9, 0.99, 1, 1.01, 1.1, 2, 10, 100, 1e3, 1e4)
SPREAD = 0.3


@styled
def draw_ratios(pairs: pd.DataFrame) -> Figure:
    """Every case's ratio of a model to the ground truth: points, quartiles (bar) and median (tick).

    Filled points are distinguishable cases. The axis is linear in ln r within 1 % around 1 and logarithmic beyond.
    Cases whose two sources share one solution have ratio 1 by definition; they are counted at the side, not drawn, and
    are part of the quartiles.
    """
    to_truth = pairs[pairs["source_j"] == GROUND_TRUTH]
    if to_truth.empty:
        return empty_figure("No model shares a measured case with the ground truth.")
    metrics = list(to_truth.groupby("metric"))
    sources = source_order(to_truth["source_i"])
    figure = new_figure(SINGLE if len(metrics) == 1 else DOUBLE, 0.9 + 0.42 * len(sources))
    panels = figure.subplots(1, len(metrics), squeeze=False, sharey=True)[0]
    for axes, (metric, rows) in zip(panels, metrics, strict=True):
        for place, source in enumerate(sources):
            _strip(axes, place, rows[rows["source_i"] == source], METRIC_COLOURS.get(str(metric), DARK))
        axes.axvline(0, color=DARK, linewidth=0.6, zorder=0)
        axes.set_title(metric_label(str(metric), backends(rows["backend"])))
        axes.set_xscale("symlog", linthresh=LINEAR, linscale=0.6)
        reach = max(2 * LINEAR, 1.4 * float(np.log(rows["ratio"]).abs().max()))
        ticks = [tick for tick in TICKS if abs(np.log(tick)) <= reach]
        axes.set_xlim(-reach, reach)
        axes.xaxis.set_major_locator(FixedLocator([float(np.log(tick)) for tick in ticks]))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xticklabels([f"{tick:g}" for tick in ticks])
        axes.set_xlabel("model / ground truth (below 1: faster)")
    panels[0].set_yticks(range(len(sources)), short_names(sources))
    panels[0].set_ylim(-0.6, len(sources) - 0.4)
    strip_axis(panels[0])
    for axes in panels[1:]:
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
    mark_distinguishable(figure)
    say_missing(figure, to_truth["metric"])
    return figure


def _strip(axes: Axes, place: int, rows: pd.DataFrame, colour: str) -> None:
    logs = np.log(rows["ratio"].to_numpy())
    drawn = rows[~rows["same_solution"]].sort_values("ratio")
    offsets = SPREAD * (2 * np.modf(np.arange(len(drawn)) * 0.6180339887)[0] - 1)
    for real in (False, True):
        shown = (drawn["distinguishable"] == real).to_numpy()
        axes.scatter(
            np.log(drawn["ratio"][shown]),
            place + offsets[shown],
            s=7,
            facecolors=colour if real else "none",
            edgecolors=colour if real else GREY,
            linewidths=0.4,
            alpha=0.7,
        )
    if len(logs):
        low, middle, high = np.quantile(logs, (0.25, 0.5, 0.75))
        axes.plot([low, high], [place, place], color=DARK, linewidth=2.2, solid_capstyle="butt", zorder=4)
        axes.plot([middle, middle], [place - 0.2, place + 0.2], color=DARK, linewidth=1.2, zorder=4)
    text = f"n = {len(rows)}" + (f"\n{len(rows) - len(drawn)} same code" if len(rows) > len(drawn) else "")
    axes.text(1.03, place, text, transform=axes.get_yaxis_transform(), va="center", fontsize=5.5, color=DARK)
