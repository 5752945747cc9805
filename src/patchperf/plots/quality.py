"""How sources rank by the Quality Index, and how much of that hangs on weights and normalisation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Polygon
from matplotlib.ticker import MaxNLocator

from patchperf.plots.style import (
    BLUE,
    DARK,
    DOUBLE,
    PALE,
    SINGLE,
    SOURCE_COLOURS,
    empty_figure,
    listed_height,
    new_figure,
    short_names,
    shortened,
    source_line,
    source_look,
    strip_axis,
    styled,
    text_width,
)
from patchperf.quality.dimensions import DIMENSIONS
from patchperf.quality.simplex import first_region
from patchperf.stats.layout import Floats

HATCHES = ("", "////", "....", "\\\\\\\\", "----", "xxxx", "||||", "oooo", "++++", "OO", "**", "//..")
PALENESS = 0.55
LINE = 0.075
"""Height of a line of small print, in sides of the triangle."""

LOWEST = 0.25
"""How high the lowest name stands beside the triangle, about, so that there is room for it."""

CORNERS = (((-0.02, -0.03), "left"), ((1.02, -0.03), "right"), ((0.5, 0.89), "center"))
"""Where the names of the corners stand, and how they are aligned."""

COLUMNS = 4
"""Most schemes side by side."""

EFFICIENCY_WEIGHTS = (0.0, 0.25, 0.5)
NORMALISATION_NAMES = {"ratio": "ratio to the fastest", "min-max": "min–max"}
NOTHING = "No patches were rated."


@styled
def draw_quality(quality: pd.DataFrame) -> Figure:
    """The index of each source with its 95 % interval, a panel per scheme, best first under the first scheme."""
    table = quality[(quality["normalisation"] == "ratio") & quality["index"].notna()]
    if table.empty:
        return empty_figure(NOTHING)
    schemes = list(dict.fromkeys(table["scheme"]))
    first = table[table["scheme"] == schemes[0]].sort_values("index", ascending=False)
    sources = list(dict.fromkeys([*first["source"], *table["source"]]))
    columns = min(len(schemes), COLUMNS)
    lines = math.ceil(len(schemes) / columns)
    figure = new_figure(DOUBLE, 0.4 + lines * (0.5 + 0.22 * len(sources)))
    panels = figure.subplots(lines, columns, squeeze=False, sharey=True, sharex=True).ravel()
    for axes in panels[len(schemes) :]:
        axes.set_axis_off()
    for axes, scheme in zip(panels, schemes, strict=False):
        rows = table[table["scheme"] == scheme].set_index("source").reindex(sources)
        places = range(len(sources))
        axes.hlines(places, rows["low"], rows["high"], color=BLUE, linewidth=1.0)
        axes.plot(rows["index"], places, "o", color=BLUE, markersize=3.5)
        for place, rank in zip(places, rows["rank"], strict=True):
            text = "" if pd.isna(rank) else f"{rank}."
            axes.annotate(text, (0.985, place), xycoords=("axes fraction", "data"), va="center", ha="right", fontsize=6)
        axes.set_title(_scheme_label(rows, scheme))
        axes.grid(axis="x", color=PALE, linewidth=0.4)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
    for axes in panels[len(schemes) - columns : len(schemes)]:
        axes.tick_params(labelbottom=True)
    panels[0].margins(x=0.15)
    panels[0].xaxis.set_major_locator(MaxNLocator(4, prune="both"))
    panels[0].set_yticks(range(len(sources)), short_names(sources))
    panels[0].set_ylim(-0.6, len(sources) - 0.4)
    strip_axis(panels[0])
    figure.supxlabel("Quality Index with 95 % interval over instances; numbers are ranks", fontsize=7)
    return figure


@styled
def draw_quality_weights(quality: pd.DataFrame) -> Figure:
    """Which source ranks first under which weights: triangles of all weights, at some weights of efficiency.

    In a triangle, a corner gives all that efficiency leaves to its dimension. Dots are the schemes whose weight of
    efficiency is nearest to the triangle's. Sources with equal scores share a region.
    """
    table = quality[quality["normalisation"] == "ratio"]
    rated = [name for name in DIMENSIONS if table[name].notna().any()]
    given = table[table["scheme"] == "equal"].dropna(subset=rated)
    if given.empty or len(rated) < 3:
        return empty_figure(NOTHING)
    scores = given[rated].to_numpy(dtype=float)
    distinct, member = np.unique(scores, axis=0, return_inverse=True)
    sources = np.array(shortened(list(given["source"])))
    names = [", ".join(sources[member.ravel() == number]) for number in range(len(distinct))]
    slices = EFFICIENCY_WEIGHTS if "efficiency" in rated else (0.0,)
    width = DOUBLE if len(slices) > 1 else SINGLE
    regions = {of_efficiency: _regions(distinct, of_efficiency) for of_efficiency in slices}
    leading = sorted({number for found in regions.values() for number in found}, key=lambda number: names[number])
    looks = {number: region_look(place) for place, number in enumerate(leading)}
    shown = short_names([names[number] for number in leading], 60)
    columns = max(1, min(6, len(shown), int(width / (0.45 + text_width(shown)))))
    figure = new_figure(width, 2.15 + 0.15 * math.ceil(len(shown) / columns))
    panels = dict(zip(slices, figure.subplots(1, len(slices), squeeze=False)[0], strict=True))
    for of_efficiency, axes in panels.items():
        for number, corners in regions[of_efficiency].items():
            axes.add_patch(Polygon(np.column_stack(_places(corners)), edgecolor=DARK, linewidth=0.5, **looks[number]))
        _mark_schemes(axes, table, of_efficiency, slices)
        for name, (place, side) in zip(rated, CORNERS, strict=False):
            axes.text(*place, name, ha=side, va="bottom" if side == "center" else "top", fontsize=6.5)
        axes.set(aspect="equal", xlim=(-0.06, 1.46), ylim=(-0.12, 1.0))
        axes.set_axis_off()
        axes.set_title(f"weight of efficiency {of_efficiency:g}" if len(slices) > 1 else "all weights")
    handles = [Patch(edgecolor=DARK, linewidth=0.5, **looks[number]) for number in leading]
    figure.legend(handles, shown, loc="outside lower center", ncols=columns, title="ranks first")
    return figure


@styled
def draw_normalisation(quality: pd.DataFrame) -> Figure:
    """Efficiency and the index under equal weights by both normalisations: what min–max does to a ranking."""
    table = quality[(quality["scheme"] == "equal") & quality["index"].notna()]
    if table.empty:
        return empty_figure(NOTHING)
    if set(table["normalisation"]) != set(NORMALISATION_NAMES):
        return empty_figure("Efficiency is not rated: nothing is normalised.")
    sources = sorted(set(table["source"]))
    shown = short_names(sources)
    figure = new_figure(DOUBLE, max(2.6, listed_height(len(sources))))
    panels = figure.subplots(1, 2)
    for axes, column in zip(panels, ("efficiency", "index"), strict=True):
        for number, source in enumerate(sources):
            rows = table[table["source"] == source].set_index("normalisation").reindex(list(NORMALISATION_NAMES))
            axes.plot(
                [0, 1],
                rows[column],
                markersize=4,
                linestyle=source_line(number),
                **source_look(number),
                label=f"{shown[number]} (correct {rows['correctness'].iloc[0]:.3g})",
            )
        axes.set_xticks([0, 1], list(NORMALISATION_NAMES.values()))
        axes.set_xlim(-0.15, 1.15)
        axes.set_title("Efficiency" if column == "efficiency" else "Index, equal weights")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center")
    return figure


@styled
def draw_correctness_by_size(sizes: pd.DataFrame) -> Figure:
    """Share of correct patches by the lines that the ground truth changes, with exact 95 % intervals, per source."""
    if sizes.empty:
        return empty_figure("The sizes of the fixes are not known.")
    classes = list(dict.fromkeys(sizes.sort_values("lines", key=lambda names: names.map(_first_number))["lines"]))
    instances = sizes.drop_duplicates("lines").set_index("lines")["instances"]
    sources = sorted(set(sizes["source"]))
    shown = short_names(sources)
    figure = new_figure(DOUBLE, max(2.4, listed_height(len(sources))))
    axes = figure.add_subplot()
    width = 0.7 / len(sources)
    for number, source in enumerate(sources):
        rows = sizes[sizes["source"] == source].set_index("lines").reindex(classes)
        places = np.arange(len(classes)) + (number - (len(sources) - 1) / 2) * width
        look = source_look(number)
        axes.vlines(places, rows["low"], rows["high"], color=look["color"], linewidth=0.8)
        axes.plot(places, rows["share"], linestyle="none", markersize=3.5, label=shown[number], **look)
    axes.set_xticks(range(len(classes)), [f"{name}\n({instances[name]})" for name in classes])
    axes.set_ylim(-0.03, 1.03)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.set_xlabel("lines that the ground truth changes (number of instances)")
    axes.set_ylabel("correct patches")
    figure.legend(loc="outside right center")
    return figure


def _scheme_label(rows: pd.DataFrame, scheme: str) -> str:
    weights = rows[[f"weight_{name}" for name in DIMENSIONS]].dropna()
    shown = "" if weights.empty else ", ".join(f"{weight:.2g}" for weight in weights.iloc[0])
    return f"{short_names([scheme])[0]}\n{shown}"


def _regions(scores: Floats, of_efficiency: float) -> dict[int, Floats]:
    """Where each source ranks first in the triangle at a weight of efficiency; none for those that do nowhere."""
    values = (1 - of_efficiency) * scores[:, :3].T
    if scores.shape[1] > 3:
        values = values + of_efficiency * scores[:, 3]
    found = {number: first_region(values, number) for number in range(len(scores))}
    return {number: corners for number, corners in found.items() if len(corners)}


def region_look(place: int) -> dict[str, Any]:
    """Pale colour and hatch of a region: twelve hatches, and 96 pairs of hatch and colour."""
    both = math.lcm(len(HATCHES), len(SOURCE_COLOURS))
    colour = np.array(to_rgb(SOURCE_COLOURS[(place + place // both) % len(SOURCE_COLOURS)]))
    return {"facecolor": tuple(1 - PALENESS * (1 - colour)), "hatch": HATCHES[place % len(HATCHES)]}


def _places(weights: Floats) -> tuple[Floats, Floats]:
    """Where weights lie in a triangle with corners (0, 0), (1, 0) and (½, √3/2)."""
    return weights[:, 1] + weights[:, 2] / 2, weights[:, 2] * math.sqrt(3) / 2


def _mark_schemes(axes: Axes, table: pd.DataFrame, of_efficiency: float, slices: Sequence[float]) -> None:
    """A dot per scheme whose weight of efficiency is nearest, named beside the triangle in the order of height."""
    dots = []
    for scheme, rows in table.groupby("scheme", sort=False):
        weights = rows.iloc[0][[f"weight_{name}" for name in DIMENSIONS]].to_numpy(dtype=float)
        left = weights[:3].sum()
        if min(slices, key=lambda each: abs(each - weights[3])) == of_efficiency and left > 0:
            x, y = _places(weights[np.newaxis, :3] / left)
            dots.append((x[0], y[0], str(scheme)))
    dots.sort(key=lambda dot: (dot[1], -dot[0]))
    heights = spread([max(y, LOWEST) for _, y, _ in dots], LINE)
    for (x, y, scheme), height in zip(dots, heights, strict=True):
        beside = 1.05 - height / math.sqrt(3)
        axes.plot([x, beside], [y, height], color="black", linewidth=0.5)
        axes.plot([x], [y], "o", color="white", markeredgecolor="black", markersize=3.5, markeredgewidth=0.7)
        name = axes.text(beside + 0.015, height, short_names([scheme], 20)[0], va="center", fontsize=5.5)
        name.set_in_layout(False)


def spread(wanted: Sequence[float], gap: float) -> list[float]:
    """Places in ascending order, at least a gap apart, about as far from those wanted (ascending) up as down."""
    upwards: list[float] = []
    for place in wanted:
        upwards.append(max(place, upwards[-1] + gap) if upwards else place)
    moved = np.mean(np.array(upwards) - np.array(wanted)) if upwards else 0.0
    return [float(place - moved) for place in upwards]


def _first_number(name: str) -> int:
    return int("".join(sign if sign.isdigit() else " " for sign in str(name)).split()[0])
