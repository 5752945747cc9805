"""The index of all cases, as values: what its template shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from patchperf.pages.case import flags
from patchperf.pages.numbers import metric_name, number, percent
from patchperf.pages.study import Rows, Study
from patchperf.text import printable


@dataclass(frozen=True)
class Cell:
    """What is shown, and the number to sort by; empty for a missing one."""

    text: str
    key: str


@dataclass(frozen=True)
class OnMetric:
    """A case on one metric; ``distinguishable`` is yes, no, or untested."""

    metric: str
    rsd: Cell
    p: Cell
    distinguishable: str
    fastest: str


@dataclass(frozen=True)
class CaseRow:
    """A row of the index."""

    instance_id: str
    repo: str
    k: int
    metrics: tuple[OnMetric, ...]
    flags: tuple[str, ...]


@dataclass(frozen=True)
class Index:
    """The index: its rows, the metrics of its columns with their backends, and the repositories to choose from."""

    rows: tuple[CaseRow, ...]
    metrics: tuple[tuple[str, str], ...]
    repos: tuple[str, ...]
    excluded: int
    counts: tuple[tuple[str, int, int], ...]


def index_view(study: Study) -> Index:
    """The index of a study; cases that a metric was not measured for have empty cells there."""
    rows = tuple(_row(study, instance) for instance in study.instances)
    backends: dict[str, set[str]] = {metric: set() for metric in study.metrics}
    for cases in study.tables["cases"].values():
        for case in cases:
            backends[case["metric"]].add(case["backend"])
    everyone = [entry for entries in study.tables["ledger"].values() for entry in entries]
    return Index(
        rows=rows,
        metrics=tuple((metric, "+".join(sorted(filter(None, backends[metric])))) for metric in study.metrics),
        repos=tuple(sorted({row.repo for row in rows})),
        excluded=sum(entry["status"] == "excluded" for entry in everyone),
        counts=tuple(
            (metric_name(metric), *_distinguishable([row.metrics[place] for row in rows]))
            for place, metric in enumerate(study.metrics)
        ),
    )


def _distinguishable(cells: Sequence[OnMetric]) -> tuple[int, int]:
    tested = [one for one in cells if one.distinguishable != "untested"]
    return sum(one.distinguishable == "yes" for one in tested), len(tested)


def _row(study: Study, instance: str) -> CaseRow:
    cases, solutions = study.rows("cases", instance), study.rows("solutions", instance)
    return CaseRow(
        instance_id=instance,
        repo=study.rows("ledger", instance)[0]["repo"],
        k=len(study.rows("members", instance)),
        metrics=tuple(_on_metric(metric, cases, solutions) for metric in study.metrics),
        flags=tuple(dict.fromkeys(flag for case in cases for flag in flags(case))),
    )


def _on_metric(metric: str, cases: Rows, solutions: Rows) -> OnMetric:
    case = next((one for one in cases if one["metric"] == metric), None)
    if case is None:
        nothing = Cell("–", "")
        return OnMetric(metric, nothing, nothing, "untested", "")
    means = {one["sources"]: one["mean"] for one in solutions if one["metric"] == metric and one["mean"] > 0}
    fastest = [sources for sources, mean in means.items() if mean == min(means.values())]
    return OnMetric(
        metric=metric,
        rsd=Cell(percent(case["rsd"]), _key(case["rsd"])),
        p=Cell(number(case["p"], 3), _key(case["p"])),
        distinguishable="untested" if pd.isna(case["p"]) else "yes" if case["distinguishable"] else "no",
        fastest=printable(", ".join(" ".join(fastest).split())),
    )


def _key(value: float) -> str:
    return "" if pd.isna(value) else repr(float(value))
