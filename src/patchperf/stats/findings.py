"""The study's findings on this data, computed: counts, orders, and whether the first study's findings hold here."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import pandas as pd
from pydantic import BaseModel, ConfigDict
from scipy import stats

from patchperf.stats.funnel import CORPUS
from patchperf.stats.outcome_rates import ALL
from patchperf.stats.schema import SETTINGS, backends, source_order
from patchperf.study.instance import GROUND_TRUTH

KNOWN_METRICS = ("instructions", "wall_ns")
LEAST_MODELS = 3
CONSISTENT = 0.75


class Record(BaseModel):
    """A part of findings.json; a number that does not exist on this data is null."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class DatasetFindings(Record):
    """How many rows a dataset has, how many each filter excluded, and how many are kept."""

    dataset: str
    instances: int
    excluded: dict[str, int]
    kept: int


class SourceFindings(Record):
    """A source's candidates by outcome; rates and shares are those of the table outcome_rates."""

    source: str
    candidates: int
    outcomes: dict[str, int]
    resolution_rate: float | None
    regression_rate: float | None
    no_op_share: float | None
    regression_share: float | None
    reported: int
    agreeing: int


class SettingFindings(Record):
    """Speed and votes over one set of cases.

    ``speed`` is a source's geometric mean of its geometric-mean ratios to every other source (below 1: faster than the
    others; the least-squares scale of a matrix of ratios, Crawford and Williams, 1985). Orders run from the best.
    ``pairs`` counts the distinct pairs of sources with a case, ``pairs_different`` those of p_holm < alpha.
    """

    setting: str
    cases: int
    to_ground_truth: dict[str, float | None]
    speed: dict[str, float | None]
    order_by_speed: list[str]
    votes: dict[str, float]
    order_by_votes: list[str]
    mean_gap: float | None
    pairs: int
    pairs_different: int


class MetricFindings(Record):
    """One metric's cases; ``median_cv`` is over solutions, ``notes`` counts what the statistics had to decide.

    ``distinguishable_q`` counts the cases with q < alpha, the others of its kind those with that test's p < alpha, over
    the ``tested_over_rounds``; ``welch_and_blocks`` those that both tests call.
    """

    metric: str
    backend: str
    cases: int
    compared: int
    tested: int
    distinguishable: int
    distinguishable_share: float | None
    median_rsd: float | None
    median_rsd_distinguishable: float | None
    median_cv: float | None
    mean_repetitions: float | None
    median_repetitions: float | None
    voids: int
    notes: dict[str, int]
    settings: list[SettingFindings]
    distinguishable_q: int
    tested_over_rounds: int
    distinguishable_blocks: int
    distinguishable_friedman: int
    distinguishable_permutation: int
    welch_and_blocks: int
    practical: int
    practical_threshold: float
    median_slowest_fastest: float | None
    median_slowest_fastest_distinguishable: float | None


class MetricAgreement(Record):
    """Cases that were tested on two metrics, by which of the two calls them distinguishable."""

    first: str
    second: str
    cases: int
    both: int
    only_first: int
    only_second: int
    neither: int


class Finding(Record):
    """A finding of the first study; ``holds`` is null where this data cannot tell.

    Every entry of ``evidence`` names its metric and backend.
    """

    statement: str
    criterion: str
    holds: bool | None
    evidence: list[dict[str, str | float | int | None]]


class Findings(Record):
    """All of findings.json."""

    alpha: float | None
    datasets: list[DatasetFindings]
    sources: list[SourceFindings]
    metrics: list[MetricFindings]
    metric_agreement: list[MetricAgreement]
    not_measured: list[str]
    findings: dict[str, Finding]


def findings(tables: Mapping[str, pd.DataFrame]) -> Findings:
    """The findings of one study.

    ``tables`` are funnel, outcomes, outcome_rates, agreement, solutions, cases, speedups, champions.
    """
    cases = tables["cases"]
    metrics = [_metric(str(metric), tables) for metric in sorted(cases["metric"].unique())]
    sources = _sources(tables["outcomes"], tables["outcome_rates"], tables["agreement"])
    return Findings(
        alpha=float(cases["alpha"].iloc[0]) if len(cases) else None,
        datasets=[_dataset(str(dataset), rows) for dataset, rows in tables["funnel"].groupby("dataset")],
        sources=sources,
        metrics=metrics,
        metric_agreement=[_agreement(cases, first.metric, second.metric) for first, second in combinations(metrics, 2)],
        not_measured=[metric for metric in KNOWN_METRICS if metric not in set(cases["metric"])],
        findings={
            "2.1": _resolution_and_speed(metrics, sources),
            "2.2": _subset_and_full(metrics, tables["speedups"]),
            "2.3": _speed_and_votes(metrics),
        },
    )


def kendall_tau(first: Mapping[str, float | None], second: Mapping[str, float | None]) -> float | None:
    """Kendall's τ-b of two scores over the models that have both; None for too few models or a constant score.

    The ground truth is no model and is left out.
    """
    return kendall(first, second)["tau"]


def kendall(first: Mapping[str, float | None], second: Mapping[str, float | None]) -> dict[str, float | None]:
    """``kendall_tau`` with its two-sided p (exact without ties) and the number of models.

    Of four models in opposite orders p is 0.083: so few can hardly tell.
    """
    pairs = [
        (score, other)
        for name, score in sorted(first.items())
        if name != GROUND_TRUTH and score is not None and (other := second.get(name)) is not None
    ]
    if len(pairs) < LEAST_MODELS:
        return {"tau": None, "p": None, "models": len(pairs)}
    found = stats.kendalltau(*zip(*pairs, strict=True))
    return {"tau": _number(found.statistic), "p": _number(found.pvalue), "models": len(pairs)}


def _dataset(dataset: str, funnel: pd.DataFrame) -> DatasetFindings:
    removed = funnel.set_index("filter")["removed"].drop(CORPUS)
    kept = int(funnel["left"].iloc[-1])
    return DatasetFindings(
        dataset=dataset,
        instances=kept + int(removed.sum()),
        excluded={str(name): int(count) for name, count in removed.items()},
        kept=kept,
    )


def _sources(outcomes: pd.DataFrame, rates: pd.DataFrame, agreement: pd.DataFrame) -> list[SourceFindings]:
    overall = rates[rates["repo"] == ALL].set_index("source")
    found = []
    for source in source_order(outcomes["source"]):
        of_source = outcomes[outcomes["source"] == source]
        reported = agreement[agreement["source"] == source]
        counts = {
            str(outcome): int(count) for outcome, count in of_source["outcome"].value_counts().sort_index().items()
        }
        found.append(
            SourceFindings(
                source=source,
                candidates=len(of_source),
                outcomes=counts,
                resolution_rate=_number(overall["resolved_rate"].get(source)),
                regression_rate=_number(overall["regression_rate"].get(source)),
                no_op_share=_number(overall["no_op_share"].get(source)),
                regression_share=_number(overall["regression_share"].get(source)),
                reported=len(reported),
                agreeing=int(reported["agrees"].sum()),
            )
        )
    return found


def _metric(metric: str, tables: Mapping[str, pd.DataFrame]) -> MetricFindings:
    cases, solutions, speedups, votes = (
        tables[name][tables[name]["metric"] == metric] for name in ("cases", "solutions", "speedups", "champions")
    )
    tested = int(cases["p"].notna().sum())
    distinguishable = cases[cases["distinguishable"]]
    alpha = float(cases["alpha"].iloc[0])
    notes = cases["note"].str.split("; ").explode()
    return MetricFindings(
        metric=metric,
        backend=backends(cases["backend"]),
        cases=len(cases),
        compared=int(cases["rsd"].notna().sum()),
        tested=tested,
        distinguishable=len(distinguishable),
        distinguishable_share=len(distinguishable) / tested if tested else None,
        median_rsd=_number(cases["rsd"].median()),
        median_rsd_distinguishable=_number(distinguishable["rsd"].median()),
        median_cv=_number(solutions["cv"].median()),
        mean_repetitions=_number(cases["repetitions"].mean()),
        median_repetitions=_number(cases["repetitions"].median()),
        voids=int(cases["voids"].sum()),
        notes={str(note): int(count) for note, count in notes[notes != ""].value_counts().sort_index().items()},
        settings=[
            _setting(setting, speedups[speedups["setting"] == setting], votes[votes["setting"] == setting], alpha)
            for setting in SETTINGS
        ],
        distinguishable_q=int((cases["q"] < alpha).sum()),
        tested_over_rounds=int(cases["p_blocks"].notna().sum()),
        distinguishable_blocks=int((cases["p_blocks"] < alpha).sum()),
        distinguishable_friedman=int((cases["p_friedman"] < alpha).sum()),
        distinguishable_permutation=int((cases["p_permutation"] < alpha).sum()),
        welch_and_blocks=int((distinguishable["p_blocks"] < alpha).sum()),
        practical=int(cases["practical"].sum()),
        practical_threshold=float(cases["practical_threshold"].iloc[0]),
        median_slowest_fastest=_number(cases["slowest_fastest"].median()),
        median_slowest_fastest_distinguishable=_number(distinguishable["slowest_fastest"].median()),
    )


def _agreement(cases: pd.DataFrame, first: str, second: str) -> MetricAgreement:
    tested = cases[cases["p"].notna()]
    verdicts = tested.pivot(index="instance_id", columns="metric", values="distinguishable")
    known = verdicts.reindex(columns=[first, second]).dropna().astype(bool)
    one, other = known[first], known[second]
    return MetricAgreement(
        first=first,
        second=second,
        cases=len(known),
        both=int((one & other).sum()),
        only_first=int((one & ~other).sum()),
        only_second=int((~one & other).sum()),
        neither=int((~one & ~other).sum()),
    )


def _setting(setting: str, speedups: pd.DataFrame, champions: pd.DataFrame, alpha: float) -> SettingFindings:
    met = speedups[speedups["n"] > 0]
    distinct = met[met["source_i"] < met["source_j"]]
    logs = met.assign(log=met["geometric_mean"].map(math.log))
    models = logs[(logs["source_i"] != GROUND_TRUTH) & (logs["source_j"] != GROUND_TRUTH)]
    to_truth = logs[logs["source_j"] == GROUND_TRUTH]
    speed: dict[str, float | None] = {
        str(source): math.exp(mean) for source, mean in logs.groupby("source_i")["log"].mean().items()
    }
    votes = dict(zip(champions["source"], champions["votes"], strict=True))
    return SettingFindings(
        setting=setting,
        cases=int(champions["cases"].max()) if len(champions) else 0,
        to_ground_truth=dict(zip(to_truth["source_i"], to_truth["geometric_mean"], strict=True)),
        speed=speed,
        order_by_speed=sorted(speed, key=lambda source: (speed[source] or 0.0, source)),
        votes=votes,
        order_by_votes=sorted(votes, key=lambda source: (-votes[source], source)),
        mean_gap=_number(math.exp(models["log"].abs().mean()) - 1) if len(models) else None,
        pairs=len(distinct),
        pairs_different=int((distinct["p_holm"] < alpha).sum()),
    )


def _resolution_and_speed(metrics: list[MetricFindings], sources: list[SourceFindings]) -> Finding:
    unresolved = {one.source: None if one.resolution_rate is None else -one.resolution_rate for one in sources}
    regression = {one.source: one.regression_rate for one in sources}
    by_resolution, by_regression = (
        sorted(rates, key=lambda source: (rates[source] or 0.0, source)) for rates in (unresolved, regression)
    )
    evidence = [
        {
            **_where(metric, setting),
            **kendall(unresolved, setting.speed),
            "tau_with_votes": kendall_tau(unresolved, _negative(setting.votes)),
            "order_by_resolution": _models(by_resolution),
            "order_by_regression": _models(by_regression),
            "order_by_speed": _models(setting.order_by_speed),
        }
        for metric in metrics
        for setting in metric.settings
    ]
    taus = [one["tau"] for one in evidence if one["setting"] == "full" and one["tau"] is not None]
    return Finding(
        statement="Resolution rates and runtime performance are two independent dimensions of a model",
        criterion="on the full set and any metric, the models' order by resolution rate is not that by speed (τ < 1)",
        holds=all(tau < 1 for tau in taus) if taus else None,
        evidence=evidence,
    )


def _subset_and_full(metrics: list[MetricFindings], speedups: pd.DataFrame) -> Finding:
    evidence: list[dict[str, str | float | int | None]] = []
    verdicts = []
    for metric in metrics:
        full, subset = metric.settings
        share, pairs = _same_direction(speedups[speedups["metric"] == metric.metric])
        evidence.append(
            {
                "metric": metric.metric,
                "backend": metric.backend,
                "model_pairs": pairs,
                "same_direction": share,
                **kendall(full.speed, subset.speed),
                "cases_full": full.cases,
                "cases_distinguishable": subset.cases,
                "order_by_speed_full": _models(full.order_by_speed),
                "order_by_speed_distinguishable": _models(subset.order_by_speed),
                "mean_gap_full": full.mean_gap,
                "mean_gap_distinguishable": subset.mean_gap,
            }
        )
        if share is not None and full.mean_gap is not None and subset.mean_gap is not None:
            verdicts.append(share >= CONSISTENT and subset.mean_gap > full.mean_gap)
    return Finding(
        statement="Distinguishable subsets agree with the full set about models, and gaps widen on them",
        criterion=(
            f"on every metric, at least {CONSISTENT:.0%} of model pairs have the same faster model in both settings, "
            "and the mean gap (geometric mean of max(r, 1/r) over model pairs, minus 1) is larger on the subset"
        ),
        holds=all(verdicts) if verdicts else None,
        evidence=evidence,
    )


def _same_direction(speedups: pd.DataFrame) -> tuple[float | None, int]:
    """The share of model pairs with the same faster model in both settings, and how many pairs can be compared."""
    models = speedups[
        (speedups["source_i"] < speedups["source_j"])
        & (speedups["source_i"] != GROUND_TRUTH)
        & (speedups["source_j"] != GROUND_TRUTH)
        & (speedups["n"] > 0)
    ]
    wide = models.pivot(index=["source_i", "source_j"], columns="setting", values="geometric_mean")
    wide = wide.reindex(columns=list(SETTINGS)).dropna()
    if wide.empty:
        return None, 0
    faster = (wide < 1).astype(int) - (wide > 1).astype(int)
    return float((faster["full"] == faster["distinguishable"]).mean()), len(wide)


def _speed_and_votes(metrics: list[MetricFindings]) -> Finding:
    evidence = [
        {
            **_where(metric, setting),
            **kendall(setting.speed, _negative(setting.votes)),
            "order_by_speed": _models(setting.order_by_speed),
            "order_by_votes": _models(setting.order_by_votes),
        }
        for metric in metrics
        for setting in metric.settings
    ]
    taus = [one["tau"] for one in evidence if one["tau"] is not None]
    return Finding(
        statement="Aggregate speedup generally agrees with how often a model has the fastest solution, not completely",
        criterion="over metrics and settings, τ of orders by speed and by votes: positive in the mean, below 1 in some",
        holds=sum(taus) > 0 and min(taus) < 1 if taus else None,
        evidence=evidence,
    )


def _where(metric: MetricFindings, setting: SettingFindings) -> dict[str, Any]:
    return {"metric": metric.metric, "backend": metric.backend, "setting": setting.setting, "cases": setting.cases}


def _negative(votes: Mapping[str, float]) -> dict[str, float | None]:
    """Votes as a score of which the smallest is the best."""
    return {source: -count for source, count in votes.items()}


def _models(order: list[str]) -> str:
    return " > ".join(source for source in order if source != GROUND_TRUTH)


def _number(value: Any) -> float | None:
    return None if pd.isna(value) else float(value)
