"""Archives that the kernel unpacks as its first file system (cpio, format newc)."""

from __future__ import annotations

import stat
from pathlib import Path
from tarfile import TarFile, TarInfo
from typing import BinaryIO

_MAGIC = b"070701"
_CONSOLE = (5, 1)


class Initramfs:
    """Writes one archive; the kernel unpacks several that stand behind one another, one over the other."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._entries = 0

    def add(self, name: str, mode: int, content: bytes = b"", device: tuple[int, int] = (0, 0)) -> None:
        """One entry: type and permissions as in stat(2), a link's target as content, all owned by root."""
        self._entries += 1
        encoded = name.encode() + b"\0"
        fields = (self._entries, mode, 0, 0, 1, 0, len(content), 0, 0, *device, len(encoded), 0)
        header = _MAGIC + b"".join(b"%08X" % field for field in fields) + encoded
        self._file.write(header + b"\0" * (-len(header) % 4) + content + b"\0" * (-len(content) % 4))

    def add_console(self) -> None:
        """The device that the first process has as its standard files."""
        self.add("dev", stat.S_IFDIR | 0o755)
        self.add("dev/console", stat.S_IFCHR | 0o600, device=_CONSOLE)

    def add_folder(self, name: str, folder: Path) -> None:
        """A folder with all in it, for everyone to write to."""
        self.add(name, stat.S_IFDIR | 0o777)
        for path in sorted(folder.iterdir()):
            if path.is_dir():
                self.add_folder(f"{name}/{path.name}", path)
            else:
                self.add(f"{name}/{path.name}", stat.S_IFREG | 0o755, path.read_bytes())

    def add_member(self, tar: TarFile, member: TarInfo) -> None:
        """A file, folder or link of a tar file under its own name; hard links become files of their own."""
        name = member.name.removeprefix("./")
        if member.isdir():
            self.add(name, stat.S_IFDIR | member.mode)
        elif member.issym():
            self.add(name, stat.S_IFLNK | 0o777, member.linkname.encode())
        elif (file := tar.extractfile(member)) is not None:
            self.add(name, stat.S_IFREG | member.mode, file.read())

    def end(self) -> None:
        """Close the archive; the file stays open."""
        self.add("TRAILER!!!", 0)
