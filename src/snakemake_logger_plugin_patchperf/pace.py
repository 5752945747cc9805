"""Which stages have news worth a line in a log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from snakemake_logger_plugin_patchperf.progress import StageView
from snakemake_logger_plugin_patchperf.stages import Stage

QUIET_SECONDS = 30.0
"""After so long without a word, a stage at work says that it still is."""


@dataclass(frozen=True)
class _Told:
    numbers: tuple[int, int, int | None]
    complete: bool
    at: float


class Pace:
    """Remembers what was told of each stage, and when."""

    def __init__(self, interval: float) -> None:
        self.interval = interval
        self._told: dict[Stage, _Told] = {}

    def due(self, stages: Sequence[StageView], now: float) -> list[StageView]:
        """The stages that need a line at ``now`` (seconds); they are taken to get it.

        At once: a stage that begins (one of a single job: only if it takes longer than the interval) or is complete.
        After the interval: other numbers. After half a minute: anything at work.
        """
        views = [view for view in stages if self._is_due(view, now)]
        for view in views:
            self._told[view.stage] = _Told(_numbers(view), view.complete, now)
        return views

    def _is_due(self, view: StageView, now: float) -> bool:
        told = self._told.get(view.stage)
        if told is None:
            return view.complete or view.total != 1 or view.seconds >= self.interval
        if view.complete:
            return not told.complete or _numbers(view) != told.numbers
        wait = self.interval if _numbers(view) != told.numbers else max(self.interval, QUIET_SECONDS)
        return now - told.at >= wait


def _numbers(view: StageView) -> tuple[int, int, int | None]:
    return view.done, view.failed, view.total
