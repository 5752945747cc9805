"""Which program a command line really starts, so that an emulator can start it instead.

An emulator runs ELF files, follows no ``#!`` line and does not follow its program into another one: a script has to be
given as its interpreter's argument, and a command that finds its Python on PATH has to find one that is emulated.
"""

from __future__ import annotations

import os
import shlex
import struct
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

_SCRIPT_DEPTH = 4
_FIRST_LINE = 512
_PT_INTERP = 3


def write_emulated(folder: Path, words: Sequence[str], path: str, homes: Collection[Path]) -> None:
    """Make a folder to go first on PATH: of each program it would find, one that runs it under the emulator.

    ``words`` stand before a program's path on an emulator's command line. Taken are the programs in those folders of
    ``path`` that lie in one of ``homes``, which the sandbox shows under their own names, and any Python elsewhere.
    """
    folder.mkdir(parents=True)
    for home in map(Path, path.split(":")):
        ours = any(home.is_relative_to(one) for one in homes)
        for program in sorted(home.glob("*" if ours else "python*")) if home.is_absolute() else ():
            started = started_program((str(program),), path)
            target = folder / program.name
            if started is not None and not target.exists():
                target.write_text(f'#!/bin/sh\nexec {shlex.join([*words, *started])} "$@"\n', "utf-8")
                target.chmod(0o755)


def emulated(argv: Sequence[str], words: Sequence[str]) -> tuple[str, ...]:
    """The command line with the emulator in front, where its program is named by an absolute path to an ELF file.

    Any other is left to PATH, see ``write_emulated``.
    """
    return (*words, *argv) if argv[0].startswith("/") and is_elf(Path(argv[0])) else tuple(argv)


def started_program(argv: Sequence[str], path: str) -> tuple[str, ...] | None:
    """The ELF file and arguments that the kernel ends up with for a command line; None where there is none.

    ``#!`` lines are followed, ``env NAME`` in them is looked up on ``path``.
    """
    for _ in range(_SCRIPT_DEPTH):
        program = Path(argv[0])
        if not os.access(program, os.X_OK) or not program.is_file():
            return None
        if is_elf(program):
            return tuple(argv)
        line = _first_line(program)
        if not line.startswith("#!"):
            return None
        interpreter, _, argument = line[2:].strip().partition(" ")
        argument = argument.strip()
        if Path(interpreter).name == "env":
            found = _found(argument.split()[-1:], path)
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
    with path.open("rb") as file:
        return file.read(_FIRST_LINE).partition(b"\n")[0].decode("utf-8", "replace")


def _found(names: Sequence[str], path: str) -> str | None:
    for name in names:
        for home in path.split(":"):
            candidate = f"{home}/{name}"
            if os.access(candidate, os.X_OK) and Path(candidate).is_file():
                return candidate
    return None


def pinned(environment: Mapping[str, str], variables: Mapping[str, str], folder: str) -> dict[str, str]:
    """The environment of an emulated command: the emulator's variables, and ``folder`` first on PATH."""
    path = environment.get("PATH", "/usr/local/bin:/usr/bin:/bin")
    return {**environment, **variables, "PATH": f"{folder}:{path}"}
