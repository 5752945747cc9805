"""The study's figures by name: which table each is drawn from, and how."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd
from matplotlib.figure import Figure

from patchperf.plots.champions import draw_champions
from patchperf.plots.funnel import draw_funnel
from patchperf.plots.generation_speed import draw_generation_speed
from patchperf.plots.io import draw_io
from patchperf.plots.metrics import draw_metrics
from patchperf.plots.noise import draw_noise
from patchperf.plots.outcome_flows import draw_outcome_flows
from patchperf.plots.outcome_rates import draw_outcome_rates, draw_outcome_repositories
from patchperf.plots.outcomes import draw_outcomes
from patchperf.plots.quality import (
    draw_correctness_by_size,
    draw_normalisation,
    draw_quality,
    draw_quality_weights,
)
from patchperf.plots.ratios import draw_ratios
from patchperf.plots.repetitions import draw_repetitions
from patchperf.plots.significance import draw_significance
from patchperf.plots.speedups import draw_speedups
from patchperf.quality.schema import GENERATION_SPEED, QUALITY, SIZES
from patchperf.stats.schema import (
    CASES,
    CHAMPIONS,
    CONTRASTS,
    FUNNEL,
    IO,
    OUTCOME_FLOWS,
    OUTCOME_RATES,
    OUTCOMES,
    PAIRS,
    SOLUTIONS,
    SPEEDUPS,
    Schema,
)


@dataclass(frozen=True)
class Plot:
    """The one table a figure is drawn from, its schema, and the function that draws it."""

    table: str
    schema: Schema
    draw: Callable[[pd.DataFrame], Figure]


OUTCOME_FIGURES = {
    "outcomes": Plot("outcomes", OUTCOMES, draw_outcomes),
    "outcome_rates": Plot("outcome_rates", OUTCOME_RATES, draw_outcome_rates),
    "outcome_repositories": Plot("outcome_rates", OUTCOME_RATES, draw_outcome_repositories),
    "outcome_flows": Plot("outcome_flows", OUTCOME_FLOWS, draw_outcome_flows),
}
"""Those that ``patchperf outcomes`` draws without a study."""

QUALITY_FIGURES = {
    "quality": Plot("quality", QUALITY, draw_quality),
    "quality_weights": Plot("quality", QUALITY, draw_quality_weights),
    "normalisation": Plot("quality", QUALITY, draw_normalisation),
    "correctness_by_size": Plot("correctness_by_size", SIZES, draw_correctness_by_size),
    "generation_speed": Plot("generation_speed", GENERATION_SPEED, draw_generation_speed),
}
"""Those that ``patchperf quality`` draws without a study."""

FIGURES = {
    "funnel": Plot("funnel", FUNNEL, draw_funnel),
    "io": Plot("io", IO, draw_io),
    **OUTCOME_FIGURES,
    "repetitions": Plot("cases", CASES, draw_repetitions),
    "noise": Plot("solutions", SOLUTIONS, draw_noise),
    "significance": Plot("cases", CASES, draw_significance),
    "metrics": Plot("contrasts", CONTRASTS, draw_metrics),
    "speedups": Plot("speedups", SPEEDUPS, draw_speedups),
    "ratios": Plot("pairs", PAIRS, draw_ratios),
    "champions": Plot("champions", CHAMPIONS, draw_champions),
}
