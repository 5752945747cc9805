"""How fast sources generate patches against how large they are."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from patchperf.plots.style import DOUBLE, empty_figure, listed_height, new_figure, say, short_names, source_look, styled

PANELS = {"total": "Total parameters", "active": "Active parameters"}
ROOM = 1.6
"""The factor by which an axis goes beyond its outermost values."""


@styled
def draw_generation_speed(speeds: pd.DataFrame) -> Figure:
    """Tokens per second against total and against active parameters, both axes logarithmic, a marker per source."""
    if speeds.empty:
        return empty_figure("No generation speeds are given.")
    sized = speeds.dropna(subset=[f"{kind}_parameters" for kind in PANELS], how="all")
    if sized.empty:
        return empty_figure("No numbers of parameters are given.")
    figure = new_figure(DOUBLE, max(2.4, listed_height(len(sized))))
    panels = figure.subplots(1, 2)
    for axes, (kind, name) in zip(panels, PANELS.items(), strict=True):
        _draw_panel(axes, sized, kind, name)
    handles = {label: one for axes in panels for one, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    sources = list(sized["source"])
    figure.legend([handles[source] for source in sources], short_names(sources), loc="outside right center")
    return figure


def _draw_panel(axes: Axes, sized: pd.DataFrame, kind: str, name: str) -> None:
    rho, n = sized[f"rho_{kind}"].iloc[0], sized[f"n_{kind}"].iloc[0]
    if n == 0:
        say(axes, f"No {name.lower()} are given.")
        return
    column = f"{kind}_parameters"
    for number, (source, size, speed) in enumerate(
        zip(sized["source"], sized[column], sized["tokens_per_second"], strict=True)
    ):
        axes.plot([size], [speed], linestyle="none", markersize=5, label=source, **source_look(number))
    told = f"n = {n}" if pd.isna(rho) else f"Spearman's ρ = {rho:.2f}, n = {n}".replace("-", "−")
    axes.set(xscale="log", yscale="log", xlabel=f"{name} (billions)", ylabel="tokens per second", title=told)
    for axis, values in ((axes.xaxis, sized[column].dropna()), (axes.yaxis, sized["tokens_per_second"])):
        axis.axes.set(**{f"{axis.axis_name}lim": (values.min() / ROOM, values.max() * ROOM)})
        _plain_ticks(axis)


def _plain_ticks(axis: Axis) -> None:
    """Ticks of a logarithmic axis at 1, 2 and 5 of each decade, as plain numbers."""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_formatter(NullFormatter())
