"""A table with the shape of the paper that the Quality Index is from: four models, 130 bugs, its published means.

Means that the paper gives only as ranges are chosen within them.
"""

from __future__ import annotations

import numpy as np

from patchperf.quality.index import Ratings

BUGS = 130
MODELS = ("14B", "3B", "7B", "lite")
SOLVED = (52, 20, 40, 42)
MAINTAINABILITY = (0.897, 0.856, 0.88, 0.88)
SECURITY = (0.923, 0.878, 0.9, 0.9)
TOKENS_PER_SECOND = (24.0, 100.0, 45.0, 81.0)


def seed_paper() -> Ratings:
    random = np.random.default_rng(5)
    hardness = np.arange(BUGS)[:, np.newaxis] + random.uniform(0, 40, (BUGS, len(MODELS)))
    correct = (hardness.argsort(axis=0).argsort(axis=0) < np.array(SOLVED)).astype(float)
    full = np.ones((BUGS, len(MODELS)))
    return Ratings(
        instances=tuple(f"bug-{number}" for number in range(BUGS)),
        sources=MODELS,
        correct=correct,
        maintainability=full * MAINTAINABILITY,
        security=full * SECURITY,
        tokens_per_second=full * TOKENS_PER_SECOND,
        runtime=full * np.nan,
        patches=np.full(len(MODELS), BUGS),
        lines=np.arange(BUGS) % 3 + 1.0,
    )
