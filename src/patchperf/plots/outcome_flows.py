"""Who moved from which outcome to which between two runs of one source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from patchperf.plots.outcomes import LOOKS
from patchperf.plots.style import DOUBLE, SINGLE, empty_figure, new_figure, short_names, styled

NOTHING = "No source has an earlier run to be compared with."
COLUMNS = 2
BAR = 0.06
"""Width of the bars at both ends, of the panel's."""

GAP = 0.045
"""Room between two outcomes, of all instances."""

LINE = 0.06
"""Room that a name needs, of all instances."""

EDGE = "#4D4D4D"
ORDER = tuple(LOOKS)

Flows = Mapping[tuple[str, str], int]
"""Instances by their outcomes before and after."""

Spans = Mapping[str, tuple[float, float]]
"""Where each outcome's bar starts and ends, from the top."""


@styled
def draw_outcome_flows(flows: pd.DataFrame) -> Figure:
    """A panel per source with an earlier run: bars of outcomes before and after, bands of instances between them."""
    pairs: dict[tuple[str, str], dict[tuple[str, str], int]] = {}
    columns = ["source", "previous", "before", "after", "count"]
    for source, previous, before, after, count in flows[columns].itertuples(index=False, name=None):
        pairs.setdefault((source, previous), {})[before, after] = count
    if not pairs:
        return empty_figure(NOTHING)
    beside = min(COLUMNS, len(pairs))
    rows = -(-len(pairs) // beside)
    figure = new_figure(SINGLE if beside == 1 else DOUBLE, 0.3 + 2.6 * rows)
    panels = figure.subplots(rows, beside, squeeze=False).ravel()
    for axes, ((source, previous), moves) in zip(panels, pairs.items(), strict=False):
        _draw(axes, moves)
        axes.set_title(" → ".join(short_names([previous, source])))
    for axes in panels[len(pairs) :]:
        axes.set_axis_off()
    return figure


def _draw(axes: Axes, flows: Flows) -> None:
    before, after = Counter[str](), Counter[str]()
    for (left, right), count in flows.items():
        before[left] += count
        after[right] += count
    total = before.total()
    sides = (_spans(before, total), _spans(after, total))
    starts, ends = ({name: top for name, (top, _) in side.items()} for side in sides)
    for left, right in sorted(flows, key=lambda move: [ORDER.index(name) for name in move]):
        share = flows[left, right] / total
        _band(axes, starts[left], ends[right], share, LOOKS[left][0], moved=left != right)
        starts[left] += share
        ends[right] += share
    _bars(axes, sides[0], before, at_left=True)
    _bars(axes, sides[1], after, at_left=False)
    axes.set_xlim(-0.62, 1.62)
    axes.set_ylim(1 + GAP * max(map(len, sides)), -0.02)
    axes.set_axis_off()


def _spans(counts: Mapping[str, int], total: int) -> Spans:
    spans, top = {}, 0.0
    for name in sorted(counts, key=ORDER.index):
        spans[name] = (top, top + counts[name] / total)
        top = spans[name][1] + GAP
    return spans


def _bars(axes: Axes, spans: Spans, counts: Mapping[str, int], *, at_left: bool) -> None:
    """One side: each outcome's bar, and its name and number beside it, never closer than a line to the one above."""
    place, edge, align = (0.0, -0.02, "right") if at_left else (1.0 - BAR, 1.02, "left")
    lowest = -1.0
    for name, (low, high) in spans.items():
        colour, hatch = LOOKS[name]
        bar = axes.bar(place, high - low, BAR, low, align="edge", color=colour, hatch=hatch, edgecolor=EDGE)
        bar[0].set_linewidth(0.4)
        lowest = max(lowest + LINE, (low + high) / 2)
        axes.text(edge, lowest, f"{name} {counts[name]}", ha=align, va="center", fontsize=6)


def _band(axes: Axes, left: float, right: float, share: float, colour: str, *, moved: bool) -> None:
    """A band of one height from bar to bar, darker where the outcome changed."""
    x = np.linspace(BAR, 1 - BAR, 40)
    top = left + (right - left) * (1 - np.cos(np.linspace(0, np.pi, 40))) / 2
    alpha = 0.75 if moved else 0.25
    axes.fill_between(x, top, top + share, color=colour, alpha=alpha, linewidth=0.3, edgecolor=EDGE)
