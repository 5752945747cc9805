"""Text that others wrote, made fit to be shown."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text with tabs as spaces, and every other character that is not to be seen as an escape; line ends stay."""
    return "".join(
        char if char == "\n" or char.isprintable() else char.encode("unicode_escape").decode()
        for char in text.expandtabs(4)
    )
