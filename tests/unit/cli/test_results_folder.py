from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from small_results import (
    CASE,
    NAME,
    call,
    io_verdict,
    listed,
    probe,
    reproduction,
    row,
    verdicts,
    write_case,
    write_record,
    write_results,
)

from patchperf.cli.records import Measured, Solution, read_records, similar
from patchperf.errors import InputError


def test_all_records_on_an_instance_are_read(tmp_path: Path) -> None:
    io = probe("io", "io", io=io_verdict(call(3)))
    write_results(tmp_path, reproductions=reproduction(), probes=io, grades=verdicts())
    write_case(
        tmp_path, f"{NAME},wall_ns,b,2,0.1,1,1,8,0.5,0.05,False,5,0,99,", "other,wall_ns,b,2,,,,,,0.05,False,5,0,9,"
    )
    write_record(
        tmp_path, "measurements", json.dumps({"instance_id": NAME, "case": CASE, "reason": "", "evidence": ""})
    )
    known = read_records(tmp_path, NAME)
    assert (known.row, known.reproduction, known.probe, known.verdicts) == (row(), reproduction(), io, verdicts())
    assert known.solutions == (
        Solution(CASE, "ab" * 5, ("ground_truth", "model-a")), Solution(CASE, "cd" * 5, ("model-b",)),
    )  # fmt: skip
    assert known.measured == Measured(CASE, "", "")
    assert [one["repetitions"] for one in known.statistics] == ["99"]


def test_a_study_that_has_just_begun_has_nothing_but_the_row(tmp_path: Path) -> None:
    known = read_records(write_results(tmp_path), NAME)
    assert known.listed.repo == "owner/project"
    assert known.row == row()
    assert (known.reproduction, known.probe, known.verdicts, known.measured) == (None, None, None, None)
    assert (known.solutions, known.statistics) == ((), ())


def test_a_folder_that_does_not_exist_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere: no such folder: name a study's results with --results"):
        read_records(tmp_path / "nowhere", NAME)


def test_a_folder_without_the_first_stages_table_says_which_stage_is_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"instances\.parquet: not there \(stage: instances\): snakemake makes it"):
        read_records(tmp_path, NAME)


def test_a_studys_folder_given_for_its_results_is_recognised(tmp_path: Path) -> None:
    results = write_results(tmp_path / "results")
    with pytest.raises(InputError, match=f"did you mean --results {results}"):
        read_records(tmp_path, NAME)


def test_an_unknown_instance_is_answered_with_similar_ones(tmp_path: Path) -> None:
    write_results(tmp_path, listed("django__django-11095"), listed("sympy__sympy-11095"), listed("sympy__sympy-1"))
    with pytest.raises(InputError, match=r"did you mean django__django-11095\?$"):
        read_records(tmp_path, "django_django-11095")
    with pytest.raises(InputError, match=r"did you mean django__django-11095 or sympy__sympy-11095\?$"):
        read_records(tmp_path, "11095")
    with pytest.raises(InputError, match=r"no such instance in .*: it lists every instance of the study"):
        read_records(tmp_path, "something-else")


def test_a_name_cannot_lead_out_of_the_folder(tmp_path: Path) -> None:
    results = write_results(tmp_path / "results")
    (tmp_path / "secret.json").write_text("{}", "utf-8")
    with pytest.raises(InputError, match="no such instance"):
        read_records(results, "../../secret")


@pytest.mark.parametrize(
    ("wanted", "found"), [("", []), ("SYMPY-1", ["sympy-1", "sympy-12"]), ("sypmy-12", ["sympy-12", "sympy-1"])]
)
def test_similar_names(wanted: str, found: list[str]) -> None:
    assert similar(["django-3", "sympy-1", "sympy-12"], wanted)[:2] == found


@pytest.mark.parametrize("folder", ["reproductions", "probes", "grades", "measurements", "instances"])
@pytest.mark.parametrize("text", ["", '{"instance_id": "own', "{}", '{"made": "by another version"}', "\x00\x01"])
def test_a_record_that_is_cut_or_foreign_is_named(tmp_path: Path, folder: str, text: str) -> None:
    write_results(tmp_path)
    write_record(tmp_path, folder, text)
    with pytest.raises(InputError, match=rf"{folder}/{NAME}\.json.*cut short, or of another version"):
        read_records(tmp_path, NAME)


@pytest.mark.parametrize("table", ["instances.parquet", "cases.parquet"])
def test_a_table_that_is_cut_or_foreign_is_named(tmp_path: Path, table: str) -> None:
    write_results(tmp_path)
    (tmp_path / table).write_bytes(b"PAR1 and then nothing")
    with pytest.raises(InputError, match=f"{table}: cut short, or of another version"):
        read_records(tmp_path, NAME)


def test_a_table_without_its_columns_is_named(tmp_path: Path) -> None:
    write_results(tmp_path)
    pd.DataFrame({"instance_id": [NAME]}).to_parquet(tmp_path / "cases.parquet")
    with pytest.raises(InputError, match=r"cases\.parquet: cut short, or of another version"):
        read_records(tmp_path, NAME)
