"""The executor: a job with ``core_group=1`` gets a group of its own, any other one Snakemake's built-in executor."""

from __future__ import annotations

import atexit
import os
import shlex
import sys
import threading
from collections.abc import Iterable
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, cast

from snakemake_interface_common.exceptions import WorkflowError
from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo  # type: ignore[import-untyped]
from snakemake_interface_executor_plugins.executors.real import RealExecutor  # type: ignore[import-untyped]
from snakemake_interface_executor_plugins.jobs import JobExecutorInterface  # type: ignore[import-untyped]
from snakemake_interface_executor_plugins.registry import ExecutorPluginRegistry  # type: ignore[import-untyped]
from snakemake_interface_executor_plugins.settings import ExecMode  # type: ignore[import-untyped]

from patchperf.config import load_isolation, load_memory_mb
from patchperf.errors import InputError, PatchperfError
from patchperf.isolation.leases import LOCK_FOLDER, Lease, lock_folder, wait_for_lease
from patchperf.isolation.plan import pretended
from patchperf.isolation.sharing import Use, use
from patchperf.isolation.topology import format_cpus
from snakemake_executor_plugin_core_groups.processes import REPORT, Processes
from snakemake_executor_plugin_core_groups.settings import ExecutorSettings

RESOURCE = "core_group"
CHILD = "snakemake_executor_plugin_core_groups.child"
ARGUMENTS = (
    "--executor local",
    "--profile none --workflow-profile none",
    "--max-jobs-per-timespan 1000/0s",
    "--quiet progress rules host",
)
"""A job's Snakemake uses the built-in executor whatever profiles say, does not wait a second at its end for leave to
start more jobs, and tells nothing but warnings and errors."""
AFTERWORDS = (
    "Exiting because a job execution failed. Look above for error messages",
    "WorkflowError:\nAt least one job did not complete successfully.",
)
"""What it says behind any error."""


class Executor(RealExecutor):  # type: ignore[misc]
    """Leases core groups to jobs that ask for one; the workflow's configuration (``isolation``) tells what groups are.

    A leased job is a Snakemake of its own, for this job alone, in a session of its own, with the lease as its standard
    input and in its environment. It is not pinned: what it measures is for it to put on the group.

    At level "partition" it brings the machine's partitions up first and takes them down in the end, however the
    workflow ends; if they are up already, it uses them, and only the last workflow that does takes them down.

    Snakemake itself moves to the housekeeping CPUs, and with it all jobs; ``--cores`` is at most the number of those
    that it may run on. Of those cores a rule with ``core_group=1`` takes none, whatever its ``threads``, unless the
    only group is the whole machine: with ``threads: workflow.cores`` its jobs run alone there, as with any other
    executor.
    """

    def __post_init__(self) -> None:
        settings = self.workflow.executor_settings
        self._settings = settings if isinstance(settings, ExecutorSettings) else ExecutorSettings()
        if self._settings.lock_folder:
            os.environ[LOCK_FOLDER] = self._settings.lock_folder
        self._usual_cpus = os.sched_getaffinity(0)
        try:
            self._use = self._begin()
            atexit.register(self._end)
            self._folder = lock_folder()
        except PatchperfError as error:
            raise SystemExit(f"error: {error}") from None
        self._plan = self._use.plan
        os.environ[LOCK_FOLDER] = str(self._folder)
        self._local = ExecutorPluginRegistry().get_plugin("local").executor(self.workflow, self.logger)
        self._workers = ThreadPoolExecutor(len(self._plan.groups), "core-group")
        self._turn = threading.Lock()
        self._processes = Processes()
        self._tell_plan()
        if self._plan.housekeeping:
            _move(self._plan.housekeeping)
        self._limit_at_start()

    @property
    def cores(self) -> int:
        """What ``--cores`` is for a leased job: the size of a group."""
        return len(self._plan.groups[0].cpus) or 1

    def get_exec_mode(self) -> ExecMode:
        """A leased job is a process of its own on this machine."""
        return ExecMode.SUBPROCESS

    def get_python_executable(self) -> str:
        """The interpreter, in the shell's place, with what ends the job if this process is killed."""
        return f"exec {shlex.quote(sys.executable)} -m {CHILD} {os.getpid()}"

    def get_job_exec_prefix(self, job: JobExecutorInterface) -> str:
        """Where the job's command is run."""
        return f"cd {shlex.quote(str(self.workflow.workdir_init))}"

    def additional_general_args(self) -> str:
        """Arguments of a job's Snakemake beside those that make it do the job."""
        return " ".join(ARGUMENTS)

    def run_job(self, job: JobExecutorInterface) -> None:
        """Start a job, or queue it until a group is free."""
        if not job.resources.get(RESOURCE, 0):
            self._local.run_job(job)
            return
        if job.is_group():
            raise WorkflowError(f"{_name(job)}: a job with {RESOURCE} cannot share a pipe or a service with another")
        if job.resources[RESOURCE] != 1:
            raise WorkflowError(f"{_name(job)}: {RESOURCE} is {job.resources[RESOURCE]!r}, and has to be 1 or 0")
        info = SubmittedJobInfo(job)
        self._workers.submit(self._run_leased, info, self.format_job_exec(job))
        self.report_job_submission(info)

    def shutdown(self) -> None:
        """Wait for all jobs."""
        self._workers.shutdown()
        self._local.shutdown()
        self._end()

    def cancel(self) -> None:
        """End all leased jobs and those that wait for a group, then the others the way Snakemake does."""
        self._workers.shutdown(wait=False, cancel_futures=True)
        self._processes.cancel(self._settings.grace)
        self._workers.shutdown()
        self._local.cancel()
        self._end()

    def _run_leased(self, info: SubmittedJobInfo, command: str) -> None:
        try:
            code, said = self._run_in_group(_name(info.job), command)
        except CancelledError:
            return
        except (PatchperfError, OSError) as error:
            self.report_job_error(info, msg=str(error))
            return
        except Exception as error:
            self.workflow.scheduler.executor_error_callback(error)
            return
        if self._processes.cancelled:
            return
        if code:
            self.report_job_error(info, msg=said or _ended(code))
        else:
            if said:
                self.logger.info(said)
            self.report_job_success(info)

    def _run_in_group(self, name: str, command: str) -> tuple[int, str]:
        """A job's exit code, and what its Snakemake had to tell."""
        lease = self._lease()
        try:
            self.logger.info(f"{name} runs on {_described(lease)}")
            with TemporaryFile() as report:
                variables = {**lease.variables, REPORT: str(report.fileno())}
                code = self._processes.run(command, variables, lease.descriptor, report.fileno())
                report.seek(0)
                return code, _essence(report.read().decode("utf-8", "replace"))
        finally:
            lease.release()

    def _lease(self) -> Lease:
        with self._turn:
            return wait_for_lease(self._plan, self._folder, self.logger.info, self._processes.pause)

    def _begin(self) -> Use:
        groups = self._settings.groups
        if groups is None:
            config = cast(Any, self.workflow).config
            isolation = load_isolation(config)
            memory_mb = load_memory_mb(config) if isolation.level == "partition" else 0
            return use(isolation.plan, isolation.partition, memory_mb, isolation.tuning)
        if groups < 1:
            raise InputError(f"--core-groups-groups {groups}: at least 1 is needed")
        return Use(pretended(groups))

    def _end(self) -> None:
        """Give back what was used; a second time does nothing."""
        atexit.unregister(self._end)
        try:
            if self._use.end():
                self.logger.info("The machine's partitions are down again.")
        except PatchperfError as error:
            self.logger.error(f"{error}")
        _move(self._usual_cpus)

    def _tell_plan(self) -> None:
        plan = self._plan
        listed = "; ".join(format_cpus(group.cpus) for group in plan.groups)
        if self._settings.groups is not None:
            self.logger.warning(f"{len(plan.groups)} pretended core groups: measurements disturb each other")
        elif plan.housekeeping:
            kind = "Core groups, partitions of the machine" if plan.level == "partition" else "Core groups"
            self.logger.info(f"{kind}: {listed}. All else runs on CPUs {format_cpus(plan.housekeeping)}.")
        else:
            self.logger.warning(f"isolation none: one case at a time is measured, on all of CPUs {listed}")
        self.logger.info(f"Leases of core groups are in {self._folder}.")
        for note in plan.notes:
            self.logger.warning(note)

    def _limit_at_start(self) -> None:
        """Have Snakemake start no more jobs than there is room for.

        The scheduler is not made yet, and takes limits only as long as no job has started: in between, ``onstart``.
        """
        workflow = cast(Any, self.workflow)
        begin = workflow._onstart

        def onstart(log: Any) -> None:
            if self._plan.housekeeping:
                _lower(workflow, "_cores", len(os.sched_getaffinity(0)))
            if self._plan.housekeeping or len(self._plan.groups) > 1:
                _free_cores_of_leased(workflow.rules)
            _lower(workflow, RESOURCE, len(self._plan.groups))
            begin(log)

        workflow._onstart = onstart


def _lower(workflow: Any, name: str, limit: int) -> None:
    scheduler = workflow.scheduler
    if limit < scheduler.global_resources.get(name, sys.maxsize):
        scheduler.global_resources[name] = limit
        workflow.register_resource(name, limit)


def _free_cores_of_leased(rules: Iterable[Any]) -> None:
    for rule in rules:
        asked = rule.resources.get(RESOURCE)
        if asked is not None and asked.raw in (1, "1"):
            rule.resources["_cores"] = 0


def _move(cpus: Iterable[int]) -> None:
    """Have all threads of this process, and what they start from now on, run on some CPUs."""
    for thread in Path("/proc/self/task").iterdir():
        with suppress(ProcessLookupError):
            os.sched_setaffinity(int(thread.name), cpus)


def _name(job: JobExecutorInterface) -> str:
    """A job's rule and wildcards, in one line."""
    said = []
    for target in cast(Any, job.get_target_spec()):
        wildcards = ", ".join(f"{name}={value}" for name, value in target.wildcards_dict.items())
        said.append(f"{target.rulename} ({wildcards})" if wildcards else str(target.rulename))
    return ", ".join(said)


def _described(lease: Lease) -> str:
    cpus = format_cpus(lease.group.cpus)
    return f"core group {lease.group.index}" + (f" (CPUs {cpus})" if cpus else "")


def _essence(said: str) -> str:
    for words in AFTERWORDS:
        said = said.replace(words, "")
    return said.strip().removeprefix("RuleException:\n")


def _ended(code: int) -> str:
    return f"its process was killed by signal {-code}" if code < 0 else f"its process ended with exit code {code}"
