"""The quality of patches: the index of every source, its ranking's firmness, and correctness compared."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from patchperf.analysis.files import Files
from patchperf.config import Quality
from patchperf.errors import InputError
from patchperf.quality.correctness_by_size import correctness_by_size
from patchperf.quality.decay import Decay
from patchperf.quality.dimensions import Efficiency, Weights, dimensions
from patchperf.quality.efficiency import mean_speeds
from patchperf.quality.generation_speed import generation_speed_table
from patchperf.quality.index import Ratings, dimension_scores, quality_table, schemes
from patchperf.quality.mcnemar import mcnemar_table
from patchperf.quality.patches import ratings_of, scored
from patchperf.quality.schema import COUNTS, SPEEDS, TABLES
from patchperf.quality.simplex import weights_table
from patchperf.stats import schema
from patchperf.stats.agreement import RESOLVED
from patchperf.stats.outcome_rates import judged
from patchperf.stats.schema import typed
from patchperf.study.instance import GROUND_TRUTH
from patchperf.tables import read_table, write_table

METRIC_ORDER = ("instructions", "wall_ns")

QUALITY_CAPTION = "Quality Index of every source under every scheme of weights, with 95\\,\\% intervals over instances."
QUALITY_SHOWN = [
    "normalisation", "scheme", "source", "correctness", "maintainability", "security", "efficiency", "index", "low",
    "high", "rank",
]  # fmt: skip
PATCHES_CAPTION = "Every patch: correctness, complexity and findings beside the ground truth's, and scores."
PATCHES_SHOWN = [
    "instance_id", "source", "correct", "compiles", "complexity", "complexity_reference", "findings",
    "findings_reference", "maintainability", "security",
]  # fmt: skip
MCNEMAR_CAPTION = "McNemar's exact test of correctness for every two sources, adjusted by Holm."
WEIGHTS_CAPTION = (
    "How firm the rankings are: share of all weights under which a source is first, weight that must move for it to "
    "draw level with the first, and with the next below."
)
WEIGHTS_SHOWN = ["scheme", "rank", "source", "index", "share", "to_first", "rival", "to_next", "next"]
SIZES_CAPTION = "Correct patches by the number of lines that the ground truth changes, with exact 95\\,\\% intervals."
SPEED_CAPTION = (
    "Generation speed (tokens per second) of every source beside its parameters (billions), with Spearman's rank "
    "correlation of the two."
)


def write_quality(
    patches: pd.DataFrame,
    made: Files,
    *,
    efficiency: Efficiency,
    seed: int,
    user: Mapping[str, Weights] | None = None,
    speeds: pd.DataFrame | None = None,
) -> None:
    """All of TABLES, of patches with scores.

    ``user`` are further schemes, ``speeds`` speeds and sizes of sources, with the columns of SPEEDS.
    """
    given_speeds = typed([], SPEEDS) if speeds is None else speeds
    known = given_speeds.set_index("source")["tokens_per_second"].dropna()
    ratings = ratings_of(patches, {str(source): speed for source, speed in known.items()})
    rated = dimensions(efficiency)
    given = schemes(rated, user)
    quality = quality_table(ratings, efficiency, seed, user)
    scores = dimension_scores(ratings, efficiency)[0]
    tests = mcnemar_table(ratings.correct, ratings.sources)
    sizes = correctness_by_size(ratings.correct, ratings.sources, ratings.lines)
    firmness = weights_table(scores, ratings.sources, rated, given)
    write_table(quality, made["quality"], made["quality_tex"], QUALITY_CAPTION, QUALITY_SHOWN)
    write_table(patches, made["quality_patches"], made["quality_patches_tex"], PATCHES_CAPTION, PATCHES_SHOWN)
    write_table(tests, made["mcnemar"], made["mcnemar_tex"], MCNEMAR_CAPTION)
    write_table(firmness, made["quality_weights"], made["quality_weights_tex"], WEIGHTS_CAPTION, WEIGHTS_SHOWN)
    write_table(sizes, made["correctness_by_size"], made["correctness_by_size_tex"], SIZES_CAPTION)
    speed = generation_speed_table(rated_speeds(ratings, given_speeds))
    write_table(speed, made["generation_speed"], made["generation_speed_tex"], SPEED_CAPTION)


def rated_speeds(ratings: Ratings, speeds: pd.DataFrame) -> pd.DataFrame:
    """Speeds and sizes of the sources that are rated: a source's own speed, or the mean over its patches."""
    means = mean_speeds(ratings.tokens_per_second, np.ones((1, len(ratings.instances))))[0]
    of_sources = pd.DataFrame({"source": ratings.sources, "tokens_per_second": means})
    sizes = speeds[["source", "total_parameters", "active_parameters"]]
    return typed(of_sources.merge(sizes, on="source", how="left"), SPEEDS)


def require_efficiency(patches: pd.DataFrame, speeds: pd.DataFrame | None, efficiency: Efficiency) -> None:
    """Raise InputError where the efficiency that is asked for is known of no source."""
    known = speeds is not None and speeds["tokens_per_second"].notna().any()
    patches = patches[patches["source"] != GROUND_TRUTH]
    for kind, column, given in (("generation", "tokens_per_second", known), ("runtime", "runtime", False)):
        if efficiency in (kind, "both") and not given and patches[column].isna().all():
            raise InputError(
                f"efficiency {efficiency} needs {column}, which no patch or source has: give it, or rate without "
                "efficiency (--efficiency none)"
            )


def write_study_quality(given: Files, made: Files, settings: Quality, seed: int) -> None:
    """The tables of a study, from the records ``patches`` and ``outcomes`` and the table ``pairs``.

    A candidate is correct when it is Resolved; it then compiles, whatever the Python that analyses it says. One that is
    empty or does not apply does not compile. An instance whose ground truth does not hold here is left out for all
    sources; a candidate that could not be judged for another reason is not correct. Runtimes are ratios to the ground
    truth's, on the metric that is set, or the first there is of instructions and wall clock.
    """
    outcomes = schema.checked(pd.read_parquet(given["outcomes"]), schema.OUTCOMES, str(given["outcomes"]))
    counts = schema.checked(pd.read_parquet(given["patches"]), COUNTS, str(given["patches"]))
    patches = study_patches(outcomes, counts, read_table(given["pairs"], schema.PAIRS), settings)
    if (patches["source"] == GROUND_TRUTH).all():
        for name, columns in TABLES.items():
            write_table(typed([], columns), made[name], made[f"{name}_tex"], "No patches were rated.")
        return
    speeds = typed([{"source": name, **speed.model_dump()} for name, speed in settings.speeds.items()], SPEEDS)
    write_quality(patches, made, efficiency=settings.efficiency, seed=seed, user=settings.schemes, speeds=speeds)


def study_patches(outcomes: pd.DataFrame, counts: pd.DataFrame, pairs: pd.DataFrame, settings: Quality) -> pd.DataFrame:
    """A study's patches with their scores, as ``read_patches`` gives those of a file.

    Raises InputError for a patch that is Resolved and was not counted.
    """
    graded = judged(outcomes)[["instance_id", "source", "outcome"]]
    sizes = counts.groupby("instance_id")["lines"].first()
    table = graded.merge(counts.drop(columns="lines"), on=["instance_id", "source"], how="left")
    table["lines"] = table["instance_id"].map(sizes).astype("float64")
    table["correct"] = table["outcome"] == RESOLVED
    counted = table["complexity"].notna()
    if len(lost := table[table["correct"] & ~counted]):
        row = lost.iloc[0]
        raise InputError(
            f"patches: no counts of {row['source']}'s patch for {row['instance_id']}, which is Resolved: take outcomes "
            "and patches of one study"
        )
    table["compiles"] = counted & (table["correct"] | (table["compiles"] == True))  # noqa: E712  (missing is false)
    table["correct"] &= table["compiles"]
    table["note"] = table["note"].fillna("").where(counted, table["outcome"])
    table["tokens_per_second"] = np.nan
    runtimes = _runtimes(pairs, settings.metric)
    table = table.merge(runtimes, on=["instance_id", "source"], how="left")
    return scored(table, Decay(**settings.decay.model_dump()), "patches")


def _runtimes(pairs: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Runtimes over the ground truth's, on one metric: columns instance_id, source, runtime."""
    measured = [name for name in METRIC_ORDER if name in set(pairs["metric"])] if metric == "auto" else [metric]
    beside_truth = (pairs["source_j"] == GROUND_TRUTH) & pairs["metric"].isin(measured[:1])
    found = pairs.loc[beside_truth, ["instance_id", "source_i", "ratio"]]
    return found.rename(columns={"source_i": "source", "ratio": "runtime"})
