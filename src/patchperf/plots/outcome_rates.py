"""How often sources resolve issues and how often they only break something, over all instances and by repository."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from patchperf.plots.outcomes import LOOKS
from patchperf.plots.style import (
    DARK,
    DOUBLE,
    GREY,
    PALE,
    empty_figure,
    name_columns,
    new_figure,
    say,
    short_names,
    strip_axis,
    styled,
    text_width,
)
from patchperf.stats.outcome_rates import ALL
from patchperf.stats.schema import source_order

NOTHING = "No candidates were graded."
SERIES = {
    "Over all instances": (
        ("resolved_rate", "resolved", "Resolved", "o"),
        ("regression_rate", "regression", "Regression", "D"),
    ),
    "Among unresolved patches": (
        ("no_op_share", "no_op_share", "No-Op", "s"),
        ("regression_share", "regression_share", "Regression", "D"),
    ),
}
"""Panels: title, and of each series its column, that of its bounds, the outcome and the marker."""

DARKEST = 0.8
"""Shares above it have a shade that black cannot be read on."""

MOST = 14
"""Repositories shown by name; those with the fewest instances are pooled."""


@styled
def draw_outcome_rates(rates: pd.DataFrame) -> Figure:
    """Rates of Resolved and Regression, and shares of No-Op and Regression among unresolved, with 95 % intervals."""
    table = rates[rates["repo"] == ALL]
    if table.empty:
        return empty_figure(NOTHING)
    table = table.set_index("source").loc[source_order(table["source"])]
    figure = new_figure(DOUBLE, 1.4 + 0.26 * len(table))
    panels = figure.subplots(1, 2, sharey=True)
    for axes, (title, series) in zip(panels, SERIES.items(), strict=True):
        for offset, (column, bounds, outcome, marker) in zip((-0.14, 0.14), series, strict=True):
            places = np.arange(len(table)) + offset
            colour = LOOKS[outcome][0]
            axes.hlines(places, table[f"{bounds}_low"], table[f"{bounds}_high"], color=colour, linewidth=1.0)
            look = {"markeredgecolor": colour, "markerfacecolor": "white" if outcome == "Regression" else colour}
            axes.plot(table[column], places, marker, label=outcome, markersize=4, markeredgewidth=1.0, **look)
        axes.set_title(title, pad=15)
        axes.set_xlim(-0.02, 1.02)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        axes.grid(axis="x", color=PALE, linewidth=0.4)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.legend(loc="lower left", bbox_to_anchor=(-0.02, 0.99), ncols=2, borderpad=0, handletextpad=0.2)
    _number(panels[0], table["instances"], "instances")
    _number(panels[1], table["unresolved"], "unresolved")
    panels[0].set_yticks(range(len(table)), short_names(list(table.index)))
    panels[0].set_ylim(-0.6, len(table) - 0.4)
    strip_axis(panels[0])
    return figure


def _number(axes: Axes, counts: pd.Series, what: str) -> None:
    """What each line's rates are over, at the right edge."""
    for place, count in enumerate(counts):
        axes.annotate(
            f"{count}", (1.06, place), xycoords=("axes fraction", "data"), va="center", ha="right", fontsize=6,
            color=DARK, annotation_clip=False,
        )  # fmt: skip
    axes.set_xlabel(f"share\nat the right: number of {what}")


@styled
def draw_outcome_repositories(rates: pd.DataFrame) -> Figure:
    """Rates of Resolved and of Regression by repository and source, as numbers in shades."""
    table = pooled(rates[rates["repo"] != ALL])
    if table.empty:
        return empty_figure(NOTHING)
    sources = source_order(table["source"])
    repos = list(dict.fromkeys(table["repo"]))
    instances = table.groupby("repo")["instances"].max()
    shown = short_names(sources)
    figure = new_figure(DOUBLE, 0.7 + 0.2 * len(repos) + text_width(shown))
    size = min(6.0, 84 / len(sources))
    panels = figure.subplots(1, 2, sharey=True)
    for axes, outcome, colours in zip(panels, ("Resolved", "Regression"), ("Blues", "Oranges"), strict=True):
        shares = _matrix(table, outcome.lower(), repos, sources)
        if np.isnan(shares).all():
            say(axes, NOTHING)
            continue
        axes.imshow(shares, cmap=colours, vmin=0, vmax=1.25, aspect="auto")
        for (row, column), share in np.ndenumerate(shares):
            text = "" if np.isnan(share) else f"{100 * share:.0f}"
            ink = "white" if share > DARKEST else "black"
            axes.text(column, row, text, ha="center", va="center", color=ink, fontsize=size)
        axes.set_title(f"{outcome}, % of instances")
        name_columns(axes, shown)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    rows = zip(short_names(repos, 30), repos, strict=True)
    panels[0].set_yticks(range(len(repos)), [f"{name}  ({instances[repo]})" for name, repo in rows])
    figure.supxlabel("Number of instances in brackets.", x=0.01, ha="left", fontsize=6, color=GREY)
    return figure


def pooled(rates: pd.DataFrame, most: int = MOST) -> pd.DataFrame:
    """Counts by repository and source, most instances first; the smallest beyond ``most`` repositories are one row."""
    sizes = rates.groupby("repo")["instances"].max().sort_values(ascending=False, kind="stable")
    kept = sizes.index if len(sizes) <= most else sizes.index[: most - 1]
    rest = f"{len(sizes) - len(kept)} others"
    names = {repo: repo if repo in set(kept) else rest for repo in sizes.index}
    counts = ["instances", "resolved", "regression"]
    table = rates.assign(repo=rates["repo"].map(names)).groupby(["repo", "source"], sort=False)[counts].sum()
    place = {name: number for number, name in enumerate([*kept, rest])}
    return table.reset_index().sort_values("repo", key=lambda repos: repos.map(place), kind="stable")


def _matrix(table: pd.DataFrame, column: str, repos: list[str], sources: list[str]) -> np.ndarray:
    shares = table[column] / table["instances"]
    wide = table.assign(share=shares).pivot(index="repo", columns="source", values="share")
    return wide.reindex(index=repos, columns=sources).to_numpy(dtype=float)
