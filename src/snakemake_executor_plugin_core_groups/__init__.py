"""Runs jobs with the resource ``core_group=1`` on a core group each, all others as usual; for ``--executor``."""

from snakemake_interface_executor_plugins.settings import CommonSettings  # type: ignore[import-untyped]

from snakemake_executor_plugin_core_groups.executor import Executor
from snakemake_executor_plugin_core_groups.settings import ExecutorSettings

common_settings = CommonSettings(
    non_local_exec=False,
    implies_no_shared_fs=False,
    job_deploy_sources=False,
    auto_deploy_default_storage_provider=False,
)

__all__ = ["Executor", "ExecutorSettings", "common_settings"]
