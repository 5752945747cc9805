"""Numbers as a reader wants them."""

from __future__ import annotations

import math

MISSING = "–"
NAMES = {"instructions": "Instructions", "wall_ns": "Wall clock"}
UNITS = {"instructions": "instructions", "wall_ns": "ns"}


def metric_name(metric: str) -> str:
    """A metric's name for people."""
    return NAMES.get(metric, metric)


def number(value: float | None, digits: int = 4) -> str:
    """A number with so many significant digits; a dash for a missing one."""
    if value is None or math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:.{digits}g}".replace("-", "−")


def percent(share: float | None, digits: int = 3) -> str:
    """A share in per cent."""
    if share is None or math.isnan(share):
        return MISSING
    return f"{number(100 * share, digits)} %"


def exact(value: float | None) -> str:
    """A measured total to its last digit, thousands apart; a count that was scaled has one decimal at most."""
    if value is None or math.isnan(value):
        return MISSING
    if math.isinf(value):
        return number(value)
    return f"{value:,.1f}".removesuffix(".0").replace(",", "\u202f")
