import json

import pandas as pd
import pytest

from patchperf.stats.agreement import agreement_table, outcome_table
from patchperf.stats.cases import case_statistics
from patchperf.stats.champions import champion_votes
from patchperf.stats.findings import Findings, findings, kendall_tau
from patchperf.stats.funnel import funnel_table, ledger_table
from patchperf.stats.outcome_rates import outcome_rates
from patchperf.stats.samples import members_of, solution_statistics
from patchperf.stats.speedup import pair_ratios, speedups

RESOLVED_BY = {"fast": 1, "middle": 2, "slow": 3}
FASTER, EQUAL = [100, 101, 99], [104, 96, 100]


def study(pace: dict[str, float]) -> dict[str, dict[str, tuple[str, list[float]]]]:
    """One case with a clear difference, one where noise hides the same order of models."""
    return {
        "clear": {name: (name, [factor * x for x in FASTER]) for name, factor in pace.items()},
        "faint": {name: (name, [(1 + (factor - 1) / 100) * x for x in EQUAL]) for name, factor in pace.items()},
    }


def tables_of(tables: tuple[pd.DataFrame, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    cases, measurements = tables
    members = members_of(cases)
    solutions = solution_statistics(measurements, members)
    statistics = case_statistics(measurements, members, 0.05)
    pairs = pair_ratios(members, solutions, statistics)
    ledger = pd.DataFrame(
        [
            ("clear", "mini", "o/n", "corpus", "kept", "", ""),
            ("faint", "mini", "o/n", "corpus", "kept", "", ""),
            ("third", "mini", "o/n", "io", "excluded", "io", "file data"),
        ],
        columns=["instance_id", "dataset", "repo", "stage", "status", "reason", "kind"],
    ).assign(repeatability="", evidence="", detail="")
    outcomes = pd.DataFrame(
        [
            (name, source, "Resolved" if place < count else "No-Op", place < count, place)
            for source, count in RESOLVED_BY.items()
            for place, name in enumerate(["clear", "faint", "third"])
        ],
        columns=["instance_id", "source", "outcome", "reported_resolved", "f2p_passed"],
    )
    outcomes = outcome_table(
        outcomes.assign(
            repo="o/n", f2p_total=1, p2p_passed=0, p2p_total=0, dialect="swe-bench", solution=None, link="", note="",
            f2p="", p2p="", other_dialect="", other_outcome="",
        )
    )  # fmt: skip
    return {
        "funnel": funnel_table(ledger_table(ledger)),
        "outcomes": outcomes,
        "outcome_rates": outcome_rates(outcomes),
        "agreement": agreement_table(outcomes),
        "solutions": solutions,
        "cases": statistics,
        "speedups": speedups(pairs, seed=1, resamples=99),
        "champions": champion_votes(members, solutions, statistics),
    }


@pytest.fixture
def found(tables) -> Findings:
    return findings(tables_of(tables(study({"fast": 1.0, "middle": 1.5, "slow": 2.0, "ground_truth": 1.2}))))


def test_counts_of_the_corpus_and_of_sources(found: Findings) -> None:
    dataset = found.datasets[0]
    assert (dataset.instances, dataset.kept, dataset.excluded["io"]) == (3, 2, 1)
    rates = {source.source: source.resolution_rate for source in found.sources}
    assert rates == pytest.approx({"fast": 1 / 3, "middle": 2 / 3, "slow": 1})
    assert {source.agreeing for source in found.sources} == {3}
    assert found.not_measured == ["wall_ns"]


def test_a_metric_has_its_backend_its_counts_and_its_medians(found: Findings) -> None:
    metric = found.metrics[0]
    assert (metric.metric, metric.backend) == ("instructions", "cirron")
    assert (metric.cases, metric.tested, metric.distinguishable, metric.distinguishable_share) == (2, 2, 1, 0.5)
    assert metric.median_repetitions == 100


def test_counts_beside_welchs_say_how_many_hold_up(found: Findings) -> None:
    """The faint case has the differences of the clear one, a hundredth as large, in rounds of a common noise."""
    metric = found.metrics[0]
    assert (metric.distinguishable_q, metric.tested_over_rounds, metric.distinguishable_blocks) == (1, 2, 2)
    assert (metric.welch_and_blocks, metric.practical, metric.practical_threshold) == (1, 1, 0.01)
    assert (metric.distinguishable_friedman, metric.distinguishable_permutation) == (2, 2)
    assert metric.median_slowest_fastest_distinguishable == pytest.approx(2)
    assert metric.median_slowest_fastest == pytest.approx((2 + 1.01) / 2)


def test_two_metrics_are_counted_by_which_of_them_calls_a_case(tables) -> None:
    cases, counts = tables({name: {s: (s, v) for s, v in one.items()} for name, one in METRICS["instructions"].items()})
    _, times = tables(
        {name: {s: (s, v) for s, v in one.items()} for name, one in METRICS["wall_ns"].items()}, "wall_ns", "clock"
    )
    (agreement,) = findings(tables_of((cases, pd.concat([counts, times])))).metric_agreement
    told = (agreement.cases, agreement.both, agreement.only_first, agreement.only_second, agreement.neither)
    assert (agreement.first, agreement.second, told) == ("instructions", "wall_ns", (3, 1, 2, 0, 0))


APART, ALIKE = {"a": [100, 101, 99], "b": [200, 202, 199]}, {"a": [100, 101, 99], "b": [100, 99, 101]}
METRICS = {
    "instructions": {"clear": APART, "faint": APART, "third": APART, "fourth": APART},
    "wall_ns": {"clear": APART, "faint": ALIKE, "third": ALIKE, "fourth": {"a": [100], "b": [200]}},
}


def test_findings_come_with_their_numbers(found: Findings) -> None:
    first, second, third = (found.findings[name].evidence[0] for name in ("2.1", "2.2", "2.3"))
    assert (first["models"], first["p"], first["tau_with_votes"]) == (3, pytest.approx(1 / 3), pytest.approx(-0.816497))
    assert (first["order_by_resolution"], first["order_by_speed"]) == ("slow > middle > fast", "fast > middle > slow")
    assert (second["cases_full"], second["cases_distinguishable"]) == (2, 1)
    assert second["order_by_speed_full"] == second["order_by_speed_distinguishable"] == "fast > middle > slow"
    assert third["order_by_votes"] == "fast > middle > slow"
    full = found.metrics[0].settings[0]
    assert (full.pairs, full.pairs_different) == (6, 0)


def test_orders_by_speed_and_by_votes(found: Findings) -> None:
    full, subset = found.metrics[0].settings
    assert full.order_by_speed == subset.order_by_speed == ["fast", "ground_truth", "middle", "slow"]
    assert full.votes == {"fast": 2, "middle": 0, "slow": 0, "ground_truth": 0}
    assert subset.to_ground_truth == pytest.approx({"fast": 1 / 1.2, "middle": 1.5 / 1.2, "slow": 2 / 1.2})


def test_speed_is_the_geometric_mean_of_the_ratios_to_all_others(found: Findings) -> None:
    subset = found.metrics[0].settings[1]
    product = (1 / 1.5) * (1 / 2) * (1 / 1.2)
    assert subset.speed["fast"] == pytest.approx(product ** (1 / 3))


def test_models_that_resolve_most_and_run_slowest_bear_the_findings_out(found: Findings) -> None:
    assert {name: finding.holds for name, finding in found.findings.items()} == {"2.1": True, "2.2": True, "2.3": True}
    evidence = found.findings["2.2"].evidence[0]
    assert evidence["mean_gap_distinguishable"] > evidence["mean_gap_full"]
    assert (evidence["same_direction"], evidence["model_pairs"]) == (1, 3)
    assert {one["tau"] for one in found.findings["2.1"].evidence} == {-1}


def test_models_that_resolve_most_and_run_fastest_speak_against_the_first(tables) -> None:
    pace = {"fast": 2.0, "middle": 1.5, "slow": 1.0, "ground_truth": 1.2}
    assert findings(tables_of(tables(study(pace)))).findings["2.1"].holds is False


def test_two_models_are_too_few_to_tell(tables) -> None:
    two = findings(tables_of(tables(study({"fast": 1.0, "middle": 1.5, "ground_truth": 1.2})))).findings
    assert (two["2.1"].holds, two["2.3"].holds) == (None, None)


def test_nothing_distinguishable_leaves_the_comparison_of_settings_open(tables) -> None:
    found = findings(tables_of(tables({"faint": study({"fast": 1.0, "slow": 2.0, "middle": 1.5})["faint"]})))
    assert found.findings["2.2"].holds is None
    assert found.metrics[0].settings[1].order_by_speed == []


def test_the_json_has_no_nan_and_reads_back(found: Findings) -> None:
    text = found.model_dump_json()
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert Findings.model_validate_json(text) == found


def test_an_empty_study_is_stated_as_such() -> None:
    none = tables_of_nothing()
    found = findings(none)
    assert (found.datasets, found.sources, found.metrics) == ([], [], [])
    assert {finding.holds for finding in found.findings.values()} == {None}
    assert found.not_measured == ["instructions", "wall_ns"]


def tables_of_nothing() -> dict[str, pd.DataFrame]:
    empty = pd.DataFrame()
    members = members_of(empty)
    solutions, statistics = solution_statistics(empty, members), case_statistics(empty, members, 0.05)
    outcomes = outcome_table(empty)
    return {
        "funnel": funnel_table(ledger_table(empty)),
        "outcomes": outcomes,
        "outcome_rates": outcome_rates(outcomes),
        "agreement": agreement_table(outcomes),
        "solutions": solutions,
        "cases": statistics,
        "speedups": speedups(pair_ratios(members, solutions, statistics), seed=1),
        "champions": champion_votes(members, solutions, statistics),
    }


def test_kendalls_tau_counts_concordant_against_discordant_pairs() -> None:
    """Of the six pairs of four models, five are in the same order: (5 - 1)/6; the ground truth does not count."""
    first = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0, "ground_truth": 0.0}
    second = {"a": 1.0, "b": 2.0, "c": 4.0, "d": 3.0, "ground_truth": 9.0}
    assert kendall_tau(first, second) == pytest.approx(4 / 6)


def test_a_constant_score_orders_nothing() -> None:
    assert kendall_tau({"a": 1.0, "b": 1.0, "c": 1.0}, {"a": 1.0, "b": 2.0, "c": 3.0}) is None
