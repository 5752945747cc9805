"""What every sandbox offers: one untrusted command, on one tree, under limits.

Inside, paths are the same for every tree of a study: the tree is ``layout.tree`` (also the working directory),
our own read-only tools ``layout.tools``, and the one folder where the command may leave files for us ``layout.out``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel, ConfigDict, PositiveInt


class Limits(BaseModel):
    """Bounds of one command.

    ``memory_mb`` is for the sum of its processes where the kernel can say so, else for each; ``file_mb`` bounds
    each file it writes; ``output_mb`` what it prints (stdout and stderr together); ``disk_mb`` all that it writes to
    the tree and ``out``, where the sandbox watches that (docker). Beyond any of them it is killed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    memory_mb: PositiveInt = 4096
    processes: PositiveInt = 256
    output_mb: PositiveInt = 16
    file_mb: PositiveInt = 2048
    disk_mb: PositiveInt = 8192


@dataclass(frozen=True)
class Layout:
    """Where a sandbox shows things to the command (absolute paths as the command sees them)."""

    tree: str
    tools: str
    out: str


@dataclass(frozen=True)
class Command:
    """A command line with its whole environment (nothing is inherited) for one tree.

    ``out`` is a host folder that appears as ``layout.out``, the only place beside the tree, HOME and TMPDIR that the
    command can write; ``tools`` is a host folder that appears read-only as ``layout.tools``; ``readable`` are further
    host paths (an interpreter, a virtual environment) that appear read-only under their own names.
    HOME and TMPDIR are set by the sandbox to empty private folders that vanish with the command.
    """

    argv: tuple[str, ...]
    tree: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    out: Path | None = None
    tools: Path | None = None
    readable: tuple[Path, ...] = ()
    timeout: float = 600.0


@dataclass(frozen=True)
class Completed:
    """What came of a command. ``ended`` tells how it ended.

    ``ended``: "exit" (by itself, see exit_code; negative is a signal's number), or "timeout", "output", "memory",
    "processes", "disk" (killed for passing that limit). ``output`` is stdout and stderr in the order written, decoded
    as UTF-8 with replacement and cut at the limit. ``seconds`` is wall time from spawn to reap.
    """

    exit_code: int
    ended: str
    output: str
    seconds: float
    peak_memory_mb: float | None = None

    @property
    def ok(self) -> bool:
        """Whether the command ended by itself with exit code 0."""
        return self.ended == "exit" and self.exit_code == 0


class Sandbox(Protocol):
    """Runs untrusted commands. Every process of a command is gone when ``run`` returns or raises."""

    @property
    def layout(self) -> Layout:
        """Paths inside."""
        ...

    @property
    def confinement(self) -> str:
        """The name of the promises kept, as it stands in records: "namespaces+cgroup", "docker", "processes-only"."""
        ...

    def run(self, command: Command, limits: Limits) -> Completed:
        """Run to the end, the time-out or a limit; raises MachineError if the command could not be started."""
        ...
