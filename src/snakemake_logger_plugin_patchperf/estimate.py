"""How long a stage will still take, from its own jobs alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Underway:
    """A running job: seconds since it started, and the part of it that is done, 0 to 1 (None: it does not say)."""

    elapsed: float
    fraction: float | None = None

    @property
    def whole(self) -> float | None:
        """Seconds that the job will take in all, as far as it says itself."""
        return self.elapsed / self.fraction if self.fraction else None


def seconds_left(finished: int, finished_seconds: float, underway: Sequence[Underway], waiting: int) -> float | None:
    """Estimated seconds until a stage's last job ends, or None if there is nothing to go by.

    A job takes as long as the stage's finished jobs took on average (``finished_seconds`` is their sum); before one has
    finished, as long as the running ones say that they will. Waiting jobs are shared among as many places as are taken
    now.
    """
    if not underway:
        return None
    said = [job.whole for job in underway if job.whole is not None]
    if finished:
        usual = finished_seconds / finished
    elif said:
        usual = sum(said) / len(said)
    else:
        return None
    ends = [max((job.whole or usual) - job.elapsed, 0.0) for job in underway]
    return max(*ends, (sum(ends) + waiting * usual) / len(underway))
