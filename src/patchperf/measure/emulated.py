"""A native command's counterpart under an emulator."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from patchperf.counters.programs import HOST, Programs, emulated, pinned, write_emulated
from patchperf.counters.protocol import Counter, Emulation, Simulator
from patchperf.sandbox.protocol import Command, Layout

PROGRAMS = "on-path"
"""Folder among the tools with the emulated programs; its name is no Python package's, since tools are on PYTHONPATH."""


@dataclass(frozen=True)
class Emulated:
    """A simulator, the folder it was prepared in, what it counts under, and where commands find their programs."""

    simulator: Simulator
    folder: Path
    emulation: Emulation
    programs: Programs = HOST

    @classmethod
    def prepared(cls, counter: Counter, folder: Path | None, programs: Programs = HOST) -> Emulated | None:
        """Ready to count, if the counter is a simulator; ``folder`` is what ``counter.prepare`` returned."""
        if not isinstance(counter, Simulator) or folder is None:
            return None
        return cls(counter, folder, counter.emulation(folder), programs)

    def command(self, native: Command, tools: Path, layout: Layout, number: int) -> Command:
        """The command under the emulator; puts the programs it needs into ``tools``.

        Its PATH finds emulated programs first, and its time-out is longer by the slowdown. ``number`` is the memory
        layout's.
        """
        words = self.simulator.words(self.folder, layout.out, number)
        environment = pinned(native.environment, self.simulator.environment, f"{layout.tools}/{PROGRAMS}")
        write_emulated(tools / PROGRAMS, words, native.environment.get("PATH", ""), native.readable, self.programs)
        return Command(
            argv=emulated(native.argv, words, self.programs),
            tree=native.tree,
            environment=environment,
            out=native.out,
            tools=tools,
            readable=(*native.readable, self.folder),
            timeout=native.timeout * self.simulator.slowdown,
        )
