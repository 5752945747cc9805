"""Options of the plug-in, as ``--core-groups-…`` and as keys of a profile."""

# Snakemake looks at the types of these fields at run time, so their annotations must not be postponed.

from dataclasses import dataclass, field

from snakemake_interface_executor_plugins.settings import ExecutorSettingsBase  # type: ignore[import-untyped]


@dataclass
class ExecutorSettings(ExecutorSettingsBase):  # type: ignore[misc]
    """Where leases are, how a cancelled job is ended, and a number of groups to try things with."""

    lock_folder: str | None = field(
        default=None,
        metadata={
            "help": "Folder of the leases, the same for all workflows on the machine. Default: what the variable "
            "PATCHPERF_LOCK_FOLDER names, else /run/lock/patchperf, else patchperf in XDG_RUNTIME_DIR.",
            "env_var": False,
            "required": False,
            "type": str,
        },
    )
    grace: float = field(
        default=10.0,
        metadata={
            "help": "Seconds that a cancelled job has after SIGINT until it gets SIGTERM, and then until SIGKILL.",
            "env_var": False,
            "required": False,
            "type": float,
        },
    )
    groups: int | None = field(
        default=None,
        metadata={
            "help": "Share jobs among so many groups without CPUs of their own, whatever the machine. Only to try a "
            "workflow: its measurements disturb each other.",
            "env_var": False,
            "required": False,
            "type": int,
        },
    )
