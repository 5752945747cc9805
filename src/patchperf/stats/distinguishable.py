"""How many cases each test tells apart, per metric."""

from __future__ import annotations

import pandas as pd

from patchperf.stats.schema import DISTINGUISHABLE, backends, typed


def distinguishable_counts(cases: pd.DataFrame) -> pd.DataFrame:
    """One row per metric, counted over the table ``cases``.

    ``cases`` have at least one solution, ``compared`` two or more, ``tested`` a p of Welch's test. Of those,
    ``distinguishable`` has p < alpha, ``by_q`` q < alpha, ``by_blocks``, ``by_friedman`` and ``by_permutation`` that p
    below alpha, ``practical`` a difference that is surely above the practical threshold; ``share`` is
    distinguishable / tested, NaN for none. ``chance`` is alpha · tested: as many would be expected among equal
    solutions. The medians of RSD are over all tested and over the distinguishable cases.
    """
    rows = []
    for metric, of_metric in cases.groupby("metric"):
        tested = of_metric[of_metric["p"].notna()]
        found = tested[tested["distinguishable"]]
        by_round = {
            test: (tested[f"p_{test}"] < tested["alpha"]).sum() for test in ("blocks", "friedman", "permutation")
        }
        rows.append(
            {
                "metric": metric,
                "backend": backends(of_metric["backend"]),
                "cases": len(of_metric),
                "compared": (of_metric["k"] > 1).sum(),
                "tested": len(tested),
                "distinguishable": len(found),
                "share": len(found) / len(tested) if len(tested) else float("nan"),
                "chance": tested["alpha"].sum(),
                "by_q": (tested["q"] < tested["alpha"]).sum(),
                **{f"by_{test}": count for test, count in by_round.items()},
                "practical": tested["practical"].sum(),
                "median_rsd": tested["rsd"].median(),
                "median_rsd_distinguishable": found["rsd"].median(),
            }
        )
    return typed(rows, DISTINGUISHABLE)
