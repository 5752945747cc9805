"""The whole line on real benchmark instances with real models' patches, rebuilt from source distributions.

The data lies beside the repository (a folder named shared); where it is absent, nothing here can run.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from studies import ROOT, Study

SHARED = ROOT.parent / "shared"
INSTANCES = ("sympy__sympy-12096", "sympy__sympy-12481", "sympy__sympy-12489", "sympy__sympy-15017")
SOURCES = ("claude-haiku-4.5", "claude-opus-4.6", "gemini-3-pro", "minimax-m2.5")

REPORTED_WRONGLY = {("sympy__sympy-12489", "claude-opus-4.6")}
"""Its authors list it as resolved, but the patch they published leaves ``__mul__`` as it was and the F2P test fails."""

pytestmark = pytest.mark.skipif(
    not (SHARED / "tools" / "pypi_corpus.py").exists(), reason=f"no real instances: {SHARED} is absent"
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Mirrors, rows and predictions of four real instances."""
    folder = tmp_path_factory.mktemp("corpus")
    tool = SHARED / "tools" / "pypi_corpus.py"
    subprocess.run([sys.executable, tool, folder, "--instances", *INSTANCES], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def study(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Study:
    """The finished study on them."""
    folder = tmp_path_factory.mktemp("real")
    study = Study(folder, folder / "config.yaml")
    study.configure(
        {
            "datasets": [{"name": "verified", "path": str(corpus / "instances.jsonl")}],
            "sources": [
                {
                    "name": source,
                    "predictions": str(corpus / "predictions" / f"{source}.jsonl"),
                    "resolved": str(corpus / "resolved.json"),
                }
                for source in SOURCES
            ],
            "repositories": {"mirrors": str(corpus / "mirrors")},
            "environments": {"file": str(SHARED / "data" / "environments.json")},
            "calibration": {"min_seconds": 0.05, "max_seconds": 0.1},
            "reproductions": 2,
        }
    )
    run = study.snakemake()
    assert run.code == 0, run.output
    return study


def test_the_study_ends_with_its_report(study: Study) -> None:
    assert study.result("report.html").stat().st_size > 100_000
    assert len(list(study.result("figures").glob("*.svg"))) >= 8


def test_every_instance_is_kept(study: Study) -> None:
    ledger = pd.read_csv(study.result("tables/ledger.csv"))
    assert dict(zip(ledger.instance_id, ledger.status, strict=True)) == dict.fromkeys(INSTANCES, "kept")


def test_the_base_fails_and_the_ground_truth_passes_alone(study: Study) -> None:
    for instance in INSTANCES:
        probe = json.loads(study.result(f"probes/{instance}.json").read_text("utf-8"))
        codes = {run["what"]: run["exit_code"] for run in probe["runs"]}
        assert codes["ground truth, single point"] == 0
        assert codes["base, single point"] != 0


def test_outcomes_agree_with_what_the_authors_report(study: Study) -> None:
    table = pd.read_csv(study.result("tables/agreement.csv"))
    differing = table[table.agrees.eq(False)]
    assert set(zip(differing.instance_id, differing.source, strict=True)) == REPORTED_WRONGLY
    outcomes = pd.read_csv(study.result("tables/outcomes.csv"))
    assert set(outcomes.outcome) <= {"Resolved", "not applied", "empty", "No-Op", "Regression"}
    of_truth = outcomes[outcomes.source == "ground_truth"]
    assert set(of_truth.outcome) == {"Resolved"}


@pytest.mark.parametrize("instance", INSTANCES)
def test_every_solution_has_five_replicates_in_five_processes(study: Study, instance: str) -> None:
    measured = pd.read_parquet(study.result(f"measurements/{instance}.parquet"))
    wall = measured[(measured.metric == "wall_ns") & ~measured.void]
    assert set(wall.groupby("solution").size()) == {5}
    assert wall.pid.is_unique
    assert wall.repetitions.nunique() == 1


def test_the_same_code_is_one_solution(study: Study, corpus: Path) -> None:
    """The pilot's digests of code were made by another program."""
    pilot = pd.read_csv(SHARED / "data" / "pilot_sympy.csv")
    cases = pd.read_parquet(study.result("cases.parquet")).explode("sources")
    compared = 0
    for instance, rows in pilot[pilot.instance_id.isin(INSTANCES)].groupby("instance_id"):
        ours = cases[cases.instance_id == instance].set_index("sources").solution
        known = rows[rows.source.isin(ours.index)]
        compared += len(known)
        assert ours[known.source].groupby(list(known.same_code)).nunique().eq(1).all()
        assert known.same_code.nunique() == ours[known.source].nunique()
    assert compared >= 10
