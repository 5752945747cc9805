"""How often each source resolves an issue and how often it only breaks something, over all instances and by repository.

Resolved and Regression are counted over the same instances for every source, so that rates compare: whoever sent
nothing for an instance, or a patch that could not be judged, has not resolved it. Shares of No-Op and Regression are
over a source's applied patches whose tests ran to their end and that are not Resolved (SWE-bench, Appendix C.5).
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import pandas as pd
from scipy import stats

from patchperf.quality.outcomes import CELLS, Outcome
from patchperf.stats.agreement import RESOLVED, UNGRADED
from patchperf.stats.schema import OUTCOME_RATES, source_order, typed
from patchperf.study.instance import GROUND_TRUTH

ALL = "all"
"""What the column ``repo`` has in rows over all repositories; names of repositories have a slash."""

NO_OP: Outcome = "No-Op"
REGRESSION: Outcome = "Regression"
CONFIDENCE = 0.95


def outcome_rates(outcomes: pd.DataFrame) -> pd.DataFrame:
    """One row per source for all repositories, then one per source and repository.

    ``instances`` are those with any candidate, but for those whose ground truth does not hold here (it is an
    infrastructure failure): on these nobody can be judged. ``untested`` counts the source's candidates without a run to
    its end (empty, not applied, test only, timed out), ``failed`` those that are infrastructure failures all the same.
    Bounds are Wilson's 95 % interval; a rate over nothing is missing.
    """
    rated = judged(outcomes)
    sources = source_order(rated["source"])
    by_repo = [(str(repo), rows) for repo, rows in rated.groupby("repo") if repo]
    rows = [_row(source, repo, of_repo) for repo, of_repo in [(ALL, rated), *by_repo] for source in sources]
    return typed([row for row in rows if row["instances"]], OUTCOME_RATES)


@cache
def wilson(count: int, total: int) -> tuple[float, float]:
    """Bounds of Wilson's 95 % score interval (1927) of ``count / total``, without continuity correction."""
    if not total:
        return math.nan, math.nan
    interval = stats.binomtest(count, total).proportion_ci(CONFIDENCE, method="wilson")
    return float(interval.low), float(interval.high)


def judged(outcomes: pd.DataFrame) -> pd.DataFrame:
    """The rows of instances that can be judged: whose ground truth holds here, or is not among the sources."""
    broken = outcomes[(outcomes["source"] == GROUND_TRUTH) & (outcomes["outcome"] == UNGRADED)]
    return outcomes[~outcomes["instance_id"].isin(broken["instance_id"])]


def _row(source: str, repo: str, rows: pd.DataFrame) -> dict[str, Any]:
    instances = rows["instance_id"].nunique()
    counts = rows.loc[rows["source"] == source, "outcome"].value_counts()
    candidates, failed = int(counts.sum()), int(counts.get(UNGRADED, 0))
    tested = int(counts.reindex(list(CELLS), fill_value=0).sum())
    resolved, regression, no_op = (int(counts.get(name, 0)) for name in (RESOLVED, REGRESSION, NO_OP))
    unresolved = tested - resolved
    return {
        "source": source,
        "repo": repo,
        "instances": instances,
        "candidates": candidates,
        "untested": candidates - tested - failed,
        "failed": failed,
        "resolved": resolved,
        "regression": regression,
        "unresolved": unresolved,
        "no_op": no_op,
        **_bounded("resolved", "_rate", resolved, instances),
        **_bounded("regression", "_rate", regression, instances),
        **_bounded("no_op_share", "", no_op, unresolved),
        **_bounded("regression_share", "", regression, unresolved),
    }


def _bounded(name: str, suffix: str, count: int, total: int) -> dict[str, float]:
    low, high = wilson(count, total)
    return {f"{name}{suffix}": count / total if total else math.nan, f"{name}_low": low, f"{name}_high": high}
