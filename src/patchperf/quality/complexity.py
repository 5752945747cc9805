"""How complex code is: McCabe's cyclomatic complexity of its functions, counted by lizard."""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from collections.abc import Iterator
from typing import Any

import lizard

from patchperf.quality.plain_layout import with_plain_layout

PYTHON_SUFFIXES = (".py",)


def complexity(path: str, content: bytes) -> int | None:
    """Σ over all functions in a file of one more than the number of their branches (McCabe, 1976).

    The sum, not the mean or the worst: a patch that splits one function in two does not look simpler by that, and one
    that adds a helper, or a whole file, has it counted. Statements outside functions count nothing, as with lizard.
    The layout of Python code changes nothing: see ``with_plain_layout``.
    Comments that tell lizard to look away (``#lizard forgives``, ``GENERATED CODE``) are not followed: they are the
    patch's own words. The path's suffix names the language. None where lizard fails on the file.
    """
    processors = [
        _without_comments if processor is lizard.comment_counter else processor
        for processor in lizard.get_extensions([])
    ]
    text = source_text(content)
    if path.endswith(PYTHON_SUFFIXES):
        text = with_plain_layout(text)
    try:
        found = lizard.FileAnalyzer(processors).analyze_source_code(path, text)
    except Exception:  # whatever a reader of text raises on odd code
        return None
    counts: list[int] = [function.cyclomatic_complexity for function in found.function_list]
    return sum(counts)


def is_measured(path: str, suffixes: tuple[str, ...] = PYTHON_SUFFIXES) -> bool:
    """Whether a file counts: its suffix is one of those, and lizard has a reader for it."""
    return path.endswith(suffixes) and lizard.get_reader_for(path) is not None


def parses(path: str, content: bytes) -> bool:
    """Whether Python can parse a file; a file in another language is left to its own compiler and always does."""
    if not path.endswith(PYTHON_SUFFIXES):
        return True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def source_text(content: bytes) -> str:
    """A file's text: in the encoding that it declares for Python, else UTF-8, with what is neither replaced.

    All lines end in a line feed, as Python reads them.
    """
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        text = content.decode(encoding, "replace")
    except (SyntaxError, LookupError, UnicodeError):
        text = content.decode("utf-8", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _without_comments(tokens: Iterator[str], reader: Any) -> Iterator[str]:
    """lizard's own step that drops comments, but for the orders in them."""
    reader.context.decorate_nesting_stack(_ShortNames)
    for token in tokens:
        comment = reader.get_comment_from_token(token)
        if comment is None:
            yield token
        else:
            yield from "\n" * len(comment.splitlines()[1:])


class _ShortNames:
    """lizard's stack of nested functions, without their names.

    lizard puts before a function's name those of all around it, each as long already, so that names double with each
    level: thirty levels of ``def`` take all memory there is.
    """

    def __init__(self, stack: Any) -> None:
        self._stack = stack

    def with_namespace(self, name: str) -> str:
        return name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stack, name)
