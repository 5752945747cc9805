"""Which program a command line really starts, so that an emulator can start it instead.

An emulator runs ELF files, follows no ``#!`` line and does not follow its program into another one: a script has to be
given as its interpreter's argument, and a command that finds its Python on PATH has to find one that is emulated.
"""

from __future__ import annotations

import os
import re
import shlex
import struct
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

ELF = "ELF"
"""Stands for the first line of a program that is no script."""

_SCRIPT_DEPTH = 4
_FIRST_LINE = 4096 + 512
_MEANT = re.compile(r"""'{3}exec' (?P<quote>["']?)(?P<interpreter>/[^"'\n]*?)(?P=quote) "\$0" "\$@"$""", re.MULTILINE)
_PT_INTERP = 3


class Programs(Protocol):
    """The programs of a root: this machine's, or an image's."""

    @property
    def homes(self) -> tuple[Path, ...]:
        """Folders whose programs are all run under an emulator, as their own Python is."""
        ...

    def listed(self, folder: str) -> Iterable[str]:
        """The names of the programs in a folder, sorted."""
        ...

    def first_line(self, path: str) -> str | None:
        """A script's first line, ``ELF`` for what the kernel runs by itself; None for what is no program."""
        ...


class HostPrograms:
    """Those of this machine."""

    homes = ()

    def listed(self, folder: str) -> Iterable[str]:
        """The names in a folder."""
        return sorted(path.name for path in Path(folder).glob("*"))

    def first_line(self, path: str) -> str | None:
        """Read from the file."""
        program = Path(path)
        if not os.access(program, os.X_OK) or not program.is_file():
            return None
        return ELF if is_elf(program) else _first_line(program)


@dataclass(frozen=True)
class ImagePrograms:
    """Those of an image, as they were found in it: first lines by folder of PATH and name."""

    found: Mapping[str, Mapping[str, str]]
    homes: tuple[Path, ...] = ()

    def listed(self, folder: str) -> Iterable[str]:
        """The names in a folder."""
        return sorted(self.found.get(folder, {}))

    def first_line(self, path: str) -> str | None:
        """As it was found."""
        folder, _, name = path.rpartition("/")
        return self.found.get(folder, {}).get(name)


HOST = HostPrograms()


def write_emulated(
    folder: Path, words: Sequence[str], path: str, homes: Collection[Path], programs: Programs = HOST
) -> None:
    """Make a folder to go first on PATH: of each program it would find, one that runs it under the emulator.

    ``words`` stand before a program's path on an emulator's command line. Taken are the programs in those folders of
    ``path`` that lie in one of ``homes``, which the sandbox shows under their own names, and any Python elsewhere.
    """
    folder.mkdir(parents=True)
    for home in path.split(":") if path else ():
        ours = any(Path(home).is_relative_to(one) for one in (*homes, *programs.homes))
        for name in programs.listed(home) if home.startswith("/") else ():
            if not ours and not name.startswith("python"):
                continue
            started = started_program((f"{home}/{name}",), path, programs)
            target = folder / name
            if started is not None and not target.exists():
                target.write_text(f'#!/bin/sh\nexec {shlex.join([*words, *started])} "$@"\n', "utf-8")
                target.chmod(0o755)


def emulated(argv: Sequence[str], words: Sequence[str], programs: Programs = HOST) -> tuple[str, ...]:
    """The command line with the emulator in front, where its program is named by an absolute path to an ELF file.

    Any other is left to PATH, see ``write_emulated``.
    """
    return (*words, *argv) if argv[0].startswith("/") and programs.first_line(argv[0]) == ELF else tuple(argv)


def started_program(argv: Sequence[str], path: str, programs: Programs = HOST) -> tuple[str, ...] | None:
    """The ELF file and arguments that the kernel ends up with for a command line; None where there is none.

    ``#!`` lines are followed, ``env NAME`` in them is looked up on ``path``.
    """
    for _ in range(_SCRIPT_DEPTH):
        line = programs.first_line(argv[0])
        if line == ELF:
            return tuple(argv)
        if line is None or not line.startswith("#!"):
            return None
        interpreter, _, argument = line[2:].strip().partition(" ")
        argument = argument.strip()
        if Path(interpreter).name == "env":
            found = _found(argument.split()[-1:], path, programs)
            if found is None:
                return None
            argv = (found, *argv)
        else:
            argv = (interpreter, *([argument] if argument else []), *argv)
    return None


def is_elf(path: Path) -> bool:
    """Whether a file is a program or library of this kind of system."""
    try:
        with path.open("rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def elf_interpreter(path: Path) -> Path | None:
    """The loader that a 64-bit ELF file asks for; None for a static one. Layout: elf(5)."""
    content = path.read_bytes()
    offset, size, number = *struct.unpack_from("<Q", content, 0x20), *struct.unpack_from("<HH", content, 0x36)
    for at in range(offset, offset + size * number, size):
        if struct.unpack_from("<I", content, at)[0] == _PT_INTERP:
            start, length = (
                struct.unpack_from("<Q", content, at + 0x08)[0],
                struct.unpack_from("<Q", content, at + 0x20)[0],
            )
            return Path(content[start : start + length].rstrip(b"\0").decode())
    return None


def _first_line(path: Path) -> str:
    """The first line; of a script whose interpreter has too long a path for the kernel, that line as it would be.

    Installers of Python packages then write a shell script, which the interpreter reads as a text in triple quotes.
    """
    with path.open("rb") as file:
        first, _, rest = file.read(_FIRST_LINE).decode("utf-8", "replace").partition("\n")
    meant = _MEANT.match(rest) if first.rstrip() == "#!/bin/sh" else None
    return f"#!{meant['interpreter']}" if meant else first


def _found(names: Sequence[str], path: str, programs: Programs) -> str | None:
    for name in names:
        for home in path.split(":"):
            if programs.first_line(f"{home}/{name}") is not None:
                return f"{home}/{name}"
    return None


def pinned(environment: Mapping[str, str], variables: Mapping[str, str], folder: str) -> dict[str, str]:
    """The environment of an emulated command: the emulator's variables, and ``folder`` first on PATH."""
    path = environment.get("PATH", "/usr/local/bin:/usr/bin:/bin")
    return {**environment, **variables, "PATH": f"{folder}:{path}"}
