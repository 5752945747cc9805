"""Who has the fastest solution, how often."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from patchperf.plots.style import (
    DARK,
    DOUBLE,
    METRIC_COLOURS,
    SETTING_NAMES,
    SINGLE,
    empty_figure,
    metric_label,
    new_figure,
    say_missing,
    short_names,
    strip_axis,
    styled,
)
from patchperf.stats.schema import SETTINGS, backends, source_order

HEIGHT = 0.38


@styled
def draw_champions(champions: pd.DataFrame) -> Figure:
    """Share of the champion votes per source over all cases (pale) and over distinguishable ones, a panel per metric.

    Beside each bar stands the number of votes.
    """
    if champions.empty:
        return empty_figure("No cases were measured: no votes.")
    metrics = list(champions.groupby("metric"))
    sources = source_order(champions["source"])
    figure = new_figure(SINGLE if len(metrics) == 1 else DOUBLE, 1.2 + 0.32 * len(sources))
    panels = figure.subplots(1, len(metrics), squeeze=False, sharey=True, sharex=True)[0]
    for axes, (metric, of_metric) in zip(panels, metrics, strict=True):
        for number, setting in enumerate(SETTINGS):
            rows = of_metric[of_metric["setting"] == setting].set_index("source").reindex(sources)
            cases = int(rows["cases"].max())
            places = [place + (number - 0.5) * HEIGHT for place in range(len(sources))]
            share = (rows["votes"] / cases if cases else rows["votes"]).to_numpy()
            axes.barh(
                places,
                share,
                height=HEIGHT,
                color=METRIC_COLOURS.get(str(metric), DARK),
                alpha=1.0 if number else 0.35,
                label=f"{SETTING_NAMES[setting]} ({cases})",
            )
            for place, value, votes in zip(places, share, rows["votes"], strict=True):
                axes.text(value, place, f" {round(votes, 2):g}", va="center", fontsize=6)
        axes.set_title(metric_label(str(metric), backends(of_metric["backend"])), pad=24)
        axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g}%")
        axes.set_xlabel("share of votes for the fastest solution")
        axes.legend(loc="lower left", bbox_to_anchor=(-0.02, 0.99), borderpad=0, handlelength=1.2)
    panels[0].margins(x=0.12)
    panels[0].set_yticks(range(len(sources)), short_names(sources))
    panels[0].set_ylim(-0.6, len(sources) - 0.4)
    strip_axis(panels[0])
    for axes in panels[1:]:
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
    say_missing(figure, champions["metric"])
    return figure
