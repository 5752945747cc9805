"""Where the marks of a strip plot lie: every replicate of every solution on one axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, LABEL, MARGIN, ROW, TOP, AXIS = 780, 230, 14, 30, 6, 34
"""Of the drawing in pixels: its width, the room for labels, beside the axis, for a solution, above and below all."""

_JITTER = (0, -5, 5, -2.5, 2.5, -7.5, 7.5)
"""Where marks of one solution lie around its line, so that equal values are seen beside each other."""


@dataclass(frozen=True)
class Value:
    """A replicate's value, and the anchor of its row; ``told`` is what a reader hears of it."""

    value: float
    void: bool
    anchor: str
    told: str


@dataclass(frozen=True)
class Mark:
    """A replicate in the drawing."""

    x: float
    y: float
    void: bool
    anchor: str
    told: str


@dataclass(frozen=True)
class Lane:
    """A solution in the drawing; ``mean`` is where its mean lies, None for one without usable values."""

    label: str
    y: float
    mean: float | None
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class Tick:
    """A tick of the axis."""

    x: float
    label: str


@dataclass(frozen=True)
class Strip:
    """A drawing of ``WIDTH`` by ``height``, its axis from ``left`` to ``right`` at ``base``."""

    height: int
    left: int
    right: int
    base: int
    lanes: tuple[Lane, ...]
    ticks: tuple[Tick, ...]


def strip(lanes: Sequence[tuple[str, Sequence[Value]]]) -> Strip | None:
    """The drawing of some solutions, in their order; None where no value is usable.

    The axis is in per cent of the grand mean, the mean of the solutions' means of usable values, apart from it. Void
    values outside the range of usable ones are drawn at its edge.
    """
    usable = [[one.value for one in values if not one.void and math.isfinite(one.value)] for _, values in lanes]
    means = [math.fsum(values) / len(values) if values else None for values in usable]
    known = [mean for mean in means if mean is not None]
    grand = math.fsum(known) / len(known) if known else 0.0
    if grand <= 0:
        return None
    apart = [value / grand - 1 for values in usable for value in values]
    low, high = min(apart), max(apart)
    room = 0.08 * (high - low) or 1e-6
    low, high = low - room, high + room
    left, right = LABEL, WIDTH - MARGIN
    base = TOP + ROW * len(lanes)

    def place(value: float) -> float:
        share = (value / grand - 1 - low) / (high - low)
        return round(left + (right - left) * min(1.0, max(0.0, share)), 1)

    drawn = []
    for row, ((label, values), mean) in enumerate(zip(lanes, means, strict=True)):
        y = TOP + ROW * (row + 0.5)
        marks = tuple(
            Mark(place(one.value), y + _JITTER[turn % len(_JITTER)], one.void, one.anchor, one.told)
            for turn, one in enumerate(values)
            if math.isfinite(one.value)
        )
        drawn.append(Lane(label, y, None if mean is None else place(mean), marks))
    ticks = tuple(Tick(place(grand * (1 + at)), _label(at)) for at in round_ticks(low, high))
    return Strip(base + AXIS, left, right, base, tuple(drawn), ticks)


def round_ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers between two, at most so many, a step of 1, 2 or 5 times a power of ten apart."""
    rough = (high - low) / (most - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * (1 - 1e-9))
    return [step * place for place in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _label(apart: float) -> str:
    if abs(apart) < 1e-12:
        return "0 %"
    return f"{100 * apart:+.3g} %".replace("-", "−")
