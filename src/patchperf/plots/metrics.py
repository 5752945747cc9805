"""Whether instructions and wall clock say the same about two solutions."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator

from patchperf.plots.style import (
    DARK,
    GREY,
    METRIC_COLOURS,
    METRIC_NAMES,
    PURPLE,
    SINGLE,
    empty_figure,
    metric_label,
    new_figure,
    say_missing,
    styled,
)
from patchperf.stats.schema import backends

COUNT, TIME = METRIC_NAMES
MANY = 1_000
"""Points from which they are smaller and paler."""

LINEAR = 0.001
TICKS = (1e-4, 1e-3, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 1, 1.001, 1.01, 1.1, 2, 10, 100, 1e3, 1e4)
LOOKS = {
    "neither": ("o", "none", GREY),
    f"{METRIC_NAMES[COUNT].lower()} only": ("s", "none", METRIC_COLOURS[COUNT]),
    f"{METRIC_NAMES[TIME].lower()} only": ("^", "none", METRIC_COLOURS[TIME]),
    "both": ("o", PURPLE, PURPLE),
}
"""Marker, fill and edge of a pair by the metrics whose interval of the ratio excludes 1."""


@styled
def draw_metrics(contrasts: pd.DataFrame) -> Figure:
    """The ratio of two solutions by wall clock against that by instructions, a point per pair of a case's solutions.

    Each pair stands as slower over faster by instructions, so that points above the horizontal line have the same order
    by wall clock; on the diagonal both ratios are equal. Axes are linear in ln r within 0.1 % around 1, logarithmic
    beyond.
    """
    both = _both(contrasts)
    if both.empty:
        figure = empty_figure("No two solutions were measured on both metrics.")
        say_missing(figure, contrasts["metric"])
        return figure
    figure = new_figure(SINGLE, 3.2)
    axes = figure.add_subplot()
    size, alpha = (9, 0.8) if len(both) < MANY else (4, 0.5)
    for name, (marker, fill, edge) in LOOKS.items():
        shown = both[both["told"] == name]
        axes.scatter(
            *(shown["count"], shown["time"]),
            s=size,
            marker=marker,
            facecolors=fill,
            edgecolors=edge,
            linewidths=0.6,
            alpha=alpha,
            label=f"{name} ({len(shown)})",
            zorder=3,
        )
    _log_ratio_axes(axes, both)
    axes.set_xlabel(f"{metric_label(COUNT, backends(both['backend_count']))}: slower / faster")
    axes.set_ylabel(f"{metric_label(TIME, backends(both['backend_time']))}:\nratio of the same two solutions")
    moved = both[both["count"] > 0]
    same = f"\n{(moved['time'] > 0).mean():.0%} in the same order" if len(moved) else ""
    axes.set_title(f"{_number(len(both), 'pair')} of solutions, {_number(both['instance_id'].nunique(), 'case')}{same}")
    figure.legend(title="Told apart by", title_fontsize=6.5, loc="outside lower center", ncols=2, handletextpad=0.1)
    return figure


def _number(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _both(contrasts: pd.DataFrame) -> pd.DataFrame:
    """Pairs with a ratio on both metrics: columns ``count`` (ln, not negative), ``time`` (ln), ``told``."""
    logs = contrasts.assign(
        log=np.log(contrasts["ratio"]), told=(contrasts["low"] > 1) | (contrasts["high"] < 1)
    ).dropna(subset="log")
    pair = ["instance_id", "solution_i", "solution_j"]
    count, time = (logs.loc[logs["metric"] == metric, [*pair, "backend", "log", "told"]] for metric in (COUNT, TIME))
    both = count.merge(time, on=pair, suffixes=("_count", "_time"))
    sign = np.where(both["log_count"] < 0, -1.0, 1.0)
    neither, count_only, time_only, by_both = LOOKS
    told = np.select(
        [both["told_count"] & both["told_time"], both["told_count"], both["told_time"]],
        [by_both, count_only, time_only],
        neither,
    )
    return both.assign(count=sign * both["log_count"], time=sign * both["log_time"], told=told)


def _log_ratio_axes(axes: Axes, both: pd.DataFrame) -> None:
    reach = max(0.01, 1.4 * float(both[["count", "time"]].to_numpy().max()))
    low = min(-LINEAR, 1.4 * float(both["time"].min()))
    axes.axhline(0, color=DARK, linewidth=0.6, zorder=0)
    axes.axline((0, 0), (reach, reach), color=DARK, linewidth=0.6, linestyle="--", zorder=0)
    axes.set_xscale("symlog", linthresh=LINEAR, linscale=0.5)
    axes.set_yscale("symlog", linthresh=LINEAR, linscale=0.5)
    axes.set_xlim(-LINEAR / 4, reach)
    axes.set_ylim(low, reach)
    for axis, least in ((axes.xaxis, 0.0), (axes.yaxis, low)):
        ticks = [tick for tick in TICKS if least <= np.log(tick) <= reach]
        axis.set_major_locator(FixedLocator([float(np.log(tick)) for tick in ticks]))
        axis.set_minor_locator(NullLocator())
        axis.set_ticklabels([f"{tick:g}" for tick in ticks])
