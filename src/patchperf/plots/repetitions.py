"""How often the measured loop repeats a test."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from patchperf.plots.style import BLUE, DARK, SINGLE, decade_axis, empty_figure, new_figure, styled


@styled
def draw_repetitions(cases: pd.DataFrame) -> Figure:
    """Distribution of the calibrated repetitions N over measured cases, with median and mean."""
    repetitions = cases.dropna(subset="repetitions").drop_duplicates("instance_id")["repetitions"].astype(float)
    if repetitions.empty:
        return empty_figure("No cases were measured: no repetitions.")
    figure = new_figure(SINGLE, 1.9)
    axes = figure.add_subplot()
    low, high = np.floor(np.log10(repetitions.min())), np.floor(np.log10(repetitions.max())) + 1
    axes.hist(
        repetitions,
        bins=np.logspace(low, high, int(high - low) * 4 + 1).tolist(),
        color=BLUE,
        edgecolor="white",
        linewidth=0.4,
    )
    for value, look, name in ((repetitions.median(), "-", "median"), (repetitions.mean(), "--", "mean")):
        axes.axvline(value, color=DARK, linestyle=look, linewidth=1, label=f"{name} {value:,.0f}")
    decade_axis(axes, float(repetitions.min()), float(repetitions.max()))
    axes.yaxis.set_major_locator(MaxNLocator("auto", integer=True))
    axes.set_xlabel("repetitions N per replicate (for all metrics)")
    axes.set_ylabel(f"cases ({len(repetitions)})")
    figure.legend(loc="outside upper right", ncols=2)
    return figure
