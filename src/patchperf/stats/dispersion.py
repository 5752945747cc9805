"""How far the solutions of a case lie apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def relative_standard_deviation(means: Sequence[float]) -> float:
    """RSD of a case's k solution means: their standard deviation over their mean, a fraction.

    RSD = sqrt(Σᵢ (x̄ᵢ − x̄)² / (k − 1)) / x̄ with x̄ = Σᵢ x̄ᵢ / k, as in section 3 of the study (after Peng et al., 2025).
    The unit of the means cancels. NaN for fewer than two means or a grand mean that is not positive and finite.
    """
    values = np.sort(np.asarray(means, dtype=float))
    if len(values) < 2:
        return float("nan")
    grand = float(np.mean(values))
    if not 0 < grand < np.inf:
        return float("nan")
    return float(np.std(values, ddof=1)) / grand
