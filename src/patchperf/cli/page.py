"""Text for people: sections of labelled paragraphs, wrapped to the terminal, with colours only where it has any."""

from __future__ import annotations

import io
import sys
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from patchperf.text import printable

LABEL_WIDTH = 20
"""Columns of a label at most; a longer one has a line of its own."""

LEAST_WIDTH = 30
"""Columns that a paragraph has at least, however narrow the terminal is."""


@dataclass(frozen=True)
class Paragraph:
    """A label and what it says; line ends in the text are kept."""

    label: str
    text: str


@dataclass(frozen=True)
class Section:
    """A title, its paragraphs, and a text to show as it is (the output of a program)."""

    title: str
    paragraphs: tuple[Paragraph, ...] = ()
    verbatim: str = ""


def show(headline: str, sections: Iterable[Section]) -> None:
    """Print a page on stdout; characters that it cannot take or that would steer a terminal are shown as escapes."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    console = Console(highlight=False)
    for line in lines(headline, sections, console.width):
        console.print(line, soft_wrap=True)


def lines(headline: str, sections: Iterable[Section], width: int) -> Iterator[Text]:
    """The page's lines, at most ``width`` columns wide but for texts shown as they are, which are never broken."""
    yield from (Text(line, style="bold") for line in _wrapped(headline, width))
    for section in sections:
        yield Text()
        yield Text(printable(section.title), style="bold cyan")
        yield from _paragraphs(section.paragraphs, width)
        yield from (Text(f"  | {line}".rstrip()) for line in printable(section.verbatim).splitlines())


def _paragraphs(paragraphs: tuple[Paragraph, ...], width: int) -> Iterator[Text]:
    labels = [printable(paragraph.label) for paragraph in paragraphs]
    column = max((len(label) for label in labels if len(label) <= LABEL_WIDTH), default=0)
    for label, paragraph in zip(labels, paragraphs, strict=True):
        text = [piece for line in paragraph.text.split("\n") for piece in _wrapped(line, width - column - 4)]
        if len(label) > column:
            yield Text(f"  {label}", style="cyan")
        for place, piece in enumerate(text):
            shown = label if place == 0 and len(label) <= column else ""
            yield Text.assemble((f"  {shown:{column}}", "cyan"), f"  {piece}")


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(printable(text), max(width, LEAST_WIDTH), break_on_hyphens=False) or [""]
