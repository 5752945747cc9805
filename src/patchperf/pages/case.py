"""The page of a case, as values: what its template shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from patchperf.pages.numbers import MISSING, exact, metric_name, number, percent
from patchperf.pages.patches import SideBySide, one_alone, side_by_side
from patchperf.pages.strips import Strip, Value, strip
from patchperf.pages.study import Case, Row, Rows
from patchperf.stats.flags import SEPARATOR
from patchperf.study.instance import GROUND_TRUTH
from patchperf.text import printable

MORE_TESTS = {
    "rounds": "complete rounds",
    "p_blocks": "p, complete blocks",
    "p_friedman": "p, Friedman's ranks",
    "p_permutation": "p, permutations",
    "q": "q, false discovery rate over the corpus",
    "slowest_fastest": "slowest over fastest",
    "low": "its interval from",
    "high": "its interval to",
    "practical": "beyond the practical threshold",
    "practical_threshold": "practical threshold",
}
"""Columns that tables of cases may have besides; shown where there are any."""

MORE_OF_PAIRS = {
    "low": "from",
    "high": "to",
    "t": "t",
    "df": "df",
    "p": "p",
    "p_blocks": "p, complete blocks",
    "note": "note",
}
"""What a table of contrasts may say of two solutions."""

REPLICATE = ("solution", "metric", "replicate", "order", "attempt", "repetitions", "value", "void", "reason")
"""Columns that are always shown of a replicate."""

CONDITIONS = {
    "hash_seed": "hash seed",
    "layout": "layout",
    "cpus_allowed": "CPUs",
    "core_group": "core group",
    "loop_seconds": "loop, s",
    "user_seconds": "user, s",
    "system_seconds": "system, s",
    "steal_seconds": "steal, s",
    "involuntary_switches": "switches",
    "major_faults": "major faults",
    "gc_collections": "collections",
    "counted_repetitions": "counted N",
    "not_covered": "not covered",
    "started_at": "started",
}
"""Conditions of a replicate that are shown, where any replicate of the metric has them."""


@dataclass(frozen=True)
class Replicate:
    """A row of the table of replicates, as text."""

    anchor: str
    solution: str
    order: str
    round: str
    attempt: str
    value: str
    each: str
    void: bool
    reason: str
    conditions: tuple[str, ...]


@dataclass(frozen=True)
class Ratio:
    """A pair's ratio of means, and what tests say of it; ``more`` in the order of its table's header."""

    first: str
    second: str
    ratio: str
    more: tuple[str, ...]


@dataclass(frozen=True)
class Metric:
    """All that is known of a case on one metric."""

    metric: str
    name: str
    backend: str
    measured: bool
    distinguishable: bool
    facts: tuple[tuple[str, str], ...]
    solutions: tuple[tuple[str, ...], ...]
    ratios_head: tuple[str, ...]
    ratios: tuple[Ratio, ...]
    strip: Strip | None
    conditions: tuple[str, ...]
    replicates: tuple[Replicate, ...]


@dataclass(frozen=True)
class SolutionView:
    """A distinct solution: who came to it, whose patch is measured, and that patch beside the ground truth's."""

    solution: str
    label: str
    sources: tuple[str, ...]
    representative: str
    is_truth: bool
    patch: SideBySide
    warmth: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class CaseView:
    """The page of a case."""

    instance_id: str
    dataset: str
    repo: str
    story: str
    evidence: str
    solutions: tuple[SolutionView, ...]
    metrics: tuple[Metric, ...]
    outcomes: tuple[tuple[str, ...], ...]


def case_view(case: Case, metrics: Sequence[str]) -> CaseView:
    """The page of a case on some metrics, those included that it was not measured on."""
    entry = case.tables["ledger"][0]
    solutions = tuple(_solutions(case))
    labels = {one.solution: one.label for one in solutions}
    return CaseView(
        instance_id=case.instance_id,
        dataset=str(entry["dataset"]),
        repo=str(entry["repo"]),
        story=_story(case, entry, solutions),
        evidence=str(entry["evidence"]),
        solutions=solutions,
        metrics=tuple(_metric(case, metric, labels) for metric in metrics),
        outcomes=tuple(_outcomes(case)),
    )


def flags(row: Row) -> list[str]:
    """What a reader has to know of a case on a metric, as short words."""
    told = []
    if row["collapsed"]:
        told.append("collapsed")
    if row["not_covered"]:
        told.append("not covered")
    if row["voids"]:
        told.append("void replicates")
    return told + [note for note in str(row["note"]).split(SEPARATOR) if note]


def label(solution: str, sources: Sequence[str]) -> str:
    """A solution by who came to it and the beginning of its digest."""
    return printable(f"{' + '.join(sorted(sources, key=lambda name: (name != GROUND_TRUTH, name)))} ({solution[:7]})")


def replicate_anchor(metric: str, solution: str, replicate: int, attempt: int) -> str:
    """The anchor of a replicate's row."""
    return f"{metric}-{solution}-{replicate}-{attempt}"


def _story(case: Case, entry: Row, solutions: Sequence[SolutionView]) -> str:
    k = len(solutions)
    sources = sum(len(one.sources) for one in solutions)
    kinds = f"{k} distinct solution{'s' if k > 1 else ''} by {sources} source{'s' if sources > 1 else ''}"
    verdicts: list[str] = []
    for row in case.tables["cases"]:
        what = metric_name(str(row["metric"])).lower()
        if pd.isna(row["p"]):
            verdicts.append(f"not tested on {what}")
        else:
            verdict = "distinguishable" if row["distinguishable"] else "not distinguishable"
            verdicts.append(f"{verdict} on {what} (p = {number(row['p'], 3)})")
    told = "; ".join(verdicts) or "not measured"
    return printable(f"{entry['repo']}, dataset {entry['dataset']}: {entry['detail']}; {kinds}; {told}.")


def _solutions(case: Case) -> Iterator[SolutionView]:
    rows = [(str(row["sources"]).split(), row) for row in case.tables["warmth"]]
    for sources, row in sorted(rows, key=lambda one: (GROUND_TRUTH not in one[0], one[0])):
        solution = str(row["solution"])
        representative = case.solutions[solution]
        patch, truth = case.patches.get(representative, ""), case.patches[GROUND_TRUTH]
        is_truth = representative == GROUND_TRUTH
        yield SolutionView(
            solution=solution,
            label=label(solution, sources),
            sources=tuple(map(printable, sources)),
            representative=printable(representative),
            is_truth=is_truth,
            patch=one_alone(truth) if is_truth else side_by_side(truth, patch),
            warmth=(
                ("first call", _ms(row["first_call_ns"])),
                ("a repetition", _ms(row["per_repetition_ns"])),
                ("collapsed", "yes" if row["collapsed"] else "no"),
            ),
        )


def _metric(case: Case, metric: str, labels: dict[str, str]) -> Metric:
    told = next(iter(case.of("cases", metric)), None)
    replicates = sorted(case.of("measurements", metric), key=lambda row: (row["order"], row["attempt"]))
    shown = [name for name in CONDITIONS if any(_told(row[name]) for row in replicates)]
    head, ratios = _ratios(case, metric, labels)
    return Metric(
        metric=metric,
        name=metric_name(metric),
        backend=str(told["backend"]) if told is not None else "",
        measured=bool(replicates),
        distinguishable=told is not None and bool(told["distinguishable"]),
        facts=tuple(_facts(told)) if told is not None else (),
        solutions=tuple(_summary(row, labels) for row in _in_order(case.of("solutions", metric), labels)),
        ratios_head=head,
        ratios=ratios,
        strip=strip([(name, _values(replicates, metric, solution)) for solution, name in labels.items()]),
        conditions=tuple(CONDITIONS[name] for name in shown),
        replicates=tuple(_replicate(row, metric, labels, shown) for row in replicates),
    )


def _in_order(rows: Rows, labels: dict[str, str]) -> list[Row]:
    places = list(labels)
    return sorted(rows, key=lambda row: places.index(row["solution"]))


def _facts(row: Row) -> Iterator[tuple[str, str]]:
    yield "distinct solutions k", str(row["k"])
    yield "repetitions N", MISSING if pd.isna(row["repetitions"]) else str(row["repetitions"])
    yield "replicates of each, at least", str(row["replicates"])
    yield "void replicates", str(row["voids"])
    yield "RSD of the solutions' means", percent(row["rsd"])
    yield "F of Welch's ANOVA on logs", number(row["f"])
    yield "degrees of freedom", f"{number(row['df1'])} and {number(row['df2'])}"
    yield "p", number(row["p"])
    yield "distinguishable", f"{'yes' if row['distinguishable'] else 'no'}, at α = {number(row['alpha'])}"
    yield from ((text, _told(row[name]) or MISSING) for name, text in MORE_TESTS.items() if name in row)
    if row["not_covered"]:
        yield "not covered by the counts", str(row["not_covered"])
    if row["collapsed"]:
        yield "collapsed", "yes"
    if row["note"]:
        yield "note", str(row["note"])


def _summary(row: Row, labels: dict[str, str]) -> tuple[str, ...]:
    each = row["mean"] / row["repetitions"] if not pd.isna(row["repetitions"]) and row["repetitions"] else float("nan")
    counts = (str(row["replicates"]), str(row["voids"]))
    name = labels.get(str(row["solution"]), str(row["solution"]))
    return (name, *counts, exact(row["mean"]), exact(each), exact(row["sd"]), percent(row["cv"]), str(row["note"]))


def _ratios(case: Case, metric: str, labels: dict[str, str]) -> tuple[tuple[str, ...], tuple[Ratio, ...]]:
    """Pairs of solutions where contrasts were tested, else pairs of sources."""
    if "contrasts" in case.tables:
        rows = case.of("contrasts", metric)
        more = [name for name in MORE_OF_PAIRS if any(name in row for row in rows)]
        return tuple(MORE_OF_PAIRS[name] for name in more), tuple(
            Ratio(
                labels.get(str(row["solution_i"]), str(row["solution_i"])),
                labels.get(str(row["solution_j"]), str(row["solution_j"])),
                number(row["ratio"], 6),
                tuple(printable(_told(row[name])) for name in more),
            )
            for row in rows
        )
    return ("same solution",), tuple(
        Ratio(
            printable(str(row["source_i"])),
            printable(str(row["source_j"])),
            number(row["ratio"], 6),
            ("yes" if row["same_solution"] else "no",),
        )
        for row in case.of("pairs", metric)
    )


def _values(rows: Rows, metric: str, solution: str) -> list[Value]:
    return [
        Value(
            float(row["value"]),
            bool(row["void"]),
            replicate_anchor(metric, solution, int(row["replicate"]), int(row["attempt"])),
            _spoken(row),
        )
        for row in rows
        if row["solution"] == solution and not pd.isna(row["value"])
    ]


def _spoken(row: Row) -> str:
    void = printable(f", void: {row['reason']}") if row["void"] else ""
    return f"round {row['replicate']}: {exact(row['value'])}{void}"


def _replicate(row: Row, metric: str, labels: dict[str, str], conditions: Sequence[str]) -> Replicate:
    solution = str(row["solution"])
    value: float | None = None if pd.isna(row["value"]) else float(row["value"])
    return Replicate(
        anchor=replicate_anchor(metric, solution, int(row["replicate"]), int(row["attempt"])),
        solution=labels.get(solution, solution),
        order=str(row["order"]),
        round=str(row["replicate"]),
        attempt=str(row["attempt"]),
        value=exact(value),
        each=exact(value / row["repetitions"]) if value is not None and row["repetitions"] else MISSING,
        void=bool(row["void"]),
        reason=printable(str(row["reason"])),
        conditions=tuple(printable(_told(row[name])) for name in conditions),
    )


def _outcomes(case: Case) -> Iterator[tuple[str, ...]]:
    for row in case.tables["outcomes"]:
        tests = [(row["f2p_passed"], row["f2p_total"]), (row["p2p_passed"], row["p2p_total"])]
        passed = [MISSING if pd.isna(total) else f"{done} of {total}" for done, total in tests]
        says: bool | None = None if pd.isna(row["reported_resolved"]) else bool(row["reported_resolved"])
        reported = {None: "", True: "resolved", False: "not resolved"}[says]
        other = f"{row['other_dialect']} would say {row['other_outcome']}" if row["other_outcome"] else ""
        note = "; ".join(filter(None, (row["note"], other)))
        words = (row["source"], row["outcome"], *passed, reported, row["link"], note)
        yield tuple(printable(str(word)) for word in words)


def _told(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or pd.isna(value):
        return ""
    if isinstance(value, pd.Timestamp):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    return number(value) if isinstance(value, float) else str(value)


def _ms(ns: float) -> str:
    return MISSING if pd.isna(ns) else f"{number(ns / 1e6)} ms"
