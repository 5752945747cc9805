"""What became of every candidate, beside what its authors report."""

from __future__ import annotations

import pandas as pd

from patchperf.quality.outcomes import Outcome
from patchperf.stats.schema import AGREEMENT, OUTCOMES, checked, typed

RESOLVED: Outcome = "Resolved"
UNGRADED: Outcome = "infrastructure failure"

_TEXTS = ("repo", "solution", "link", "note", "f2p", "p2p", "other_dialect", "other_outcome")


def outcome_table(outcomes: pd.DataFrame) -> pd.DataFrame:
    """All graded candidates in order of instance and source, with the test counts behind each outcome."""
    table = checked(outcomes.fillna(dict.fromkeys(_TEXTS, "")), OUTCOMES, "outcomes")
    return table.sort_values(["instance_id", "source"], ignore_index=True)


def agreement_table(outcomes: pd.DataFrame) -> pd.DataFrame:
    """Candidates whose authors say whether they are resolved; ``agrees`` is whether our outcome says the same.

    A candidate that an infrastructure failure left without a verdict agrees with nothing.
    """
    reported = outcomes[outcomes["reported_resolved"].notna()]
    same = (reported["outcome"] == RESOLVED) == reported["reported_resolved"].astype(bool)
    agrees = same & (reported["outcome"] != UNGRADED)
    return typed(reported.assign(agrees=agrees).sort_values(["instance_id", "source"]), AGREEMENT)
