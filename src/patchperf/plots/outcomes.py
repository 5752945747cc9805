"""What became of every source's candidates."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from patchperf.plots.style import DOUBLE, empty_figure, new_figure, short_names, strip_axis, styled
from patchperf.stats.schema import source_order

LOOKS = {
    "Resolved": ("#08519C", ""),
    "Breaking Resolved": ("#6BAED6", ""),
    "Partially Resolved": ("#C6DBEF", ""),
    "Work in Progress": ("#FEE6CE", ""),
    "No-Op": ("#FDAE6B", ""),
    "Regression": ("#D94801", ""),
    "test only": ("#FFFFFF", "...."),
    "empty": ("#FFFFFF", ""),
    "not applied": ("#D9D9D9", "////"),
    "timed out": ("#D9D9D9", "xxxx"),
    "infrastructure failure": ("#D9D9D9", "++++"),
}
"""Colour and hatch of each outcome, best to worst, then those of candidates that ran no test."""

NARROWEST = 0.035
"""Share of a bar below which its count does not fit inside."""


@styled
def draw_outcomes(outcomes: pd.DataFrame) -> Figure:
    """Shares of outcomes per source, with counts where they fit; the number of candidates stands beside each source."""
    if outcomes.empty:
        return empty_figure("No candidates were graded.")
    counts = outcomes.groupby(["source", "outcome"]).size().unstack(fill_value=0)
    order = [*(name for name in LOOKS if name in counts), *sorted(set(counts.columns).difference(LOOKS))]
    counts = counts.loc[source_order(counts.index), order]
    totals = counts.sum(axis="columns")
    figure = new_figure(DOUBLE, 0.9 + 0.22 * len(counts))
    axes = figure.add_subplot()
    start = pd.Series(0.0, index=counts.index)
    sources = short_names(list(totals.index))
    labels = [f"{source}  ({total})" for source, total in zip(sources, totals, strict=True)]
    for name, count in counts.items():
        colour, hatch = LOOKS.get(str(name), ("#FFFFFF", "++++"))
        share = count / totals
        axes.barh(
            labels,
            share,
            left=start,
            color=colour,
            hatch=hatch,
            edgecolor="#4D4D4D",
            linewidth=0.4,
            label=name,
            height=0.75,
        )
        dark = sum(int(colour[place : place + 2], 16) for place in (1, 3, 5)) < 3 * 128
        for place, (number, width, left) in enumerate(zip(count, share, start, strict=True)):
            if width >= NARROWEST:
                box = {"facecolor": colour, "edgecolor": "none", "pad": 0.6} if hatch else None
                axes.text(
                    left + width / 2,
                    place,
                    number,
                    ha="center",
                    va="center",
                    color="white" if dark else "black",
                    fontsize=6,
                    bbox=box,
                )
        start = start + share
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.set_xlabel("share of the source's candidates (number in brackets)")
    strip_axis(axes)
    figure.legend(loc="outside upper center", ncols=6, columnspacing=1.2, handlelength=1.2)
    return figure
