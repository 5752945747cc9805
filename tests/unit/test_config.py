"""The configuration's errors: one line that names the file, the key, the value, and what is allowed."""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from patchperf.config import (
    Config,
    Images,
    Isolation,
    load_config,
    load_isolation,
    load_memory_mb,
    resolve_path,
)
from patchperf.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
LEAST: dict[str, Any] = {"datasets": [{"name": "d", "path": "d.jsonl"}], "repositories": {"trees": "trees"}}
SOURCE = {"name": "atlas", "predictions": "atlas.jsonl"}


def load(**changes: Any) -> Config:
    return load_config(LEAST | changes, "study.yaml")


def refusal(**changes: Any) -> str:
    with pytest.raises(InputError) as raised:
        load(**changes)
    line = str(raised.value)
    assert "\n" not in line
    assert line.startswith("study.yaml: ")
    return line.removeprefix("study.yaml: ")


def without(section: str) -> str:
    with pytest.raises(InputError) as raised:
        load_config({key: value for key, value in LEAST.items() if key != section}, "study.yaml")
    return str(raised.value)


@pytest.mark.parametrize("file", ["config.yaml", "study.yaml"])
def test_the_configurations_that_come_with_the_project_are_valid(file: str) -> None:
    assert load_config(yaml.safe_load((ROOT / "config" / file).read_text("utf-8"))).warmup == 10


def test_what_is_not_given_has_its_documented_default() -> None:
    config = load()
    assert (config.calibration.min_seconds, config.calibration.max_seconds) == (4, 8)
    assert (config.replicates, config.warmup, config.alpha, config.reproductions) == (5, 10, 0.05, 3)
    assert config.practical_threshold == 0.01
    assert (config.counter, config.grading, config.isolation) == ("auto", "all", Isolation(level="none"))
    assert config.isolation == Isolation(
        level="none", partition="root", group_cores=4, daemon_cores=2, system_cores=1, weaker="refuse"
    )
    assert config.sandbox.confinement == "required"
    assert config.sandbox.limits.model_dump() == {
        "memory_mb": 4096, "processes": 256, "output_mb": 16, "file_mb": 2048, "disk_mb": 8192,
    }  # fmt: skip
    assert config.sandbox.kind == "local"
    assert config.sandbox.images == Images(
        pull="missing", attempts=4, at_once=2, per_hour=30, free_gb=20, remove=False, activate=None
    )
    assert config.environments.pythonpath == (".", "src")


def test_environments_do_not_go_together_with_images() -> None:
    assert load(sandbox={"kind": "docker"}).sandbox.kind == "docker"
    said = "environments is for sandbox local: with docker each image has its own"
    assert said in refusal(sandbox={"kind": "docker"}, environments={"file": "e.json"})


@pytest.mark.parametrize("level", ["none", "affinity", "partition"])
def test_a_level_of_isolation_stands_for_a_section_with_it(level: str) -> None:
    assert load(isolation=level) == load(isolation={"level": level})
    assert load(isolation=level).model_dump(mode="json")["isolation"] == level


POOLS = "from patchperf.config import Isolation as I; print(I().pool_size, I(level='affinity').pool_size)"


def test_a_pool_has_as_many_threads_as_there_are_cpus_to_use_and_at_most_those_of_a_core_group() -> None:
    """Where cases are measured on core groups, what a job itself may use does not count."""
    assert Isolation(group_cores=1).pool_size == 1
    assert Isolation().pool_size == min(4, len(os.sched_getaffinity(0)))
    one = str(min(os.sched_getaffinity(0)))
    bound = subprocess.run(["taskset", "-c", one, sys.executable, "-c", POOLS], capture_output=True, check=True)
    assert bound.stdout.split() == [b"1", str(min(4, os.cpu_count() or 1)).encode()]


def test_a_section_of_isolation_is_read_and_written_as_a_whole() -> None:
    section: dict[str, Any] = {"level": "partition", "partition": "isolated", "group_cores": 2, "daemon_cores": 0}
    section |= {"weaker": "allow", "tuning": {"governor": "performance", "turbo": False, "aslr": None}}
    config = load(isolation=section)
    assert config.isolation == Isolation(**section)
    assert load(isolation=config.model_dump(mode="json")["isolation"]) == config
    assert config.model_dump(mode="json")["isolation"] == {**section, "system_cores": 1}


def test_isolation_can_be_read_from_a_configuration_that_is_no_study_s() -> None:
    assert load_isolation({"isolation": "affinity", "samples": [1]}) == Isolation(level="affinity")
    assert load_isolation({}) == Isolation()
    with pytest.raises(InputError, match=r"^c.yaml: key isolation.level = 'much': expected 'none', 'affinity' or"):
        load_isolation({"isolation": "much"}, "c.yaml")


def test_the_memory_of_a_case_is_the_sandbox_s_limit() -> None:
    assert load_memory_mb({"sandbox": {"limits": {"memory_mb": 100}}, "samples": [1]}) == 100
    assert load_memory_mb({}) == 4096


def test_tuning_that_is_not_known_is_named() -> None:
    with pytest.raises(
        InputError, match=r"^c.yaml: unknown key isolation.tuning.turbos; allowed here: governor, turbo"
    ):
        load_isolation({"isolation": {"tuning": {"turbos": True}}}, "c.yaml")


def test_whole_numbers_may_stand_for_seconds_and_lists_for_lists() -> None:
    config = load(calibration={"min_seconds": 1, "max_seconds": 2}, sources=[{**SOURCE, "resolved": ["a__b-1"]}])
    assert config.calibration.max_seconds == 2.0
    assert config.sources[0].resolved == ("a__b-1",)


def test_a_date_is_a_text_as_it_stands_in_the_file() -> None:
    revision = yaml.safe_load("2024-01-31")
    assert isinstance(revision, datetime.date)
    assert load(datasets=[{"name": "d", "hub": "o/n", "revision": revision}]).datasets[0].revision == "2024-01-31"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"calibration": {"min_secs": 1}}, "calibration.min_secs; allowed here: min_seconds, max_seconds"),
        ({"sources": [{**SOURCE, "path": "p"}]}, "sources.0.path; allowed here: name, predictions, resolved, previous"),
        (
            {"sandbox": {"limits": {"memory": 1}}},
            "sandbox.limits.memory; allowed here: memory_mb, processes, output_mb, file_mb, disk_mb",
        ),
        (
            {"datasets": [{"name": "d", "path": "p", "file": "f"}]},
            "datasets.0.file; allowed here: name, path, hub, split, revision",
        ),
    ],
)
def test_an_unknown_key_is_named_with_the_keys_of_its_section(changes: dict[str, Any], said: str) -> None:
    assert refusal(**changes) == f"unknown key {said}"


def test_an_unknown_key_at_the_top_is_named_with_all_keys() -> None:
    assert refusal(alhpa=0.1) == f"unknown key alhpa; allowed here: {', '.join(Config.model_fields)}"


def test_images_bring_their_trees_so_that_docker_needs_no_repositories() -> None:
    values = {"datasets": LEAST["datasets"], "sandbox": {"kind": "docker"}}
    assert load_config(values, "study.yaml").repositories is None


def test_a_missing_key_is_named_with_what_belongs_there() -> None:
    assert without("repositories") == (
        "study.yaml: key repositories is missing, a section with some of mirrors, url, trees"
    )
    assert refusal(sources=[{"name": "atlas"}]) == "key sources.0.predictions is missing"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"replicates": "five"}, "key replicates = 'five': expected a valid integer"),
        ({"replicates": "5"}, "key replicates = '5': expected a valid integer"),
        ({"warmup": True}, "key warmup = True: expected a valid integer"),
        ({"replicates": 2.5}, "key replicates = 2.5: expected a valid integer"),
        (
            {"alpha": "1e-2"},
            "key alpha = '1e-2': expected a number, without quotes, an exponent after a decimal point (1.0e-2)",
        ),
        ({"timeouts": {"suite": float("inf")}}, "key timeouts.suite = inf: expected a finite number"),
        ({"sources": [{**SOURCE, "name": 5}]}, "key sources.0.name = 5: expected a valid string"),
        ({"calibration": 5}, "key calibration = 5: expected a section with keys of min_seconds, max_seconds"),
        ({"repositories": None}, "key repositories is missing, a section with some of mirrors, url, trees"),
        (
            {"datasets": ["d.jsonl"]},
            "key datasets.0 = 'd.jsonl': expected a section with keys of name, path, hub, split, revision",
        ),
        ({"datasets": "d.jsonl"}, "key datasets = 'd.jsonl': expected a list"),
        ({"instances": "a__b-1"}, "key instances = 'a__b-1': expected a list"),
        ({"exclude": ["a__b-1", 2]}, "key exclude.1 = 2: expected a valid string"),
        (
            {"sources": [{**SOURCE, "resolved": 5}]},
            "key sources.0.resolved = 5: expected a valid string or expected a list",
        ),
    ],
)
def test_a_wrong_type_is_named_with_key_and_value(changes: dict[str, Any], said: str) -> None:
    assert refusal(**changes) == said


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"replicates": 0}, "key replicates = 0: expected a value greater than or equal to 1"),
        ({"alpha": 1}, "key alpha = 1: expected a value less than 1"),
        ({"seed": -1}, "key seed = -1: expected a value greater than or equal to 0"),
        ({"counter": "papi"}, "key counter = 'papi': expected 'auto', 'cirron', 'perf', 'qemu', 'callgrind' or 'none'"),
        ({"grading": "some"}, "key grading = 'some': expected 'all' or 'corpus'"),
        ({"isolation": "much"}, "key isolation.level = 'much': expected 'none', 'affinity' or 'partition'"),
        ({"isolation": {"group_cores": 0}}, "key isolation.group_cores = 0: expected a value greater than 0"),
        ({"sandbox": {"confinement": "no"}}, "key sandbox.confinement = 'no': expected 'required' or 'best-effort'"),
        ({"datasets": []}, "key datasets = []: expected a list with at least one element"),
        (
            {"sources": [{**SOURCE, "name": "a/b"}]},
            "key sources.0.name = 'a/b': a name starts with a letter or digit and has only letters, digits and . _ + -",
        ),
        (
            {"calibration": {"min_seconds": 1, "max_seconds": 1}},
            "key calibration = {'max_seconds': 1, 'min_seconds': 1}: "
            "max_seconds must be at least twice min_seconds, or doubling can step over the window",
        ),
        (
            {"datasets": [{"name": "d"}]},
            "key datasets.0 = {'name': 'd'}: give either path (a file) or hub (a Hugging Face dataset id)",
        ),
        ({"repositories": {}}, "key repositories = {}: give exactly one of mirrors, url, trees"),
        (
            {"repositories": {"url": "https://example.org"}},
            "key repositories = {'url': 'https://example.org'}: "
            "url needs {repo} in it, e.g. https://example.org/{repo}.git",
        ),
    ],
)
def test_a_bad_value_is_named_with_what_is_allowed(changes: dict[str, Any], said: str) -> None:
    assert refusal(**changes) == said


def test_the_ground_truth_is_no_source() -> None:
    line = refusal(sources=[{**SOURCE, "name": "ground_truth"}])
    assert line.endswith(": ground_truth is the name of the benchmark's own patches")


@pytest.mark.parametrize("kind", ["datasets", "sources"])
def test_two_of_one_name_are_refused(kind: str) -> None:
    one = {"datasets": LEAST["datasets"][0], "sources": SOURCE}[kind]
    assert refusal(**{kind: [one, one]}) == f"{kind}: two of one name: {one['name']}; give each a name of its own"


def test_the_first_problem_is_told_and_the_others_are_counted() -> None:
    line = refusal(replicates=0, seed=-1, sources=[{**SOURCE, "resolved": 5}])
    assert line.endswith(" (and 2 more)")


def test_a_long_value_is_cut() -> None:
    assert len(refusal(datasets="x" * 10_000)) < 200


def test_a_path_is_the_first_that_exists(tmp_path: Path) -> None:
    study, workflow = tmp_path / "study", tmp_path / "workflow"
    for folder in (study, workflow):
        folder.mkdir()
    (workflow / "rows.json").touch()
    assert resolve_path("rows.json", (study, workflow)) == workflow / "rows.json"
    (study / "rows.json").touch()
    assert resolve_path("rows.json", (study, workflow)) == study / "rows.json"
    assert resolve_path(str(workflow / "rows.json"), (study,)) == workflow / "rows.json"


def test_a_path_may_start_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "rows.json").touch()
    assert resolve_path("~/rows.json", (Path("/"),)) == tmp_path / "rows.json"


def test_a_path_that_is_nowhere_is_named_with_every_place_tried(tmp_path: Path) -> None:
    with pytest.raises(InputError) as raised:
        resolve_path("rows.json", (tmp_path / "a", tmp_path / "b", tmp_path / "a"))
    assert str(raised.value) == (
        f"rows.json: no such file or folder; looked at {tmp_path}/a/rows.json, {tmp_path}/b/rows.json"
    )


def test_a_collector_that_is_off_needs_no_quotes() -> None:
    assert load(garbage_collector=False).garbage_collector == load(garbage_collector="off").garbage_collector == "off"
    assert "garbage_collector = True" in refusal(garbage_collector=True)


def test_a_counting_window_says_what_its_ends_are() -> None:
    assert "max_seconds (1) must not be below min_seconds (2)" in refusal(counting={"max_seconds": 1})


@pytest.mark.parametrize(
    ("quality", "reason"),
    [
        ({"efficiency": "generation"}, "needs speeds"),
        ({"schemes": {"mine": {"correctness": 0.5}}}, "add up to 0.5"),
        ({"schemes": {"mine": {"speed": 1.0}}}, "no dimension speed"),
        ({"efficiency": "none", "schemes": {"mine": {"efficiency": 1.0}}}, "no dimension efficiency"),
        ({"decay": {"half": 0}}, "quality.decay.half"),
        ({"severity": "none"}, "quality.severity"),
        ({"speeds": {"atlas": "24"}}, "quality.speeds.atlas = '24': expected a number, without quotes, or a section"),
        ({"speeds": {"atlas": True}}, "quality.speeds.atlas = True: expected a number"),
        ({"speeds": {"atlas": 0}}, "quality.speeds.atlas.tokens_per_second = 0: expected a value greater than 0"),
        ({"speeds": {"atlas": {"total_parameters": 3}}}, "quality.speeds.atlas.tokens_per_second is missing"),
        ({"speeds": {"atlas": {"speed": 3}}}, "quality.speeds.atlas"),
        (
            {"speeds": {"atlas": {"tokens_per_second": 9, "total_parameters": 3, "active_parameters": 4}}},
            "active_parameters must not be above total_parameters",
        ),
        ({"speeds": {"atlas": 24, "atlsa": 9}}, "quality.speeds: no source atlsa; there are atlas"),
    ],
)
def test_a_quality_index_that_cannot_be_is_refused(quality: dict[str, object], reason: str) -> None:
    assert reason in refusal(quality=quality, sources=[SOURCE])


def test_a_speed_is_a_number_or_a_section() -> None:
    sized = {"tokens_per_second": 81, "total_parameters": 16, "active_parameters": 2.4}
    of_number = load(quality={"speeds": {"atlas": 81}}, sources=[SOURCE]).quality.speeds["atlas"]
    assert (of_number.tokens_per_second, of_number.total_parameters) == (81, None)
    of_section = load(quality={"speeds": {"atlas": sized}}, sources=[SOURCE]).quality.speeds["atlas"]
    assert of_section.model_dump() == sized


def test_reading_it_loads_no_statistics() -> None:
    """Every rule and command reads a configuration; pandas alone takes longer than all that this needs."""
    code = "import sys, patchperf.config; print(*{'numpy', 'pandas', 'scipy', 'matplotlib'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        (None, "cedar", "source birch: previous = cedar is no other source; there are atlas"),
        (None, "birch", "source birch: previous = birch is no other source; there are atlas"),
        ("birch", "atlas", "source atlas: previous = birch, and the other way round"),
    ],
)
def test_an_earlier_run_is_another_source(first: str | None, second: str, reason: str) -> None:
    sources = [{**SOURCE, "previous": first}, {**SOURCE, "name": "birch", "previous": second}]
    assert reason in refusal(sources=sources)


def test_earlier_runs_are_known_by_source() -> None:
    assert load(sources=[SOURCE, {**SOURCE, "name": "birch", "previous": "atlas"}]).previous == {"birch": "atlas"}
