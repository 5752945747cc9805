"""What Snakemake's log records say about jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from logging import LogRecord
from typing import Any

from snakemake_interface_logger_plugins.common import LogEvent


@dataclass(frozen=True)
class Planned:
    """Jobs of this run by rule, finished ones included; ``open_checkpoints`` will add to them (None: not known)."""

    jobs: Mapping[str, int]
    open_checkpoints: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Started:
    """A job runs. A job without products only collects others, as ``all`` does."""

    job: int
    rule: str
    wildcards: Mapping[str, str] = field(default_factory=dict)
    logs: tuple[str, ...] = ()
    has_products: bool = True


@dataclass(frozen=True)
class Finished:
    """A job has succeeded."""

    job: int


@dataclass(frozen=True)
class Failed:
    """A job has failed; ``details`` are what an executor adds, such as a cluster's job number."""

    job: int
    rule: str
    logs: tuple[str, ...] = ()
    command: str | None = None
    details: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Interrupted:
    """The user has ended the run; jobs that fail from now on were ended with it."""


Event = Planned | Started | Finished | Failed | Interrupted

INTERRUPTED = "Terminating processes on user request"
JOBS_BY_RULE = "patchperf_jobs"
USUAL_ENDS = ("returned non-zero exit status 1", "died with <Signals.SIGINT: 2>")
OPEN_CHECKPOINTS = "patchperf_open_checkpoints"


def read_events(record: LogRecord) -> list[Event]:
    """The events in a record: none for most, and one more in records that ``graph.follow`` has added counts to."""
    values = vars(record)
    events: list[Event] = []
    if JOBS_BY_RULE in values:
        events.append(Planned(values[JOBS_BY_RULE], values[OPEN_CHECKPOINTS]))
    match values.get("event"):
        case None if record.getMessage().startswith(INTERRUPTED):
            events.append(Interrupted())
        case LogEvent.RUN_INFO:
            events.append(Planned({rule: count for rule, count in values["stats"].items() if rule != "total"}))
        case LogEvent.JOB_INFO:
            events.append(_started(values))
        case LogEvent.JOB_FINISHED:
            events.append(Finished(values["job_id"]))
        case LogEvent.JOB_ERROR:
            events.append(_failed(values))
        case LogEvent.GROUP_ERROR:
            events += [_failed(info) for info in values["job_error_info"]]
        case LogEvent.GROUP_INFO:
            events += [_started_in_group(job) for job in values["jobs"]]
    return events


def is_plain_exit(text: str) -> bool:
    """Whether an error only says that a job's command ended in a usual way, which its job's own error says better."""
    return "CalledProcessError" in text and text.rstrip(".").endswith(USUAL_ENDS)


def _started(values: Mapping[str, Any]) -> Started:
    return Started(
        job=values["jobid"],
        rule=values["rule_name"],
        wildcards={name: str(value) for name, value in (values["wildcards"] or {}).items()},
        logs=tuple(values["log"] or ()),
        has_products=bool(values["output"] or values["log"] or values["shellcmd"]),
    )


def _started_in_group(job: Any) -> Started:
    return Started(
        job=job.jobid,
        rule=job.rule.name,
        wildcards={name: str(value) for name, value in job.wildcards_dict.items()},
        logs=tuple(map(str, job.log)),
    )


def _failed(values: Mapping[str, Any]) -> Failed:
    details = {"message": values["rule_msg"]} if values["rule_msg"] else {}
    return Failed(
        job=values["jobid"],
        rule=values["rule_name"],
        logs=tuple(values["log"] or ()),
        command=values["shellcmd"],
        details=details | {name: str(value) for name, value in (values["aux"] or {}).items()},
    )
