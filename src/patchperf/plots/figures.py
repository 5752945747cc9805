"""The study's figures by name: which table each is drawn from, and how."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd
from matplotlib.figure import Figure

from patchperf.plots.champions import draw_champions
from patchperf.plots.funnel import draw_funnel
from patchperf.plots.io import draw_io
from patchperf.plots.noise import draw_noise
from patchperf.plots.outcomes import draw_outcomes
from patchperf.plots.ratios import draw_ratios
from patchperf.plots.repetitions import draw_repetitions
from patchperf.plots.significance import draw_significance
from patchperf.plots.speedups import draw_speedups
from patchperf.stats.schema import CASES, CHAMPIONS, FUNNEL, IO, OUTCOMES, PAIRS, SOLUTIONS, SPEEDUPS, Schema


@dataclass(frozen=True)
class Plot:
    """The schema of the one table a figure is drawn from, and the function that draws it."""

    schema: Schema
    draw: Callable[[pd.DataFrame], Figure]


FIGURES = {
    "funnel": Plot(FUNNEL, draw_funnel),
    "io": Plot(IO, draw_io),
    "outcomes": Plot(OUTCOMES, draw_outcomes),
    "repetitions": Plot(CASES, draw_repetitions),
    "noise": Plot(SOLUTIONS, draw_noise),
    "significance": Plot(CASES, draw_significance),
    "speedups": Plot(SPEEDUPS, draw_speedups),
    "ratios": Plot(PAIRS, draw_ratios),
    "champions": Plot(CHAMPIONS, draw_champions),
}
