"""What Snakemake's records say about jobs."""

import logging
from typing import Any

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

from snakemake_logger_plugin_patchperf.events import (
    JOBS_BY_RULE,
    OPEN_CHECKPOINTS,
    Failed,
    Finished,
    Interrupted,
    Planned,
    Started,
    is_plain_exit,
    read_events,
)

JOB: dict[str, Any] = {
    "jobid": 4,
    "rule_name": "probe",
    "rule_msg": None,
    "wildcards": {"instance": "a"},
    "output": ["results/a.json"],
    "log": ["results/a.log"],
    "shellcmd": None,
    "aux": {},
}


def record(event: LogEvent | None = None, message: str = "", **values: Any) -> logging.LogRecord:
    return logging.makeLogRecord({"msg": message, **({"event": event} if event else {}), **values})


def test_a_run_s_plan_has_no_total_row() -> None:
    (planned,) = read_events(record(LogEvent.RUN_INFO, stats={"probe": 2, "all": 1, "total": 3}))
    assert planned == Planned({"probe": 2, "all": 1}, None)


def test_a_started_job_is_known_by_rule_and_wildcards() -> None:
    assert read_events(record(LogEvent.JOB_INFO, **JOB)) == [
        Started(4, "probe", {"instance": "a"}, ("results/a.log",), has_products=True)
    ]


def test_a_job_without_output_log_and_command_only_collects() -> None:
    (started,) = read_events(record(LogEvent.JOB_INFO, **{**JOB, "output": [], "log": []}))
    assert isinstance(started, Started)
    assert not started.has_products


def test_a_finished_job_is_known_by_number() -> None:
    assert read_events(record(LogEvent.JOB_FINISHED, job_id=4)) == [Finished(4)]


def test_a_failed_job_has_its_logs_command_and_what_the_executor_says() -> None:
    values = {**JOB, "shellcmd": "false", "rule_msg": "timed out", "aux": {"external_jobid": 12}}
    assert read_events(record(LogEvent.JOB_ERROR, **values)) == [
        Failed(4, "probe", ("results/a.log",), "false", {"message": "timed out", "external_jobid": "12"})
    ]


def test_a_failed_group_is_all_its_jobs() -> None:
    jobs = read_events(record(LogEvent.GROUP_ERROR, job_error_info=[JOB, {**JOB, "jobid": 5}]))
    assert [job.job for job in jobs if isinstance(job, Failed)] == [4, 5]


def test_counts_of_the_graph_come_with_a_record() -> None:
    values = {JOBS_BY_RULE: {"probe": 9}, OPEN_CHECKPOINTS: ("corpus",)}
    assert read_events(record(LogEvent.JOB_STARTED, jobs=[4], **values)) == [Planned({"probe": 9}, ("corpus",))]


def test_an_interrupt_by_the_user_is_noticed() -> None:
    message = "Terminating processes on user request, this might take some time."
    assert read_events(record(message=message)) == [Interrupted()]


@pytest.mark.parametrize("event", [None, LogEvent.PROGRESS, LogEvent.SHELLCMD, LogEvent.WORKFLOW_STARTED])
def test_other_records_say_nothing_about_jobs(event: LogEvent | None) -> None:
    assert read_events(record(event, "Select jobs to execute...")) == []


def test_an_unusual_end_of_a_command_is_told_from_a_usual_one() -> None:
    usual = (
        "RuleException:\nCalledProcessError in file 'Snakefile', line 9:\nCommand 'x' returned non-zero exit status 1."
    )
    assert is_plain_exit(usual)
    assert not is_plain_exit(usual.replace("status 1", "status 137"))
    assert not is_plain_exit(usual.replace("returned non-zero exit status 1", "died with <Signals.SIGKILL: 9>"))
    assert not is_plain_exit("ValueError: returned non-zero exit status 1.")
