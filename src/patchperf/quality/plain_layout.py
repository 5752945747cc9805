"""Python code laid out so that lizard sees every function to its end, whatever its author's layout.

lizard finds a function by its ``def`` and the deeper lines below. One whose body stands on the line of the ``def`` it
does not see, and a line inside brackets that begins left of the function ends it.
"""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterable, Iterator
from tokenize import TokenInfo

_BETWEEN = (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


def with_plain_layout(text: str) -> str:
    """The same code, with bodies on lines of their own and no line of a statement left of its first.

    Code that is laid out so already, or that is no Python, is as it was.
    """
    try:
        return _indented(_with_bodies_apart(text))
    except (tokenize.TokenError, SyntaxError, RecursionError):
        return text


def _with_bodies_apart(text: str) -> str:
    """Python code whose one-line functions have their bodies on lines of their own.

    ``def f(x): return x`` becomes ``def f(x):`` and an indented ``return x``.
    """
    lines = list(io.StringIO(text))
    for definition, colon, body in reversed(list(_one_line_functions(_tokens(text)))):
        line = lines[definition.start[0] - 1]
        indent = line[: len(line) - len(line.lstrip())]
        head, tail = lines[colon.end[0] - 1][: colon.end[1]], lines[body.start[0] - 1][body.start[1] :]
        lines[colon.end[0] - 1 : body.start[0]] = [f"{head}\n", f"{indent} {tail}"]
    return "".join(lines)


def _one_line_functions(tokens: Iterable[TokenInfo]) -> Iterator[tuple[TokenInfo, TokenInfo, TokenInfo]]:
    """Of each function whose body stands on the line of its head: ``def``, the head's colon, the body's first token."""
    definition = colon = None
    depth = lambdas = 0
    for token in tokens:
        if definition is None:
            if token.type == tokenize.NAME and token.string == "def":
                definition, colon, depth, lambdas = token, None, 0, 0
        elif colon is not None:
            if token.type not in (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE):
                yield definition, colon, token
            definition = None
        elif token.type == tokenize.OP and token.string in "([{":
            depth += 1
        elif token.type == tokenize.OP and token.string in ")]}":
            depth -= 1
        elif depth == 0 and token.string == "lambda":
            lambdas += 1
        elif depth == 0 and token.string == ":":
            colon, lambdas = (None, lambdas - 1) if lambdas else (token, 0)


def _indented(text: str) -> str:
    """Python code in which no line of a statement begins left of where the statement does."""
    lines = list(io.StringIO(text))
    indent, row = None, 0
    for token in _tokens(text):
        if token.type == tokenize.NEWLINE:
            indent = None
        elif token.type not in _BETWEEN:
            line, column = token.start
            if indent is None:
                indent = lines[line - 1][:column]
            elif line > row and column < len(indent):
                lines[line - 1] = indent + lines[line - 1][column:]
            row = token.end[0]
    return "".join(lines)


def _tokens(text: str) -> list[TokenInfo]:
    return list(tokenize.generate_tokens(io.StringIO(text).readline))
