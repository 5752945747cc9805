"""The workflow's graph of jobs, which grows as checkpoints finish: its counts, added to the log's records."""

from __future__ import annotations

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
    if any(isinstance(handler, LogHandler) for handler in manager.get_log_handlers()):
        manager.logger.addFilter(_counting(workflow.dag))


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
