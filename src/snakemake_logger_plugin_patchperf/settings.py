"""Options of the plug-in, as ``--logger-patchperf-…`` and as keys of a profile."""

# Snakemake looks at the types of these fields at run time, so their annotations must not be postponed.

from dataclasses import dataclass, field

from snakemake_interface_logger_plugins.settings import LogHandlerSettingsBase


@dataclass
class LogHandlerSettings(LogHandlerSettingsBase):
    """How often progress is told where there is no terminal."""

    interval: float = field(
        default=5.0,
        metadata={
            "help": "Seconds between two lines about the same stage where output is not a terminal.",
            "env_var": False,
            "required": False,
            "type": float,
        },
    )
