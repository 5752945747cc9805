"""Bad input and a bad machine: what a user sees is one clear line, the exit code is not zero, and nothing is lost.

What is wrong with a candidate, in contrast, is no failure of the study but the candidate's outcome.
"""

from __future__ import annotations

import errno
import json
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from studies import MINI, ROOT, Run, Study, make_study, mini_settings

ONE = "abacus-lab__minalg-7"
OTHER = "abacus-lab__minalg-15"
FIRST = "results/instances.parquet"
SECONDS = 300
ROWS = {row["instance_id"]: row for row in map(json.loads, (MINI / "instances.jsonl").read_text("utf-8").splitlines())}

NewStudy = Callable[..., Study]
ToolMissing = Callable[[str], dict[str, str]]


def error(run: Run) -> str:
    """The one line of a run that was refused: there is no second one, no traceback, and the exit code says it too."""
    assert run.code == 1, run.output
    assert "Traceback" not in run.output, run.output
    (line,) = [line for line in run.output.splitlines() if line.startswith("error: ")]
    assert run.output.count(line.rpartition(": ")[2]) == 1, run.output
    return line.removeprefix("error: ")


def write_rows(path: Path, *rows: Mapping[str, Any] | str) -> str:
    """A JSON-lines file; a text is a line as it is."""
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows), "utf-8")
    return str(path)


def only(path: str) -> dict[str, Any]:
    """Settings for one dataset without sources."""
    return mini_settings(datasets=[{"name": "given", "path": path}], sources=[])


# ---- the configuration


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"alhpa": 0.1}, "unknown key alhpa; allowed here: datasets, sources, "),
        ({"replicates": "five"}, "key replicates = 'five': expected a valid integer"),
        ({"calibration": {"min_seconds": 0}}, "key calibration.min_seconds = 0: expected a value greater than 0"),
        (
            {
                "sources": [{"name": "atlas", "predictions": "a.json"}] * 2,
            },
            "sources: two of one name: atlas; give each a name of its own",
        ),
    ],
)
def test_a_wrong_setting_is_named_with_its_file_and_what_is_allowed(
    new_study: NewStudy, changes: dict[str, Any], said: str
) -> None:
    study = new_study(mini_settings(**changes))
    assert error(study.snakemake(FIRST)).startswith(f"{study.config}: {said}")
    assert not study.result("").exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"datasets": [{"name": "given", "path": "gone.json"}]},
        {"sources": [{"name": "atlas", "predictions": "gone.json"}]},
    ],
    ids=["dataset", "predictions"],
)
def test_a_missing_file_is_named_with_the_places_that_were_looked_at(
    new_study: NewStudy, changes: dict[str, Any]
) -> None:
    study = new_study(mini_settings(**changes))
    places = f"{study.folder}/gone.json, {ROOT}/gone.json"
    assert error(study.snakemake(FIRST)) == f"gone.json: no such file or folder; looked at {places}"


# ---- datasets and predictions


@pytest.mark.parametrize(
    ("name", "lines", "said"),
    [
        ("rows.csv", ["instance_id,repo"], "suffix .csv is not one of .parquet, .json, .jsonl"),
        ("rows.jsonl", [ROWS[ONE], '{"instance_id": '], "line 2: no JSON: Expecting value at column "),
        (
            "rows.jsonl",
            [ROWS[OTHER], {**ROWS[ONE], "base_commit": None}],
            f"line 2, {ONE}: field base_commit is missing or empty",
        ),
    ],
    ids=["format", "json", "base_commit"],
)
def test_an_unreadable_dataset_is_named_with_the_row(
    new_study: NewStudy, tmp_path: Path, name: str, lines: list[Any], said: str
) -> None:
    path = write_rows(tmp_path / name, *lines)
    assert error(new_study(only(path)).snakemake(FIRST)).startswith(f"instances: {path}: {said}")


def test_a_hub_dataset_that_is_out_of_reach_says_how_to_pass_a_file(new_study: NewStudy) -> None:
    study = new_study(mini_settings(datasets=[{"name": "verified", "hub": "nobody/no-such-dataset"}]))
    line = error(study.snakemake(FIRST, environment={"HF_HUB_OFFLINE": "1"}))
    assert line.startswith("instances: dataset verified: nobody/no-such-dataset (split test) cannot be loaded: ")
    assert line.endswith("pass a file instead: path: FILE (.parquet, .json, .jsonl) in place of hub")


def test_predictions_of_which_none_is_for_an_instance_are_refused(new_study: NewStudy, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "p.jsonl", {"instance_id": "someone__else-1", "model_patch": "diff"})
    study = new_study(mini_settings(sources=[{"name": "eve", "predictions": path}]))
    assert error(study.snakemake(FIRST)) == (
        f"instances: source eve: {path}: none of its 1 predictions (someone__else-1, …) is for an instance of the "
        "datasets; give the predictions for them, or drop the source"
    )


@pytest.mark.parametrize("key", ["instances", "exclude"])
def test_an_instance_that_no_dataset_has_is_named(new_study: NewStudy, key: str) -> None:
    study = new_study(mini_settings(**{key: [ONE, "no__such-1"]}))
    assert error(study.snakemake(FIRST)) == (
        f"instances: {key}: in no dataset: no__such-1; correct the ids or drop them"
    )


# ---- repositories and environments


def test_a_mirror_without_the_commit_is_named_until_the_instance_is_excluded(
    new_study: NewStudy, tmp_path: Path
) -> None:
    mirror = tmp_path / "mirrors" / "abacus-lab__minalg.git"
    subprocess.run(["git", "init", "--quiet", "--bare", mirror], check=True)
    study = new_study(only(write_rows(tmp_path / "rows.jsonl", ROWS[ONE])))
    study.change(repositories={"mirrors": str(mirror.parent)})
    assert error(study.snakemake(FIRST)) == (
        f"instances: {ONE}: {mirror} has no commit {ROWS[ONE]['base_commit']}: fetch it there, or list the instance "
        "under exclude"
    )
    study.change(exclude=[ONE])
    run = study.snakemake("results/corpus.parquet")
    assert run.code == 0, run.output
    ledger = pd.read_parquet(study.result("corpus.parquet"))
    assert ledger[["instance_id", "stage", "reason"]].to_numpy().tolist() == [
        [ONE, "configuration", "excluded-by-user"]
    ]


@pytest.mark.parametrize(
    ("repositories", "said"),
    [
        (
            {"mirrors": "{folder}"},
            "no git repository in {folder} (repositories.mirrors); tried abacus-lab__minalg.git, abacus-lab__minalg, "
            "minalg.git: put a bare clone there, or list its instances under exclude",
        ),
        (
            {"url": "file://{folder}/{{repo}}.git"},
            "file://{folder}/abacus-lab/minalg.git (repositories.url): fatal: '{folder}/abacus-lab/minalg.git' does "
            "not appear to be a git repository; check the URL and the connection",
        ),
    ],
    ids=["mirrors", "url"],
)
def test_a_missing_repository_is_named_with_the_place(
    new_study: NewStudy, tmp_path: Path, repositories: dict[str, str], said: str
) -> None:
    origin = {key: value.format(folder=tmp_path) for key, value in repositories.items()}
    study = new_study(mini_settings(repositories=origin))
    assert error(study.snakemake(FIRST)) == f"instances: abacus-lab/minalg: {said.format(folder=tmp_path)}"


def environments(tmp_path: Path, **entry: Any) -> dict[str, Any]:
    """Settings for one instance whose environment is the given one."""
    path = tmp_path / "environments.json"
    path.write_text(json.dumps({ONE: entry}), "utf-8")
    return mini_settings(instances=[ONE], sources=[], environments={"file": str(path)})


def test_a_python_that_is_not_installed_is_named_with_those_that_are(new_study: NewStudy, tmp_path: Path) -> None:
    study = new_study(environments(tmp_path, python="3.99"))
    line = error(study.snakemake(FIRST))
    assert line.startswith(f"instances: {ONE}: Python 3.99 is not installed; found 3.")
    assert line.endswith("or name another version in the environments file")


def test_a_requirement_that_does_not_exist_is_named_with_the_instance_and_the_file(
    new_study: NewStudy, tmp_path: Path
) -> None:
    study = new_study(environments(tmp_path, python="3", pip=["iniconfig==0.0.99"]))
    line = error(study.snakemake(f"results/reproductions/{ONE}.json"))
    assert f": {ONE}: environment of Python 3." in line
    assert "iniconfig==0.0.99" in line
    assert f"correct its entry in {tmp_path}/environments.json, or see to the connection to the package index" in line


# ---- the machine


@pytest.mark.parametrize("tool", ["git", "strace"])
def test_a_missing_tool_is_named_with_its_package(new_study: NewStudy, tool_missing: ToolMissing, tool: str) -> None:
    run = new_study(mini_settings()).snakemake(FIRST, environment=tool_missing(tool))
    assert error(run) == f"instances: {tool} is not installed or not on PATH: install the package {tool}"


def test_patches_are_not_run_where_they_cannot_be_confined(new_study: NewStudy, tool_missing: ToolMissing) -> None:
    study = new_study(mini_settings(sandbox={"confinement": "required"}))
    line = error(study.snakemake(FIRST, environment=tool_missing("bwrap")))
    assert line.startswith("instances: patches cannot be confined: bwrap is not installed: ")
    assert line.endswith("or set sandbox.confinement to best-effort and trust the patches")


def test_with_best_effort_they_are_run_and_every_record_says_how(
    new_study: NewStudy, tool_missing: ToolMissing, cache: str
) -> None:
    study = new_study(mini_settings(instances=[ONE], sources=[], cache=cache))
    run = study.snakemake("results/measurements.parquet", environment=tool_missing("bwrap"))
    assert run.code == 0, run.output
    assert "patches are not confined (bwrap is not installed: install the package bubblewrap)" in run.output
    assert set(pd.read_parquet(study.result("measurements.parquet")).confinement) == {"processes-only"}
    for record in ("reproductions", "probes", "grades"):
        told = json.loads(study.result(f"{record}/{ONE}.json").read_text("utf-8"))
        assert told["confinement"] == "processes-only"


@pytest.fixture
def small_disk(tmp_path: Path, cache: str) -> Iterator[Study]:
    """A study of one instance whose results folder is a file system of 24 MB."""
    study = make_study(
        tmp_path / "small", mini_settings(instances=[ONE], sources=[], cache=cache, scratch=str(tmp_path / "scratch"))
    )
    results = study.result("")
    results.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", results], check=False)
    if mounted.returncode:
        pytest.skip("a small disk is a mount, which this user may not make")
    try:
        yield study
    finally:
        subprocess.run(["umount", "--lazy", results], check=True)


def fill(folder: Path) -> None:
    """Take all the room that is left."""
    with (folder / "ballast").open("wb", buffering=0) as ballast:
        for size in (1 << 20, 1 << 8):
            try:
                while ballast.write(bytes(size)):
                    pass
            except OSError as full:
                assert full.errno == errno.ENOSPC


def test_a_full_disk_ends_the_run_and_with_more_room_it_goes_on(small_disk: Study) -> None:
    def measured() -> bytes:
        return b"".join(path.read_bytes() for path in small_disk.result("journal").glob(f"{ONE}/*.jsonl"))

    results = small_disk.result("")
    started = small_disk.start("results/measurements.parquet")
    deadline = time.monotonic() + SECONDS
    while measured().count(b'"stage":"replicate"') < 2:
        assert started.poll() is None, small_disk.console.read_text("utf-8")
        assert time.monotonic() < deadline
        time.sleep(0.02)
    fill(results)
    assert started.wait(SECONDS) == 1
    kept = measured()
    run = Run(1, small_disk.console.read_text("utf-8"), "")
    said = f"no space left on {results}: free some and run the same command again, what is measured is kept"
    (journal,) = small_disk.result("journal").glob(f"{ONE}/*.jsonl")
    unwritable = f"{journal.relative_to(small_disk.folder)}: cannot write (No space left on device); mend that and run"
    assert error(run) in {f"measure {ONE}: {said}", f"measure {ONE}: {unwritable} again, what is in it is kept"}

    assert error(small_disk.snakemake("results/measurements.parquet")) == said
    subprocess.run(["mount", "-o", "remount,size=64m", results], check=True)
    run = small_disk.snakemake("results/measurements.parquet")
    assert run.code == 0, run.output
    assert run.started["measure"] == 1
    assert run.started["grade"] == 0
    assert measured().startswith(kept)
    table = pd.read_parquet(results / "measurements.parquet")
    wall = table[(table.metric == "wall_ns") & ~table.void]
    assert wall.groupby("solution").size().tolist() == [5]
    before = [json.loads(line) for line in kept.splitlines()]
    assert {entry["pid"] for entry in before if entry["stage"] == "replicate"} <= set(wall.pid)


# ---- candidates


GARBAGE = b"\xff\xfe\x80 diff \xed\xa0\x80 @@ \\u0000\\u0001 \\ud800\\n--- a/x\\n+++ b/x\\n@@ -1 +1 @@\\n\xc3\x28"
"""A JSON text, not UTF-8, of bytes and escapes that no patch has."""

CANDIDATES = {
    "binary": (b'"' + GARBAGE + b'"', "not applied"),
    "blank": (b'" \\n\\n"', "empty"),
    "null": (b"null", "empty"),
    "tester": (json.dumps(ROWS[ONE]["test_patch"]).encode(), "test only"),
}
"""By source: its patch as JSON has it, and its outcome."""


@pytest.fixture(scope="module")
def odd_candidates(tmp_path_factory: pytest.TempPathFactory, cache: str) -> Study:
    """The tables of a study whose sources have no proper patch, and predictions for other benchmarks too."""
    folder = tmp_path_factory.mktemp("odd")
    sources = []
    for source, (patch, _) in CANDIDATES.items():
        path = folder / f"{source}.jsonl"
        rows = ((ONE, patch), (OTHER, b'"diff"'), ("someone__else-1", b'"diff"'), ("someone__else-2", b"null"))
        path.write_bytes(b"".join(b'{"instance_id": "%s", "model_patch": %s}\n' % (n.encode(), p) for n, p in rows))
        sources.append({"name": source, "predictions": str(path)})
    study = make_study(folder / "study", mini_settings(instances=[ONE], sources=sources, cache=cache))
    run = study.snakemake("results/tables/outcomes.csv", "results/tables/sources.csv")
    assert run.code == 0, run.output
    return study


def test_a_candidate_that_is_no_patch_has_an_outcome_with_a_note(odd_candidates: Study) -> None:
    outcomes = pd.read_csv(odd_candidates.result("tables/outcomes.csv"), keep_default_na=False).set_index("source")
    expected = {source: outcome for source, (_, outcome) in CANDIDATES.items()}
    assert outcomes.outcome.to_dict() == expected | {"ground_truth": "Resolved"}
    notes = outcomes.note[list(CANDIDATES)]
    assert (notes != "").all()
    assert notes.map(str.splitlines).map(len).eq(1).all()


def test_predictions_outside_the_datasets_are_counted_and_told(odd_candidates: Study) -> None:
    table = pd.read_csv(odd_candidates.result("tables/sources.csv"), keep_default_na=False)
    counts = table.drop(columns="source").drop_duplicates().to_dict("records")
    assert counts == [{"predictions": 4, "outside": 2, "left_out": 1, "candidates": 1}]
    assert set(table.source) == set(CANDIDATES)
    log = odd_candidates.result("logs/instances.log").read_text("utf-8")
    assert "source: binary, predictions: 4, outside: 2, left_out: 1, candidates: 1\n" in log
