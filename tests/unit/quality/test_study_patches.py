"""A study's records as patches to rate."""

from __future__ import annotations

import pandas as pd
import pytest

from patchperf.analysis.quality import study_patches
from patchperf.config import Quality
from patchperf.errors import InputError
from patchperf.quality.schema import COUNTS
from patchperf.stats.schema import OUTCOMES, PAIRS, typed

OUTCOME = {
    ("i1", "model"): "Resolved",
    ("i1", "other"): "not applied",
    ("i1", "ground_truth"): "Resolved",
    ("i2", "model"): "No-Op",
    ("i2", "other"): "Resolved",
    ("i2", "ground_truth"): "Resolved",
    ("i3", "model"): "Resolved",
    ("i3", "other"): "infrastructure failure",
    ("i3", "ground_truth"): "Resolved",
    ("i4", "model"): "infrastructure failure",
    ("i4", "ground_truth"): "infrastructure failure",
}


def rated(metric: str = "auto", uncounted: tuple[str, str] | None = None) -> pd.DataFrame:
    graded = [
        {"instance_id": i, "source": s, "outcome": one, "dialect": "swe-bench"} for (i, s), one in OUTCOME.items()
    ]
    outcomes = typed(graded, OUTCOMES)
    counted = {"complexity": 8, "complexity_reference": 4, "findings": 0, "findings_reference": 0, "lines": 3}
    counts = typed(
        [
            {"instance_id": i, "source": s, "compiles": (i, s) != ("i2", "other"), "note": "", **counted}
            for (i, s), outcome in OUTCOME.items()
            if outcome != "not applied" and (i, s) != uncounted
        ],
        COUNTS,
    )
    pair = {"instance_id": "i1", "source_i": "model", "source_j": "ground_truth", "mean_i": 1, "mean_j": 1}
    of = {"same_solution": False, "distinguishable": True}
    pairs = typed(
        [
            {**pair, **of, "metric": "instructions", "ratio": 1.5},
            {**pair, **of, "metric": "wall_ns", "ratio": 1.25},
            {**pair, **of, "metric": "instructions", "ratio": 9.0, "source_j": "other"},
        ],
        PAIRS,
    )
    return study_patches(outcomes, counts, pairs, Quality(metric=metric)).set_index(["instance_id", "source"])


def test_an_instance_whose_ground_truth_fails_is_left_out_for_all() -> None:
    assert set(rated().index.get_level_values("instance_id")) == {"i1", "i2", "i3"}


def test_a_patch_that_could_not_be_judged_is_not_correct() -> None:
    assert not rated().loc[("i3", "other"), "correct"]


def test_what_was_not_applied_does_not_compile() -> None:
    row = rated().loc[("i1", "other")]
    assert (row["correct"], row["compiles"], row["maintainability"], row["security"]) == (False, False, 0, 0)
    assert row["note"] == "not applied"
    assert row["lines"] == 3


def test_a_resolved_patch_that_was_not_counted_is_no_wrong_one() -> None:
    with pytest.raises(InputError, match="patches: no counts of model's patch for i3, which is Resolved"):
        rated(uncounted=("i3", "model"))


def test_what_is_resolved_compiles_whatever_the_analysing_python_says() -> None:
    row = rated().loc[("i2", "other")]
    assert (row["correct"], row["compiles"], row["maintainability"]) == (True, True, 0.5)


@pytest.mark.parametrize(("metric", "ratio"), [("auto", 1.5), ("instructions", 1.5), ("wall_ns", 1.25)])
def test_runtimes_are_ratios_to_the_ground_truth_on_one_metric(metric: str, ratio: float) -> None:
    runtime = rated(metric)["runtime"].dropna()
    assert runtime.to_dict() == {("i1", "model"): ratio}
