from __future__ import annotations

import pandas as pd
import pytest

from patchperf.errors import InputError
from patchperf.study.cases import build_cases, build_outcomes, read_case
from patchperf.study.measuring import Measured, collect
from patchperf.study.probe import Probe
from patchperf.study.verdicts import Verdict, Verdicts

PROBE = {"i-1": Probe(instance_id="i-1", spec="p", stage="corpus", reason="", evidence="", confinement="none")}


def verdicts(**codes: tuple[str, str]) -> dict[str, Verdicts]:
    """Verdicts by source: (outcome, digest of the code)."""
    found = {
        source: Verdict(patch=source, outcome=outcome, solution=code * 64, dialect="swe-bench")  # type: ignore[arg-type]
        for source, (outcome, code) in codes.items()
    }
    reported: dict[str, bool | None] = dict.fromkeys(codes, True)
    return {"i-1": Verdicts(instance_id="i-1", spec="g", verdicts=found, reported=reported, confinement="none")}


RESOLVED = verdicts(ground_truth=("Resolved", "a"), x=("Resolved", "b"), y=("Resolved", "a"), z=("No-Op", "c"))


def test_correct_candidates_with_equal_code_are_one_solution() -> None:
    cases = build_cases(["i-1"], RESOLVED, PROBE, "protocol")
    assert [list(sources) for sources in cases.sources] == [["ground_truth", "y"], ["x"]]
    assert list(cases.representative) == ["ground_truth", "x"]


def test_a_source_that_joins_a_solution_changes_no_digest_and_a_new_solution_does() -> None:
    known = build_cases(["i-1"], RESOLVED, PROBE, "protocol").case.iloc[0]
    joined = verdicts(ground_truth=("Resolved", "a"), x=("Resolved", "b"), w=("Resolved", "b"))
    added = verdicts(ground_truth=("Resolved", "a"), x=("Resolved", "b"), w=("Resolved", "d"))
    assert build_cases(["i-1"], joined, PROBE, "protocol").case.iloc[0] == known
    assert build_cases(["i-1"], added, PROBE, "protocol").case.iloc[0] != known


def test_another_protocol_is_another_case() -> None:
    one, other = (build_cases(["i-1"], RESOLVED, PROBE, protocol).case.iloc[0] for protocol in ("4-8 s", "1-2 s"))
    assert one != other


def test_a_kept_instance_whose_ground_truth_is_not_resolved_is_an_error_that_names_it() -> None:
    broken = verdicts(ground_truth=("Breaking Resolved", "a"))
    with pytest.raises(InputError, match=r"i-1: the ground truth is Breaking Resolved"):
        build_cases(["i-1"], broken, PROBE, "protocol")


def test_outcomes_name_the_measured_solution_of_resolved_candidates_only() -> None:
    cases = build_cases(["i-1"], RESOLVED, PROBE, "protocol")
    outcomes = build_outcomes(RESOLVED, cases, {"i-1": "o/n"}).set_index("source")
    assert outcomes.solution["y"] == outcomes.solution["ground_truth"] == "a" * 10
    assert pd.isna(outcomes.solution["z"])


def test_a_case_is_read_back_from_its_table(tmp_path) -> None:  # type: ignore[no-untyped-def]
    table = tmp_path / "cases.parquet"
    build_cases(["i-1"], RESOLVED, PROBE, "protocol").to_parquet(table)
    case = read_case(table, "i-1")
    assert [solution.sources for solution in case.solutions] == [("ground_truth", "y"), ("x",)]
    with pytest.raises(InputError, match="has no case i-2"):
        read_case(table, "i-2")


def ledger() -> pd.DataFrame:
    row = {"instance_id": "i-1", "dataset": "d", "repo": "r", "stage": "corpus", "status": "kept"}
    return pd.DataFrame([row | {"reason": "", "evidence": "e", "detail": "d"}])


def test_measurements_carry_the_sources_of_today() -> None:
    cases = build_cases(["i-1"], RESOLVED, PROBE, "protocol")
    old = pd.DataFrame({"instance_id": ["i-1"], "solution": ["a" * 10], "sources": [["ground_truth"]], "value": [1.0]})
    table, _ = collect(cases, ledger(), [Measured(instance_id="i-1", case=cases.case[0])], [], [old])
    assert list(table.sources[0]) == ["ground_truth", "y"]


def test_a_case_that_cannot_be_measured_leaves_the_corpus_with_its_reason() -> None:
    cases = build_cases(["i-1"], RESOLVED, PROBE, "protocol")
    failed = Measured(instance_id="i-1", case=cases.case[0], reason="trial-timeout", evidence="stopped")
    _, changed = collect(cases, ledger(), [failed], [], [])
    assert list(changed[["stage", "status", "reason", "detail"]].iloc[0]) == [
        "measurement", "excluded", "trial-timeout", "stopped",
    ]  # fmt: skip


def test_a_measurement_of_another_version_of_its_case_is_refused() -> None:
    cases = build_cases(["i-1"], RESOLVED, PROBE, "protocol")
    with pytest.raises(InputError, match=r"measurements/i-1\.parquet belongs to another version"):
        collect(cases, ledger(), [Measured(instance_id="i-1", case="0" * 64)], [], [])
    with pytest.raises(InputError, match=r"counts/i-1\.parquet belongs to another version"):
        collect(cases, ledger(), [], [Measured(instance_id="i-1", case="0" * 64)], [])


def test_a_solution_that_was_measured_and_not_counted_is_told_in_the_ledger() -> None:
    cases = build_cases(["i-1"], RESOLVED, PROBE, "protocol")
    measured = Measured(instance_id="i-1", case=cases.case[0])
    counted = measured.model_copy(update={"dropped": {"b": "solution b (model): counting-timeout: too slow"}})
    _, changed = collect(cases, ledger(), [measured], [counted], [])
    assert changed.status.tolist() == ledger().status.tolist()
    assert changed.detail[0] == "not counted: solution b (model): counting-timeout: too slow"
