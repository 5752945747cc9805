"""What a change makes the workflow run again, and what not: on two kept instances and one that is left out."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from studies import MINI, Study, make_study, mini_settings

DIVISION, DIVISORS, NAMES = "abacus-lab__minalg-7", "abacus-lab__minalg-15", "abacus-lab__minalg-22"
TARGET = "results/findings.json"
PER_INSTANCE = ("reproduce", "probe", "grade", "measure")


@pytest.fixture(scope="session")
def three_sources(tmp_path_factory: pytest.TempPathFactory, cache: str) -> Study:
    """A finished study of three sources; dune is not among them."""
    settings = mini_settings(
        datasets=[{"name": "mini", "path": "rows.jsonl"}],
        instances=[DIVISION, DIVISORS, NAMES],
        replicates=3,
        calibration={"min_seconds": 0.02, "max_seconds": 0.04},
        cache=cache,
    )
    settings["sources"] = [source for source in settings["sources"] if source["name"] != "dune"]
    study = make_study(tmp_path_factory.mktemp("rerun") / "original", settings)
    (study.folder / "rows.jsonl").write_bytes((MINI / "instances.jsonl").read_bytes())
    run = study.snakemake(TARGET)
    assert run.code == 0, run.output
    assert run.instances("measure") == [DIVISORS, DIVISION]
    assert run.jobs("grade") == 3
    return study


@pytest.fixture
def study(three_sources: Study, tmp_path: Path) -> Study:
    """A copy of the finished study, to be changed."""
    return three_sources.copy(tmp_path / "study")


def rewrite(study: Study, instance: str, change: dict[str, object]) -> None:
    """Change fields of one row of the dataset."""
    file = study.folder / "rows.jsonl"
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    changed = [row | change if row["instance_id"] == instance else row for row in rows]
    file.write_text("".join(json.dumps(row) + "\n" for row in changed), "utf-8")


def test_a_copy_in_another_place_has_nothing_to_do(study: Study) -> None:
    run = study.snakemake(TARGET)
    assert run.code == 0, run.output
    assert run.output.endswith("Nothing to be done (all requested files are present and up to date).\n")
    assert not run.started


@pytest.mark.parametrize(
    "again", [("instances", "host", "cases"), ("corpus", "measurements"), ("host", "measurements")]
)
def test_stages_run_again_go_on_where_one_between_them_has_no_reason_to(study: Study, again: tuple[str, ...]) -> None:
    before, table = study.journals(), pd.read_parquet(study.result("measurements.parquet"))
    run = study.snakemake("--forcerun", *again, "--", "results/measurements.parquet")
    assert run.code == 0, run.output
    assert run.started.keys() <= {*again, "corpus", "cases", "measurements"}
    assert study.journals() == before
    pd.testing.assert_frame_equal(pd.read_parquet(study.result("measurements.parquet")), table)


def test_another_alpha_reruns_only_the_statistics(study: Study) -> None:
    before = study.journals()
    study.change(alpha=0.001)
    run = study.snakemake(TARGET)
    assert run.code == 0, run.output
    assert run.started == {"case_statistics": 1, "comparisons": 1, "findings": 1}
    assert set(pd.read_csv(study.result("tables/cases.csv")).alpha) == {0.001}
    assert json.loads(study.result("findings.json").read_bytes())["alpha"] == 0.001
    assert study.journals() == before


def test_a_new_source_runs_its_own_grading_and_the_cases_it_adds_a_solution_to(study: Study) -> None:
    """dune divides in a way of its own; its divisors are the ground truth's; its patch of names is wrong."""
    verdicts, journals = study.verdicts(), study.journals()
    measured = study.result(f"measurements/{DIVISORS}.parquet").stat().st_mtime_ns
    sources = mini_settings()["sources"]
    study.change(sources=sources)
    run = study.snakemake("results/measurements.parquet", "results/outcomes.parquet")
    assert run.code == 0, run.output
    assert run.jobs("reproduce") == run.jobs("probe") == run.jobs("host") == 0

    graded = study.verdicts()
    assert verdicts.items() <= graded.items(), "no verdict of the other sources was written again"
    new = [json.loads(Path(path).read_bytes()) for path in graded.keys() - verdicts.keys()]
    assert sorted(verdict["outcome"] for verdict in new) == ["Regression", "Resolved", "Resolved"]

    assert run.instances("measure") == [DIVISION]
    assert study.result(f"measurements/{DIVISORS}.parquet").stat().st_mtime_ns == measured
    assert journals.items() <= study.journals().items(), "earlier measurements are kept as they are"
    table = pd.read_parquet(study.result("measurements.parquet"))
    shared = table[table.instance_id == DIVISORS]
    assert {tuple(names) for names in shared.sources} == {("ground_truth", "dune"), ("atlas",), ("birch",), ("cedar",)}
    assert ("dune",) in {tuple(names) for names in table[table.instance_id == DIVISION].sources}
    outcomes = pd.read_parquet(study.result("outcomes.parquet"))
    assert set(outcomes.source) == {"ground_truth", "atlas", "birch", "cedar", "dune"}


def test_another_window_reruns_the_measuring_but_no_probe_and_no_grading(study: Study) -> None:
    before = study.journals()
    study.change(calibration={"min_seconds": 0.03, "max_seconds": 0.06})
    run = study.snakemake("results/measurements.parquet")
    assert run.code == 0, run.output
    assert run.instances("measure") == [DIVISORS, DIVISION]
    assert run.started == {"cases": 1, "measure": 2, "measurements": 1}
    assert set(pd.read_parquet(study.result("measurements.parquet")).window_min_seconds) == {0.03}
    after = study.journals()
    assert before.items() <= after.items()
    assert len(after) == 4


def test_other_time_outs_and_limits_rerun_nothing(study: Study) -> None:
    sandbox = mini_settings()["sandbox"] | {"limits": {"memory_mb": 3000, "processes": 200}}
    study.change(timeouts={"suite": 900, "replicate": 300, "probe": 300}, sandbox=sandbox, attempts=4)
    run = study.snakemake(TARGET)
    assert run.code == 0, run.output
    assert not run.started


def test_a_dataset_written_in_another_way_reruns_nothing_of_an_instance(study: Study) -> None:
    file = study.folder / "rows.jsonl"
    rows = [json.loads(line) for line in reversed(file.read_text("utf-8").splitlines())]
    written = [json.dumps(dict(reversed(row.items())), separators=(",", ":"), ensure_ascii=False) for row in rows]
    file.write_text("\n\n".join(written), "utf-8")
    run = study.snakemake("results/measurements.parquet")
    assert run.code == 0, run.output
    assert run.jobs("instances") == 1
    assert not [rule for rule in PER_INSTANCE if run.jobs(rule)]


def test_a_changed_row_reruns_its_own_instance(study: Study) -> None:
    tests = next(
        json.loads(line)["PASS_TO_PASS"]
        for line in (MINI / "instances.jsonl").read_text("utf-8").splitlines()
        if json.loads(line)["instance_id"] == DIVISORS
    )
    tests = json.loads(tests) if isinstance(tests, str) else tests
    rewrite(study, DIVISORS, {"PASS_TO_PASS": tests[:-1]})
    run = study.snakemake("results/measurements.parquet")
    assert run.code == 0, run.output
    assert {rule: run.instances(rule) for rule in PER_INSTANCE} == {rule: [DIVISORS] for rule in PER_INSTANCE}


def test_a_dropped_instance_measures_nothing_and_leaves_the_tables(study: Study) -> None:
    study.change(instances=[DIVISION, NAMES])
    run = study.snakemake("results/tables/cases.csv", "results/tables/ledger.csv")
    assert run.code == 0, run.output
    assert not [rule for rule in PER_INSTANCE if run.jobs(rule)]
    assert set(pd.read_csv(study.result("tables/cases.csv")).instance_id) == {DIVISION}
    assert set(pd.read_csv(study.result("tables/ledger.csv")).instance_id) == {DIVISION, NAMES}


def test_a_lost_result_is_made_again_from_the_journal_without_measuring(study: Study) -> None:
    before = study.journals()
    study.result(f"measurements/{DIVISION}.parquet").unlink()
    run = study.snakemake(f"results/measurements/{DIVISION}.parquet")
    assert run.code == 0, run.output
    assert run.instances("measure") == [DIVISION]
    assert study.journals() == before
