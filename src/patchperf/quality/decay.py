"""How a count of a patch (its complexity, its findings) is scored against the ground truth's."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from pydantic import BaseModel, ConfigDict, Field

from patchperf.errors import InputError
from patchperf.stats.layout import Floats

Formula = Literal["reciprocal", "exponential", "linear"]
FORMULAS: tuple[Formula, ...] = get_args(Formula)


class Decay(BaseModel):
    """A score in [0, 1] of a count c against a reference r: 1 when c ≤ r, and less the more c exceeds r.

    The excess is relative, e = max(0, c − r) / max(r, 1): ten more branches are much in a short file and little in a
    long one. With the denominator at least 1 the score is defined for r = 0, and one finding beside none costs as much
    as a second beside one. ``half`` is the excess with the score 1/2, so that formulas differ in their tails alone.

    ===========  ==========================  =====================================================================
    formula      score                       tail
    ===========  ==========================  =====================================================================
    reciprocal   1 / (1 + e / half)          long: never 0, and with half = 1 just r / c, "half as good at twice
                                             the count"; two bad patches still differ
    exponential  2^(−e / half)               short: each further ``half`` halves the score again
    linear       max(0, 1 − e / (2 half))    none: 0 from twice ``half`` on
    ===========  ==========================  =====================================================================

    The default is the reciprocal: it has no constant to choose, reads as a ratio, and treats a count as the ratio to
    the fastest treats speeds, so that dimensions of an index have one meaning. A count below the reference earns
    nothing: less than the fix needs is often a fix that lacks something, and that is correctness' part.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    formula: Formula = "reciprocal"
    half: float = Field(default=1.0, gt=0, allow_inf_nan=False)

    def score(self, count: ArrayLike, reference: ArrayLike) -> Floats:
        """Scores of counts against references, arrays of one shape; NaN where either is.

        Raises InputError for a negative count.
        """
        counts, references = np.asarray(count, dtype=float), np.asarray(reference, dtype=float)
        if (counts < 0).any() or (references < 0).any():
            raise InputError("a count of complexity or findings is below 0: correct the table")
        excess = np.maximum(counts - references, 0) / np.maximum(references, 1) / self.half
        if self.formula == "reciprocal":
            return np.asarray(1 / (1 + excess))
        if self.formula == "exponential":
            return np.asarray(2.0**-excess)
        return np.asarray(np.maximum(0.0, 1 - excess / 2))
