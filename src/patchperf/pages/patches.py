"""Two patches side by side, file by file and line by line."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from patchperf.text import printable

MOST_LINES = 1_500
"""Lines of a patch that are shown; some patches carry scratch files of megabytes."""

WIDEST = 400
"""Characters of a line that are shown."""

_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")


@dataclass(frozen=True)
class Line:
    """A line of a patch: ``kind`` is added, removed, place (of a hunk) or context."""

    kind: str
    text: str


@dataclass(frozen=True)
class FileRows:
    """What two patches do to one file: pairs of lines, None beside a line that has no equal in the other patch.

    ``same`` tells whether both do exactly the same.
    """

    path: str
    rows: tuple[tuple[Line | None, Line | None], ...]
    same: bool


@dataclass(frozen=True)
class SideBySide:
    """Two patches beside each other, and how many lines of either are not shown."""

    files: tuple[FileRows, ...]
    left_out: int


def side_by_side(left: str, right: str) -> SideBySide:
    """Two patches, the files of the left one first, each file's lines matched; text is made printable, not escaped."""
    (mine, my_rest), (other, other_rest) = _parts(left), _parts(right)
    paths = list(dict.fromkeys([*mine, *other]))
    return SideBySide(
        tuple(_file(path, mine.get(path, []), other.get(path, [])) for path in paths), my_rest + other_rest
    )


def one_alone(patch: str) -> SideBySide:
    """One patch, on the left."""
    return side_by_side(patch, "")


def _file(path: str, mine: Sequence[str], other: Sequence[str]) -> FileRows:
    return FileRows(path, tuple(_matched(mine, other)), list(mine) == list(other))


def _matched(mine: Sequence[str], other: Sequence[str]) -> Iterator[tuple[Line | None, Line | None]]:
    for _, start, end, other_start, other_end in difflib.SequenceMatcher(None, mine, other).get_opcodes():
        left = [_line(text) for text in mine[start:end]]
        right = [_line(text) for text in other[other_start:other_end]]
        for place in range(max(len(left), len(right))):
            yield (left[place] if place < len(left) else None, right[place] if place < len(right) else None)


def _line(text: str) -> Line:
    kinds = {"+": "added", "-": "removed", "@": "place"}
    shown = text if len(text) <= WIDEST else f"{text[:WIDEST]} … ({len(text) - WIDEST} more characters)"
    return Line(kinds.get(text[:1], "context"), shown)


def _parts(patch: str) -> tuple[dict[str, list[str]], int]:
    """A patch's lines by file, and how many are left out.

    Header lines that say what the file's title says, or nothing of what is measured (``index``), are dropped. A hunk
    has as many lines as it promises, so that a removed ``-- x`` is no header.
    """
    lines = printable(patch.replace("\r\n", "\n")).splitlines()
    parts: dict[str, list[str]] = {}
    path, before = "", ""
    old = new = 0
    for line in lines[:MOST_LINES]:
        if old > 0 or new > 0:
            old -= line[:1] in {"-", " ", ""}
            new -= line[:1] in {"+", " ", ""}
            parts.setdefault(path, []).append(line)
        elif (hunk := _HUNK.match(line)) is not None:
            old, new = (int(count or 1) for count in hunk.groups())
            parts.setdefault(path, []).append(line)
        elif line.startswith("diff --git "):
            path = line.rpartition(" b/")[2].rstrip('"')
            parts.setdefault(path, [])
        elif line.startswith("--- "):
            before = _named(line)
        elif line.startswith("+++ "):
            path = _named(line) or before
        elif line.strip() and not line.startswith("index "):
            parts.setdefault(path, []).append(line)
    return parts, max(0, len(lines) - MOST_LINES)


def _named(line: str) -> str:
    name = line[4:].split("\t", maxsplit=1)[0].strip().strip('"')
    return "" if name == "/dev/null" else name.removeprefix("a/").removeprefix("b/")
