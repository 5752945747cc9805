"""The words of the Quality Index: its dimensions, what efficiency can be, and weights. Imports nothing heavy."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Literal

DIMENSIONS = ("correctness", "maintainability", "security", "efficiency")

Efficiency = Literal["generation", "runtime", "both", "none"]

Weights = Mapping[str, float]
"""Dimension to weight; weights are not negative and their sum is 1."""

GIVEN = ("equal", "correctness-priority", "other-priority")
"""The schemes that are always there."""

_SUM_TOLERANCE = 1e-9


def dimensions(efficiency: Efficiency) -> tuple[str, ...]:
    """The dimensions of an index: all four, or without efficiency three."""
    return DIMENSIONS if efficiency != "none" else DIMENSIONS[:3]


def wrong_weights(weights: Weights, rated: Collection[str]) -> str:
    """Why these are no weights of some of the dimensions; empty where they are."""
    if unknown := sorted(set(weights).difference(rated)):
        return f"no dimension {unknown[0]}; there are {', '.join(rated)}"
    if not all(math.isfinite(weight) and weight >= 0 for weight in weights.values()):
        return "a weight is below 0 or no number"
    total = math.fsum(weights.values())
    return f"the weights add up to {total:.12g}, not 1" if abs(total - 1) > _SUM_TOLERANCE else ""
