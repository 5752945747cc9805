"""Where progress is shown: one display that is kept up to date on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Protocol, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from snakemake_logger_plugin_patchperf.pace import Pace
from snakemake_logger_plugin_patchperf.progress import Overall, StageView
from snakemake_logger_plugin_patchperf.text import NAME_WIDTH, count, note, overall_line, stage_line

BAR_WIDTH = 24


class Screen(Protocol):
    """What the handler needs of a place to show things."""

    def show(self, stages: Sequence[StageView], overall: Overall) -> None:
        """Bring the progress shown up to date."""

    def say(self, text: str, style: str = "") -> None:
        """Put a message above the progress, to stay."""

    def close(self) -> None:
        """Leave the place as it was found."""


class Lines:
    """Plain lines, a few seconds apart, for logs and pipes."""

    def __init__(self, stream: TextIO, interval: float) -> None:
        self._stream = stream
        self._pace = Pace(interval)
        self._known: tuple[int, tuple[str, ...] | None] | None = None

    def show(self, stages: Sequence[StageView], overall: Overall) -> None:
        """Write a line for every stage that has news, and one when other jobs have become known."""
        known = overall.total, overall.open_checkpoints
        if overall.open_checkpoints is not None and known != self._known:
            self.say(overall_line(overall))
            self._known = known
        for view in self._pace.due(stages, overall.seconds):
            self.say(stage_line(view, overall.seconds))

    def say(self, text: str, style: str = "") -> None:
        """Write a message."""
        self._stream.write(f"{text}\n")
        self._stream.flush()

    def close(self) -> None:
        """Nothing to undo."""


class Terminal:
    """A display with a line for every stage at work; a stage that is complete leaves a line above it."""

    def __init__(self, stream: TextIO, color: bool) -> None:
        self._console = Console(file=stream, force_terminal=True, no_color=not color, highlight=False)
        self._live: Live | None = None
        self._told: set[str] = set()

    def show(self, stages: Sequence[StageView], overall: Overall) -> None:
        """Redraw the display; start it if need be."""
        for view in stages:
            if view.complete and view.stage.name not in self._told:
                self.say(stage_line(view, overall.seconds), "red" if view.failed else "green")
                self._told.add(view.stage.name)
            elif not view.complete:
                self._told.discard(view.stage.name)
        drawing = Group(_table([view for view in stages if not view.complete]), Text(overall_line(overall), "dim"))
        if self._live is None:
            self._live = Live(drawing, console=self._console, auto_refresh=False, redirect_stdout=sys.stdout.isatty())
            self._live.start()
            # A visible cursor costs nothing, and one that is hidden would stay so if this process were killed.
            self._console.show_cursor(True)
        self._live.update(drawing, refresh=True)

    def say(self, text: str, style: str = "") -> None:
        """Print above the display."""
        self._console.print(Text(text, style), soft_wrap=True)

    def close(self) -> None:
        """Take the display away; what was printed above it stays."""
        if self._live is not None:
            self._live.transient = True
            self._live.stop()
            self._live = None


def _table(stages: Sequence[StageView]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, min_width=NAME_WIDTH)
    table.add_column(width=BAR_WIDTH)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, overflow="ellipsis")
    for view in stages:
        bar = ProgressBar(total=max(view.total or 0, 1), completed=view.done + view.failed, width=BAR_WIDTH)
        table.add_row(
            Text(view.stage.name, "bold"), bar, Text(count(view)), Text(note(view), "red" if view.failed else "")
        )
    return table
