"""Who is faster than whom: geometric means of ratios over the corpus."""

from __future__ import annotations

import numpy as np
import pandas as pd
import seaborn
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from patchperf.plots.style import (
    DOUBLE,
    PALE,
    SETTING_NAMES,
    empty_figure,
    is_upright,
    metric_label,
    name_columns,
    new_figure,
    ratio_ticks,
    say,
    say_missing,
    short_names,
    styled,
    text_width,
)
from patchperf.stats.schema import SETTINGS, backends, source_order

LEAST_RANGE = -float(np.log(0.99))
COLOURS = "RdBu_r"
CELL = 0.27
"""Height in inches of a cell whose number stands upright, which those of more than ``LYING`` sources do."""

LYING = 8


@styled
def draw_speedups(speedups: pd.DataFrame) -> Figure:
    """Geometric mean of the row's to the column's measurement, a row of panels per metric.

    Below 1 (blue) the source of the row is faster. Bold: the 95 % interval excludes 1. Colours are on a log scale that
    all panels share.
    """
    metrics = list(speedups.groupby("metric"))
    if not metrics:
        return empty_figure("No two sources share a measured case: no speedups.")
    sources = source_order([*speedups["source_i"], *speedups["source_j"]])
    shown = short_names(sources)
    room = text_width(shown) * (1 if is_upright(shown) else 0.6)
    figure = new_figure(DOUBLE, 1.0 + len(metrics) * (max(2.2, 0.4 + CELL * len(sources)) + room))
    panels = figure.subplots(len(metrics), len(SETTINGS), squeeze=False)
    limit = max(LEAST_RANGE, float(np.log(speedups["geometric_mean"]).abs().max()))
    scale = ScalarMappable(Normalize(-limit, limit), COLOURS)
    for row, (metric, of_metric) in enumerate(metrics):
        for column, setting in enumerate(SETTINGS):
            axes, cells = panels[row, column], of_metric[of_metric["setting"] == setting]
            counted = cells.loc[cells["n"] > 0, "n"]
            title = f"{metric_label(str(metric), backends(of_metric['backend']))}\n{SETTING_NAMES[setting]}"
            if counted.empty:
                axes.set_title(title)
                say(axes, f"No {SETTING_NAMES[setting]}.")
                continue
            few, many = counted.min(), counted.max()
            axes.set_title(f"{title}, n = {few}" + (f"–{many}" if few < many else ""))
            _heat_map(axes, cells, sources, limit)
            name_columns(axes, shown, first=0.5)
            axes.set_yticks([0.5 + place for place in range(len(sources))], shown, rotation=0)
            axes.tick_params(labelleft=column == 0)
    bar = figure.colorbar(scale, ax=panels, orientation="horizontal", shrink=0.6, aspect=40, pad=0.03)
    ticks = ratio_ticks(limit)
    bar.set_ticks([float(np.log(tick)) for tick in ticks], labels=[f"{tick:g}" for tick in ticks])
    bar.set_label("geometric mean of row / column\n(below 1: the row is faster; bold: 95 % interval excludes 1)")
    say_missing(figure, speedups["metric"])
    return figure


def _heat_map(axes: Axes, cells: pd.DataFrame, sources: list[str], limit: float) -> None:
    table = cells.set_index(["source_i", "source_j"])
    means = table["geometric_mean"].unstack("source_j").reindex(index=sources, columns=sources)
    texts = means.map(lambda mean: "–" if pd.isna(mean) else f"{mean:.3f}" if mean < 10 else f"{mean:.3g}")
    size = len(sources)
    upright = size > LYING
    seaborn.heatmap(
        np.log(means),
        ax=axes,
        vmin=-limit,
        vmax=limit,
        cmap=COLOURS,
        cbar=False,
        mask=np.eye(size, dtype=bool),
        annot=texts,
        fmt="",
        annot_kws={"fontsize": min(6.5, (110 if upright else 46) / size), "rotation": 90 if upright else 0},
    )
    axes.set_facecolor(PALE)
    certain = table[(table["low"] > 1) | (table["high"] < 1)].index
    for text in axes.texts:
        column, row = (int(place) for place in text.get_position())
        if (sources[row], sources[column]) in certain:
            text.set_fontweight("bold")
    axes.set(xlabel="", ylabel="")
    axes.tick_params(length=0)
