"""A whole small study in images with the layout of SWE-bench's: from rows that name them to the report.

What is expected of each instance and patch stands beside the mini-study; the same is held against the local sandbox.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import docker
import pandas as pd
import pytest
import yaml
from benchmark_images import ROOT, build_image

from patchperf.sandbox import engine

MINI = ROOT / "resources" / "mini"
EXPECTED: dict[str, Any] = json.loads((MINI / "expected.json").read_text("utf-8"))
INSTANCES = (
    "abacus-lab__minalg-7",
    "abacus-lab__minalg-28",
    "fernbank__trellis-41",
    "harbour-works__quayside-13",
    "harbour-works__quayside-40",
)
REPOSITORIES = ("abacus-lab__minalg", "fernbank__trellis", "harbour-works__quayside")


@dataclass(frozen=True)
class Finished:
    """A study that has run: its folder, what it printed, and the ids of its images by repository."""

    folder: Path
    code: int
    output: str
    images: dict[str, str]

    def table(self, name: str) -> pd.DataFrame:
        return pd.read_csv(self.folder / "results" / "tables" / f"{name}.csv", keep_default_na=False)

    def records(self, kind: str) -> dict[str, Any]:
        files = (self.folder / "results" / kind).glob("*.json")
        return {file.stem: json.loads(file.read_bytes()) for file in files}


def run(folder: Path, address: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    argv = [
        sys.executable, "-m", "snakemake", "--cores", "2", "--snakefile", str(ROOT / "Snakefile"),
        "--configfile", str(folder / "config.yaml"), "--directory", str(folder), *arguments,
    ]  # fmt: skip
    return subprocess.run(
        argv,
        cwd=ROOT,
        env={**os.environ, "DOCKER_HOST": address},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def finished(
    client: docker.DockerClient, engine_address: str, old_image: str, tmp_path_factory: pytest.TempPathFactory
) -> Finished:
    assert old_image
    folder = tmp_path_factory.mktemp("study")
    images = {name: build_image(client, "old:1", name, f"mini/{name}:latest") for name in REPOSITORIES}
    for file, field in (("instances.jsonl", "image"), ("instances-live.jsonl", "docker_image")):
        rows = [json.loads(line) for line in (MINI / file).read_text("utf-8").splitlines()]
        named = [row | {field: f"mini/{row['repo'].replace('/', '__')}"} for row in rows]
        (folder / file).write_text("".join(json.dumps(row) + "\n" for row in named))
    settings = yaml.safe_load((ROOT / "config" / "config.yaml").read_text("utf-8"))
    del settings["environments"]
    settings |= {
        "datasets": [
            {"name": "mini", "path": "instances.jsonl"},
            {"name": "mini-live", "path": "instances-live.jsonl"},
        ],
        "sandbox": {"kind": "docker", "images": {"pull": "never", "remove": True}},
        "instances": list(INSTANCES),
        "reproductions": 2,
        "replicates": 2,
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(settings))
    done = run(folder, engine_address)
    return Finished(folder, done.returncode, done.stdout, images)


def test_the_study_comes_to_its_report(finished):
    assert finished.code == 0, finished.output
    assert (finished.folder / "results" / "report.html").stat().st_size > 10000


def test_instances_are_kept_and_excluded_as_with_the_local_sandbox(finished):
    ledger = finished.table("ledger").set_index("instance_id")
    assert sorted(ledger.index) == sorted(INSTANCES)
    told = {name: [ledger.status[name], ledger.reason[name]] for name in INSTANCES}
    assert told == {name: EXPECTED["ledger"][name] for name in INSTANCES}


def test_patches_come_to_the_same_outcomes_as_with_the_local_sandbox(finished):
    outcomes = finished.table("outcomes")
    for name in INSTANCES:
        rows = outcomes[(outcomes.instance_id == name) & (outcomes.source != "ground_truth")]
        assert dict(zip(rows.source, rows.outcome, strict=True)) == EXPECTED["outcomes"][name]
        levels = {row.source: [row.f2p, row.p2p] for row in rows.itertuples() if row.f2p}
        assert levels == EXPECTED["levels"][name]


def test_equal_code_is_one_solution_as_with_the_local_sandbox(finished):
    cases = pd.read_parquet(finished.folder / "results" / "cases.parquet")
    for name, rows in cases.groupby("instance_id"):
        assert set(map(frozenset, rows.sources)) == set(map(frozenset, EXPECTED["solutions"][name]))


def test_every_record_says_where_it_was_made(finished):
    host = json.loads((finished.folder / "results" / "host.json").read_bytes())
    assert (host["confinement"], host["warning"]) == ("docker", "")
    for kind in ("reproductions", "probes", "grades"):
        assert {record["confinement"] for record in finished.records(kind).values()} == {"docker"}
    measurements = pd.read_parquet(finished.folder / "results" / "measurements.parquet")
    assert set(measurements.confinement) == {"docker"}
    assert set(measurements.instance_id) == {n for n in INSTANCES if EXPECTED["ledger"][n][0] == "kept"}
    assert (measurements.void.isna() | ~measurements.void.astype(bool)).all()


def test_an_image_is_what_was_found_in_it_and_is_pinned_by_its_content(finished):
    found = {record["image"]["reference"]: record for record in finished.records("environments").values()}
    assert sorted(found) == [f"mini/{name}" for name in REPOSITORIES]
    for name in REPOSITORIES:
        record = found[f"mini/{name}"]
        assert record["image"]["id"] == finished.images[name]
        assert (record["version"].rsplit(".", 1)[0], record["prefix"]) == ("3.9", "/opt/miniconda3/envs/testbed")
        assert record["variables"]["PATH"].startswith("/opt/miniconda3/envs/testbed/bin:")
        assert record["variables"]["SETTING"] == "from-image"
        assert "HOME" not in record["variables"]
        assert record["programs"]["/opt/miniconda3/envs/testbed/bin"]["python"] == "ELF"


def test_provenance_names_the_image_of_every_case(finished):
    known = json.loads((finished.folder / "results" / "provenance.json").read_bytes())["images"]
    cases = {name for name in INSTANCES if EXPECTED["ledger"][name][0] == "kept"}
    assert {name for image in known for name in image["cases"]} == cases
    for image in known:
        name = image["reference"].removeprefix("mini/")
        assert (image["id"], image["repo_digest"]) == (finished.images[name], None)
        assert all(case.startswith(f"{name}-") for case in image["cases"])


def test_what_the_set_up_of_an_image_added_is_said(finished):
    log = (finished.folder / "results" / "logs" / "probes" / "fernbank__trellis-41.log").read_text("utf-8")
    assert "/testbed differs from the base commit in 2 files: README.setup, build_product.egg-info" in log


def test_images_that_the_study_did_not_pull_stay_and_no_container_does(finished, client):
    released = finished.records("released")
    assert {record["reference"]: record["removed"] for record in released.values()} == {
        f"mini/{name}": False for name in REPOSITORIES
    }
    assert {client.images.get(f"mini/{name}").id for name in REPOSITORIES} == set(finished.images.values())
    assert client.containers.list(all=True, filters={"label": engine.STUDY}) == []


def test_a_finished_study_has_nothing_left_to_do(finished, engine_address):
    again = run(finished.folder, engine_address, "--dry-run")
    assert again.returncode == 0, again.output
    assert "Nothing to be done" in again.stdout
