"""A bash command line taken apart into the simple commands it consists of; nothing is expanded or run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

Link = Literal["", ";", "&&", "||", "|"]

_QUOTED = r"""'[^']*' | "(?:\\.|[^"\\`])*" """
_TOKEN = re.compile(
    rf"""
    (?P<blank> [ \t]+ | \\\n | \#[^\n]* )
  | (?P<redirection> (?: \d*(?:>>|>&|>\||<&|<>|>|<(?!<)) | &>>? ) [ \t]* (?: {_QUOTED} | [^\s'"\\`;&|()<>] )+ )
  | (?P<link> && | \|[|&]? | [;\n] )
  | (?P<word> (?: {_QUOTED} | \\[^\n] | [^\s'"\\`;&|()<>] )+ )
    """,
    re.VERBOSE | re.DOTALL,
)
_COMPOUND = frozenset(
    re.findall(r"\S+", "if then elif else fi for while until do done case esac select function { } [[ !")
)


@dataclass(frozen=True)
class Simple:
    """One simple command: how it is linked to the one before, its words and its redirections as they are written."""

    link: Link
    words: str
    redirections: str = ""

    def __str__(self) -> str:
        return " ".join(part for part in (self.link, self.words, self.redirections) if part)

    @property
    def reads(self) -> bool:
        """Whether its input comes from a file or from the command before."""
        return self.link == "|" or "<" in self.redirections


def simple_commands(line: str) -> tuple[Simple, ...] | None:
    """The simple commands of a line, in order; a line break links like ";".

    None where the line is more than a list of pipelines: subshells, loops, conditions, functions, background jobs, here
    documents, command substitutions outside double quotes, quotes that do not close.
    """
    commands: list[Simple] = []
    link: Link = ""
    words: list[str] = []
    redirections: list[str] = []
    for kind, text in _tokens(line):
        if kind == "unknown":
            return None
        if kind == "word":
            words.append(text)
        elif kind == "redirection":
            redirections.append(text)
        elif words:
            commands.append(Simple(link, " ".join(words), " ".join(redirections)))
            link, words, redirections = cast(Link, {"\n": ";", "|&": "|"}.get(text, text)), [], []
        elif redirections or text != "\n":
            return None
    if link not in ("", ";") or any(command.words.split()[0] in _COMPOUND for command in commands):
        return None
    return tuple(commands)


def _tokens(line: str) -> Iterator[tuple[str, str]]:
    """Kind and text of each token but blanks and comments, with a line break at the end."""
    line += "\n\n"
    at = 0
    while at < len(line):
        token = _TOKEN.match(line, at)
        if token is None:
            yield "unknown", line[at:]
            return
        if token.lastgroup != "blank":
            yield str(token.lastgroup), token[0]
        at = token.end()


def joined(commands: Sequence[Simple]) -> str:
    """The line that simple commands make together, whatever the first one was linked to."""
    return " ".join(map(str, [replace(commands[0], link=""), *commands[1:]]))
