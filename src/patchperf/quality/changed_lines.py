"""The size of a patch, without what statistics need: jobs that only count load no more than they use."""

from __future__ import annotations

from unidiff.errors import UnidiffParseError
from unidiff.patch import PatchSet

from patchperf.errors import InputError


def changed_lines(patch: str) -> int:
    """How many lines a patch changes: of each run of removed and added lines the larger number.

    A line that is replaced counts once, one that is added or removed once as well. Raises InputError for text that is
    no unified diff.
    """
    try:
        files = PatchSet(patch)
    except UnidiffParseError as error:
        raise InputError(f"the ground truth is no unified diff: {error}") from None
    total = 0
    for line_types in ([line.line_type for line in hunk] for file in files for hunk in file):
        removed = added = 0
        for kind in [*line_types, " "]:
            if kind == "-":
                removed += 1
            elif kind == "+":
                added += 1
            elif kind == " ":
                total += max(removed, added)
                removed = added = 0
    return total
