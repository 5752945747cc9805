"""Whether one source is correct more often than another, on the instances where they differ."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
from scipy import stats

from patchperf.quality.schema import MCNEMAR
from patchperf.stats.layout import Floats, Integers
from patchperf.stats.multiplicity import holm
from patchperf.stats.schema import typed


def mcnemar(only_i: Integers, only_j: Integers) -> Floats:
    """Two-sided p of McNemar's exact test (1947): 2 P(X ≤ min), X binomial of all discordant pairs with 1/2, at most 1.

    ``only_i`` and ``only_j`` count the instances that one alone solves. Without any, p is 1.
    """
    tail = stats.binom.cdf(np.minimum(only_i, only_j), np.add(only_i, only_j), 0.5)
    return np.asarray(np.minimum(1.0, 2 * tail))


def mcnemar_table(correct: Floats, sources: tuple[str, ...]) -> pd.DataFrame:
    """The test for every two sources, with Holm's adjustment over all of them.

    ``correct`` has shape (instances, sources), 1 where a source's patch is correct and 0 where not.
    """
    solved = correct == 1
    pairs = list(combinations(range(len(sources)), 2))
    first, second = (solved[:, [pair[side] for pair in pairs]] for side in (0, 1))
    counts = {
        "both": (first & second).sum(axis=0),
        "only_i": (first & ~second).sum(axis=0),
        "only_j": (~first & second).sum(axis=0),
        "neither": (~first & ~second).sum(axis=0),
    }
    p = mcnemar(counts["only_i"], counts["only_j"])
    return typed(
        pd.DataFrame(
            {
                "source_i": [sources[i] for i, _ in pairs],
                "source_j": [sources[j] for _, j in pairs],
                "n": len(solved),
                **counts,
                "p": p,
                "p_holm": holm(p),
            }
        ),
        MCNEMAR,
    )
