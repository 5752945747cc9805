"""What cannot be derived from a benchmark row and its tree is said, never guessed."""

from __future__ import annotations

from collections.abc import Iterable

from patchperf.errors import PatchperfError


class Underivable(PatchperfError):  # noqa: N818
    """A test, a command or an edit that cannot be derived with certainty: ``reason``, and what was ``tried``."""

    def __init__(self, reason: str, tried: Iterable[str] = ()) -> None:
        self.reason = reason
        self.tried = tuple(tried)
        super().__init__(reason + (f" (tried: {', '.join(self.tried)})" if self.tried else ""))
