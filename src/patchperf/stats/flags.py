"""Flags of rows, "code" or "code:detail" joined by "; ", and what they come to over several rows."""

from __future__ import annotations

from collections.abc import Iterable

SEPARATOR = "; "


def most(texts: Iterable[str]) -> str:
    """Several rows' flags as one row's: every code once, with the largest of its details, in order of the codes."""
    details: dict[str, str] = {}
    for text in texts:
        for flag in filter(None, text.split(SEPARATOR)):
            code, _, detail = flag.partition(":")
            details[code] = max(details.get(code, ""), detail, key=lambda told: (len(told), told))
    return SEPARATOR.join(f"{code}:{detail}" if detail else code for code, detail in sorted(details.items()))
