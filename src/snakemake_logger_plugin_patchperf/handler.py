"""The log handler: records in, a screen out. What is decided is decided elsewhere."""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import nullcontext
from logging import LogRecord
from pathlib import Path

from snakemake.common import NOTHING_TO_BE_DONE_MSG  # type: ignore[import-untyped]
from snakemake.logging import (  # type: ignore[import-untyped]
    ColorizingTextHandler,
    DefaultFilter,
    DefaultFormatter,
)
from snakemake.settings.enums import Quietness  # type: ignore[import-untyped]
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from snakemake_logger_plugin_patchperf import joblogs
from snakemake_logger_plugin_patchperf.events import INTERRUPTED, Failed, is_plain_exit, read_events
from snakemake_logger_plugin_patchperf.progress import Progress
from snakemake_logger_plugin_patchperf.screens import Lines, Screen, Terminal
from snakemake_logger_plugin_patchperf.settings import LogHandlerSettings
from snakemake_logger_plugin_patchperf.text import failure, job_name, reason, summary

LOG_LINES = 20
TICK_SECONDS = 0.5

NOTICES = (
    NOTHING_TO_BE_DONE_MSG,
    "Complete log(s):",
    "Trying to restart job",
    INTERRUPTED,
    "Will exit after finishing currently running jobs",
)
"""Beginnings of the notices of a run that are shown; its warnings and errors all are."""

AFTERWORDS = (
    "Exiting because a job execution failed.",
    "WorkflowError:\nAt least one job did not complete successfully.",
)
"""Errors that only say that there were errors, as this display's last line does."""

CHATTER = ("Assuming unrestricted shared filesystem usage.",)
"""What Snakemake says before every run."""


class LogHandler(LogHandlerBase):
    """Shows a run's progress, failures, warnings and errors; leaves the rest to Snakemake's log file.

    Everything that is not a run (``--report``, ``--lint``, …) and runs of which more is asked (``--dry-run``,
    ``--verbose``, ``--printshellcmds``, ``--debug-dag``) are shown the way Snakemake does. With ``--quiet``, failures,
    warnings and errors are left; with ``--quiet all``, nothing.
    """

    def __post_init__(self) -> None:
        settings = self.settings if isinstance(self.settings, LogHandlerSettings) else LogHandlerSettings()
        common = self.common_settings
        stream = sys.stdout if common.stdout else sys.stderr
        quiet = set(common.quiet or ())
        self._default = ColorizingTextHandler(nocolor=common.nocolor, stream=stream)
        self._default.setFormatter(DefaultFormatter(quiet, common.show_failed_logs))
        self._default.addFilter(
            DefaultFilter(quiet, common.debug_dag, common.verbose, common.dryrun, common.printshellcmds)
        )
        wants_detail = common.dryrun or common.verbose or common.debug_dag or common.printshellcmds
        self._by_default = wants_detail or Quietness.ALL in quiet
        self._shows_progress = not quiet & {Quietness.ALL, Quietness.PROGRESS, Quietness.RULES}
        on_terminal = stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        color = not common.nocolor and "NO_COLOR" not in os.environ
        self._screen: Screen = Terminal(stream, color) if on_terminal else Lines(stream, settings.interval)
        self._started = False
        self._progress: Progress | None = None
        self._told: set[str] = set()
        self._closing = threading.Event()
        self._ticker = threading.Thread(target=self._tick, name="patchperf-progress", daemon=True)

    @property
    def writes_to_stream(self) -> bool:
        """It takes the place of Snakemake's own messages on the console."""
        return True

    @property
    def writes_to_file(self) -> bool:
        """No: Snakemake's log file is written by Snakemake."""
        return False

    @property
    def has_filter(self) -> bool:
        """Yes: it needs the records that ``--quiet`` would drop."""
        return True

    @property
    def has_formatter(self) -> bool:
        """Yes: its lines are its own."""
        return True

    @property
    def needs_rulegraph(self) -> bool:
        """No."""
        return False

    def emit(self, record: LogRecord) -> None:
        """Show what is to be shown of a record."""
        try:
            self._take(record)
        except Exception:
            self.handleError(record)

    def note(self, text: str) -> None:
        """Show a warning that does not come as a record."""
        with self.lock or nullcontext():
            self._screen.say(text, "yellow")

    def close(self) -> None:
        """End the display, with a last line about the run."""
        if self._closing.is_set():
            return
        self._closing.set()
        if self._ticker.is_alive():
            self._ticker.join()
        if self._progress is not None:
            self._show(self._progress)
            self._screen.close()
            self._conclude(self._progress)
        super().close()

    def _take(self, record: LogRecord) -> None:
        event = getattr(record, "event", None)
        self._started = self._started or event == LogEvent.WORKFLOW_STARTED
        if self._by_default or not self._started:
            if record.getMessage() not in CHATTER:
                self._default.handle(record)
            return
        if event == LogEvent.RUN_INFO and self._progress is None:
            self._progress = Progress(time.monotonic())
            self._ticker.start()
        if self._progress is not None:
            for one in read_events(record):
                self._progress.apply(one, time.monotonic())
                if isinstance(one, Failed) and not self._progress.interrupted:
                    self._tell_failure(one, self._progress.wildcards(one.job))
        if event not in (LogEvent.JOB_ERROR, LogEvent.GROUP_ERROR):
            self._pass_on(record)

    def _pass_on(self, record: LogRecord) -> None:
        """Show warnings and errors, and the few notices that matter to someone who watches."""
        text = record.getMessage()
        is_problem = record.levelno >= logging.WARNING
        if (is_plain_exit(text) or text.startswith(AFTERWORDS)) if is_problem else not text.startswith(NOTICES):
            return
        if self._progress is not None:
            self._show(self._progress)
        self._screen.say(text, ("yellow" if record.levelno == logging.WARNING else "red") if is_problem else "")

    def _tell_failure(self, failed: Failed, wildcards: Mapping[str, str]) -> None:
        """Show a failed job; one that failed for the same reason as another is only counted, and named at the end."""
        paths = [str(Path(path).absolute()) for path in failed.logs]
        shown = self.common_settings.show_failed_logs
        logs = {path: joblogs.last_lines(path, LOG_LINES) if shown else [] for path in paths}
        reasons = {said for log in logs.values() if (said := reason(log)) is not None}
        if not reasons or not reasons <= self._told:
            self._screen.say(failure(failed, wildcards, logs), "red")
        self._told |= reasons

    def _conclude(self, progress: Progress) -> None:
        if not self._shows_progress:
            return
        failures = [job_name(failed.rule, progress.wildcards(job)) for job, failed in progress.failed.items()]
        text = summary(progress.overall(time.monotonic()), failures, progress.interrupted)
        self._screen.say(text, "bold red" if failures else "bold")

    def _tick(self) -> None:
        """Bring the display up to date every now and then: after events, and as time passes between them."""
        while not self._closing.wait(TICK_SECONDS):
            self.acquire()
            try:
                if self._progress is not None:
                    self._show(self._progress)
            finally:
                self.release()

    def _show(self, progress: Progress) -> None:
        if not self._shows_progress:
            return
        now = time.monotonic()
        steps = {
            job: joblogs.last_step(one.job.logs[0], now - one.since)
            for job, one in progress.running.items()
            if one.job.logs
        }
        known = {job: step for job, step in steps.items() if step is not None}
        self._screen.show(progress.stages(now, known), progress.overall(now))
