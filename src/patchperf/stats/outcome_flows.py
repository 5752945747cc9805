"""What changed between two runs of one source: who moved from which outcome to which, and whether that is chance."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from patchperf.quality.mcnemar import mcnemar
from patchperf.quality.outcomes import ORDER
from patchperf.stats.agreement import RESOLVED
from patchperf.stats.outcome_rates import REGRESSION
from patchperf.stats.schema import OUTCOME_CHANGES, OUTCOME_FLOWS, typed

TESTED = (RESOLVED, REGRESSION)
"""Outcomes whose change is tested."""


def outcome_flows(outcomes: pd.DataFrame, previous: Mapping[str, str]) -> pd.DataFrame:
    """Instances by outcome before and after, in order of outcomes, for each source and the one it follows.

    ``previous`` is by source. Only instances for which both have a candidate; pairs of outcomes that none has are left
    out. ``instances`` are their ids, sorted.
    """
    place: dict[str, int] = {name: number for number, name in enumerate(ORDER)}
    rows = []
    for source, earlier in previous.items():
        both = _both(outcomes, source, earlier)
        moves: dict[tuple[str, str], list[str]] = {}
        for name, *move in both.sort_values("instance_id").itertuples(index=False, name=None):
            moves.setdefault((move[0], move[1]), []).append(name)
        for before, after in sorted(moves, key=lambda move: [place[name] for name in move]):
            names = moves[before, after]
            rows.append((source, earlier, before, after, len(names), names))
    return typed(pd.DataFrame(rows, columns=list(OUTCOME_FLOWS)), OUTCOME_FLOWS)


def outcome_changes(outcomes: pd.DataFrame, previous: Mapping[str, str]) -> pd.DataFrame:
    """Of Resolved and of Regression: how many instances had it before, have it after, gained and lost it.

    ``n`` is the number of instances for which both runs have a candidate. ``p`` is McNemar's exact test of gained
    against lost.
    """
    rows = []
    for source, earlier in previous.items():
        both = _both(outcomes, source, earlier)
        for name in TESTED:
            before, after = both["before"] == name, both["after"] == name
            gained, lost = int((after & ~before).sum()), int((before & ~after).sum())
            had, has, kept = int(before.sum()), int(after.sum()), int((before & after).sum())
            p = float(mcnemar(np.asarray(gained), np.asarray(lost)))
            rows.append((source, earlier, name, len(both), had, has, kept, gained, lost, p))
    return typed(pd.DataFrame(rows, columns=list(OUTCOME_CHANGES)), OUTCOME_CHANGES)


def _both(outcomes: pd.DataFrame, source: str, earlier: str) -> pd.DataFrame:
    """Columns instance_id, before, after."""
    before, after = (
        outcomes.loc[outcomes["source"] == name, ["instance_id", "outcome"]].rename(columns={"outcome": column})
        for name, column in ((earlier, "before"), (source, "after"))
    )
    return before.merge(after, on="instance_id")
