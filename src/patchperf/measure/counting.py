"""The counting pass of a simulated backend: the same command under the emulator, with fewer repetitions."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from patchperf.counters.programs import emulated, pinned, write_emulated
from patchperf.counters.protocol import Emulation, Simulator
from patchperf.sandbox.protocol import Command, Layout

PROGRAMS = "on-path"
"""Folder among the tools with the emulated programs; its name is no Python package's, since tools are on PYTHONPATH."""

SECONDS = 2.0
"""What the slowest solution's repetitions are to take under the emulator, start and warm-up aside."""


@dataclass(frozen=True)
class Counting:
    """A simulator, the folder it was prepared in, and what it counts under."""

    simulator: Simulator
    folder: Path
    emulation: Emulation

    @classmethod
    def prepared(cls, simulator: Simulator, folder: Path) -> Counting:
        """Ready to count; ``folder`` is what ``simulator.prepare`` returned."""
        return cls(simulator, folder, simulator.emulation(folder))

    def command(self, native: Command, tools: Path, layout: Layout, number: int) -> Command:
        """A native command's counterpart under the emulator; puts the programs it needs into ``tools``.

        Its PATH finds emulated programs first, and its time-out is longer by the slowdown. ``number`` is the memory
        layout's.
        """
        words = self.simulator.words(self.folder, layout.out, number)
        environment = pinned(native.environment, self.simulator.environment, f"{layout.tools}/{PROGRAMS}")
        write_emulated(tools / PROGRAMS, words, native.environment.get("PATH", ""), native.readable)
        return Command(
            argv=emulated(native.argv, words),
            tree=native.tree,
            environment=environment,
            out=native.out,
            tools=tools,
            readable=(*native.readable, self.folder),
            timeout=native.timeout * self.simulator.slowdown,
        )
