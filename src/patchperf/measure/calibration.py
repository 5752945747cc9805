"""How many repetitions a case gets: N is anchored on its fastest solution, the same for all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, PositiveFloat, model_validator

WindowPosition = Literal["below", "inside", "above"]
TRIAL_SHARE = 0.05
TRIAL_FLOOR_SECONDS = 0.02


class Window(BaseModel):
    """Where the fastest solution's measured loop has to fall, in seconds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    min_seconds: PositiveFloat
    max_seconds: PositiveFloat

    @model_validator(mode="after")
    def _doubling_lands(self) -> Window:
        if self.max_seconds < 2 * self.min_seconds:
            raise ValueError("max_seconds must be at least twice min_seconds, or doubling can step over the window")
        return self

    @property
    def trial_seconds(self) -> float:
        """How long a trial's last batch takes at least: a small part of the window, but more than a few time slices."""
        return max(TRIAL_FLOOR_SECONDS, TRIAL_SHARE * self.min_seconds)

    def position(self, seconds: float) -> WindowPosition:
        """Where a loop's time lies."""
        if seconds < self.min_seconds:
            return "below"
        return "inside" if seconds <= self.max_seconds else "above"


class CountingWindow(BaseModel):
    """How long a counted loop is to take under an emulator, in seconds, start and warm-up aside.

    A loop whose calls all count alike takes ``min_seconds``, any other one is lengthened up to ``max_seconds``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    min_seconds: PositiveFloat = 2.0
    max_seconds: PositiveFloat = 8.0

    @model_validator(mode="after")
    def _ordered(self) -> CountingWindow:
        if self.max_seconds < self.min_seconds:
            raise ValueError(f"max_seconds ({self.max_seconds:g}) must not be below min_seconds ({self.min_seconds:g})")
        return self


def fastest(seconds_per_repetition: Mapping[str, float]) -> str:
    """The solution with the shortest repetition; of equal ones the first by name."""
    return min(sorted(seconds_per_repetition), key=seconds_per_repetition.__getitem__)


def beyond(seconds_per_repetition: Mapping[str, float], repetitions: int, timeout: float) -> dict[str, float]:
    """Solutions whose loop alone, by their trial, would take longer than a replicate may: predicted seconds."""
    predicted = {solution: seconds * repetitions for solution, seconds in seconds_per_repetition.items()}
    return {solution: seconds for solution, seconds in predicted.items() if seconds > timeout}


def counted(seconds_per_repetition: float, repetitions: int, seconds: float) -> int:
    """Repetitions of the loop under an emulator that take about ``seconds``; at least 1, at most N of the native loop.

    Where calls are alike, a count is linear in the repetitions, so few tell as much as many.
    """
    return max(1, min(repetitions, int(seconds / seconds_per_repetition)))


def lengthened(count: int, seconds_per_repetition: float, repetitions: int, seconds: float) -> int | None:
    """Twice as many counted repetitions, at most N and at most what takes ``seconds``; None if that is not more."""
    longer = min(2 * count, counted(seconds_per_repetition, repetitions, seconds))
    return longer if longer > count else None
