"""Live progress of a study: which stage, how many of how many, how long still; for Snakemake's ``--logger``."""

from snakemake_logger_plugin_patchperf.graph import follow
from snakemake_logger_plugin_patchperf.handler import LogHandler
from snakemake_logger_plugin_patchperf.settings import LogHandlerSettings

__all__ = ["LogHandler", "LogHandlerSettings", "follow"]
