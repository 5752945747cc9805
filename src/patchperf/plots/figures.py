"""The study's figures by name: which table each is drawn from, and how."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

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

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Plot:
    """The one table a figure is drawn from, its schema, and the function that draws it: ``<module>.<function>``.

    The module is imported when it draws: what one figure needs of scipy or seaborn would cost all others a second.
    """

    table: str
    schema: Schema
    function: str

    def draw(self, table: pd.DataFrame) -> Figure:
        """The figure of a table of the schema."""
        module, _, function = self.function.partition(".")
        return cast("Figure", getattr(importlib.import_module(f"patchperf.plots.{module}"), function)(table))


OUTCOME_FIGURES = {
    "outcomes": Plot("outcomes", OUTCOMES, "outcomes.draw_outcomes"),
    "outcome_rates": Plot("outcome_rates", OUTCOME_RATES, "outcome_rates.draw_outcome_rates"),
    "outcome_repositories": Plot("outcome_rates", OUTCOME_RATES, "outcome_rates.draw_outcome_repositories"),
    "outcome_flows": Plot("outcome_flows", OUTCOME_FLOWS, "outcome_flows.draw_outcome_flows"),
}
"""Those that ``patchperf outcomes`` draws without a study."""

QUALITY_FIGURES = {
    "quality": Plot("quality", QUALITY, "quality.draw_quality"),
    "quality_weights": Plot("quality", QUALITY, "quality.draw_quality_weights"),
    "normalisation": Plot("quality", QUALITY, "quality.draw_normalisation"),
    "correctness_by_size": Plot("correctness_by_size", SIZES, "quality.draw_correctness_by_size"),
    "generation_speed": Plot("generation_speed", GENERATION_SPEED, "generation_speed.draw_generation_speed"),
}
"""Those that ``patchperf quality`` draws without a study."""

FIGURES = {
    "funnel": Plot("funnel", FUNNEL, "funnel.draw_funnel"),
    "io": Plot("io", IO, "io.draw_io"),
    **OUTCOME_FIGURES,
    "repetitions": Plot("cases", CASES, "repetitions.draw_repetitions"),
    "noise": Plot("solutions", SOLUTIONS, "noise.draw_noise"),
    "significance": Plot("cases", CASES, "significance.draw_significance"),
    "metrics": Plot("contrasts", CONTRASTS, "metrics.draw_metrics"),
    "speedups": Plot("speedups", SPEEDUPS, "speedups.draw_speedups"),
    "ratios": Plot("pairs", PAIRS, "ratios.draw_ratios"),
    "champions": Plot("champions", CHAMPIONS, "champions.draw_champions"),
}
