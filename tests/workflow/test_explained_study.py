"""A study of few instances: the tables that the ledger counts up to, and the story that the command tells of each."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, get_args

import pandas as pd
import pytest
from studies import MINI, ROOT, Study, make_study, mini_settings

from patchperf.study.repeatability import CLASSES, RepeatabilityClass

EXPECTED: dict[str, list[str]] = json.loads((MINI / "expected.json").read_text("utf-8"))["ledger"]
KEPT, IO, RESIDUE = "fernbank__trellis-41", "fernbank__trellis-44", "fernbank__trellis-27"
ALONE, MANY, LEFT, NET = (
    "fernbank__trellis-30", "fernbank__trellis-50", "abacus-lab__minalg-7", "harbour-works__quayside-40",
)  # fmt: skip
INSTANCES = [KEPT, IO, RESIDUE, ALONE, MANY, LEFT, NET]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory, cache: str) -> Study:
    settings = mini_settings(
        calibration={"min_seconds": 0.02, "max_seconds": 0.04}, cache=cache, instances=INSTANCES, exclude=[LEFT]
    )
    study = make_study(tmp_path_factory.mktemp("explained") / "study", settings)
    done = study.snakemake()
    assert done.code == 0, done.output
    return study


def table(study: Study, name: str) -> pd.DataFrame:
    return pd.read_csv(study.result(f"tables/{name}.csv"), keep_default_na=False)


def explain(study: Study, instance: str) -> str:
    command = [str(Path(sys.executable).with_name("patchperf")), "explain", instance]
    done = subprocess.run(command, cwd=study.folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_class_and_kind_stand_in_the_ledger_where_they_decided(study: Study) -> None:
    ledger = table(study, "ledger").set_index("instance_id")
    assert ledger.repeatability[ledger.repeatability != ""].to_dict() == {
        RESIDUE: "not repeatable in process",
        ALONE: "not a single point",
    }
    kinds = ledger.kind[ledger.kind != ""].to_dict()
    assert kinds.keys() == {IO, NET}
    assert kinds[NET] == "network"
    for name in (IO, NET):
        probe: dict[str, Any] = json.loads(study.result(f"probes/{name}.json").read_bytes())
        assert kinds[name] == probe["io"]["deciding"][0]["kind"]


def test_all_tables_count_the_same_instances(study: Study) -> None:
    ledger, funnel = table(study, "ledger"), table(study, "funnel")
    removed = funnel.groupby("filter")["removed"].sum()
    assert removed.to_dict() == {
        "input": 0, "configuration": 1, "single-test": 1, "repeatability": 2, "io": 2, "corpus": 0,
    }  # fmt: skip
    classes = table(study, "repeatability")
    assert Counter(classes["class"]) == Counter(dict.fromkeys(get_args(RepeatabilityClass), 2))
    assert set(classes[classes.excluded > 0].itertuples(index=False, name=None)) == {
        ("mini", CLASSES[reason], reason, 1) for reason in ledger[ledger.repeatability != ""].reason
    }
    repositories = table(study, "io")
    assert sorted(repositories.itertuples(index=False, name=None)) == [
        ("fernbank/trellis", 5, 2, 1, 0.2, f"{ledger.set_index('instance_id').kind[IO]} 1"),
        ("harbour-works/quayside", 1, 1, 1, 1.0, "network 1"),
    ]


def test_table_1_has_one_row_for_each_dataset_and_their_total(study: Study) -> None:
    text = study.result("tables/funnel.tex").read_text("utf-8")
    rows = [line.rstrip("\\ ").split(" & ") for line in text.splitlines() if " & " in line]
    assert rows == [
        ["dataset", "input", "configuration", "single-test", "repeatability", "io", "corpus"],
        ["mini", "4", "1", "0", "2", "1", "0"],
        ["mini-live", "3", "0", "1", "0", "1", "1"],
        ["total", "7", "1", "1", "2", "2", "1"],
    ]


def test_the_story_agrees_with_the_ledger(study: Study) -> None:
    ledger = table(study, "ledger")
    assert set(ledger.instance_id) == set(INSTANCES)
    for row in ledger.itertuples():
        said = " ".join(explain(study, str(row.instance_id)).split())
        kept = f"{row.instance_id}: kept"
        assert said.startswith(
            kept if row.status == "kept" else f"{row.instance_id}: excluded, {row.stage}: {row.reason}"
        )
        assert f"evidence {row.evidence}" in said
        assert " ".join(str(row.detail).split())[:60] in said


def test_the_story_of_a_kept_case_comes_to_its_statistics(study: Study) -> None:
    said = explain(study, KEPT)
    for source in ("ground_truth", "atlas", "birch", "cedar", "dune"):
        assert f"  {source} " in said
    cases = table(study, "cases")
    (n,) = set(cases.repetitions)
    assert said.partition("\nCase\n")[2].count(f"N = {n}") == len(cases)


def test_the_story_of_io_has_the_calls_and_their_lines(study: Study) -> None:
    said = explain(study, NET)
    assert "socket(AF_INET" in said
    assert "of the trace" in said
    assert "Lines of tests/servers/tests.py that lead to I/O\n  line " in said


def test_the_story_of_a_residue_says_where_it_lies(study: Study) -> None:
    said = " ".join(explain(study, RESIDUE).split())
    assert "class not repeatable in process" in said
    assert "residue outside: " in said
    assert "FileExistsError" in said


def test_the_report_has_the_captions(study: Study) -> None:
    report = study.result("report.html").read_text("utf-8")
    for name in ("repeatability.csv", "io.csv", "io.svg"):
        assert f'"name": "{name}"' in report
    assert (ROOT / "report" / "captions" / "figure_io.rst").is_file()
