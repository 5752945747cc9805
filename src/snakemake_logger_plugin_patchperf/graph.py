"""The workflow's graph of jobs, which grows as checkpoints finish: its counts, added to the log's records."""

from __future__ import annotations

import functools
import sys
from collections import Counter
from collections.abc import Callable
from itertools import chain
from logging import LogRecord
from typing import Any

from snakemake_interface_logger_plugins.common import LogEvent

from snakemake_logger_plugin_patchperf.events import JOBS_BY_RULE, OPEN_CHECKPOINTS
from snakemake_logger_plugin_patchperf.handler import LogHandler


def follow(workflow: Any) -> None:
    """Tell the progress display how many jobs a workflow has, now and whenever its graph changes.

    To be called in ``onstart``: Snakemake's records by themselves have the counts of the start only. Does nothing for a
    run with another logger.
    """
    manager = workflow.logger_manager
    display = next((handler for handler in manager.get_log_handlers() if isinstance(handler, LogHandler)), None)
    if display is not None:
        manager.logger.addFilter(_counting(workflow.dag))
        for handler, path in manager.logfile_handlers.items():
            handler.handleError = _telling_once(display, path)


def _telling_once(display: LogHandler, path: str) -> Callable[[LogRecord], None]:
    """What a log file's handler does with a record that it cannot write: say so, once, and without a traceback."""

    @functools.cache
    def tell() -> None:
        display.note(f"{path}: this log is not complete: {sys.exc_info()[1]}")

    return lambda record: tell()


def _counting(dag: Any) -> Callable[[LogRecord], bool]:
    """A filter that lets everything pass and adds counts to records of jobs about to start.

    It runs in the thread that also changes the graph, between changes.
    """

    def count(record: LogRecord) -> bool:
        if getattr(record, "event", None) == LogEvent.JOB_STARTED:
            planned = chain(dag.needrun_jobs(), dag.finished_jobs)
            jobs = Counter(job.rule.name for job in planned if not job.rule.norun)
            setattr(record, JOBS_BY_RULE, dict(jobs))
            setattr(record, OPEN_CHECKPOINTS, tuple(sorted({job.rule.name for job in dag.checkpoint_jobs})))
        return True

    return count
