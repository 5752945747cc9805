"""How fast sources generate patches, beside how large they are."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from patchperf.quality.schema import GENERATION_SPEED
from patchperf.stats.schema import typed

PARAMETERS = ("total", "active")
FEWEST = 3
"""Sources from which on ranks are correlated: two are always in one order or in the other."""


def generation_speed_table(speeds: pd.DataFrame) -> pd.DataFrame:
    """Speeds, fastest first, with Spearman's rank correlation of speed and parameters (1904).

    ``speeds`` has the columns of SPEEDS; sources without a speed have no row. ``relative_speed`` is to the fastest. The
    correlations are of all sources with that number of parameters, so they are the same in every row, as is their n;
    below three sources, and where all are equal, there are none.
    """
    known = speeds[speeds["tokens_per_second"].notna()].sort_values(
        ["tokens_per_second", "source"], ascending=[False, True]
    )
    table = known.assign(relative_speed=known["tokens_per_second"] / known["tokens_per_second"].max())
    for kind in PARAMETERS:
        both = known[["tokens_per_second", f"{kind}_parameters"]].dropna()
        table[f"rho_{kind}"], table[f"n_{kind}"] = spearman(both), len(both)
    return typed(table, GENERATION_SPEED)


def spearman(pairs: pd.DataFrame) -> float:
    """Spearman's ρ of the two columns, ties sharing their mean rank; NaN where there is none."""
    if len(pairs) < FEWEST or (pairs.nunique() == 1).any():
        return np.nan
    return float(stats.spearmanr(pairs.iloc[:, 0], pairs.iloc[:, 1]).statistic)
