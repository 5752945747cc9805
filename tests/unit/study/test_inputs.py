"""Everything that the user gave, read together: what fits, what is left out, and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from patchperf.config import load_config
from patchperf.errors import InputError, MachineError
from patchperf.sandbox.mirrors import commit_tree
from patchperf.study.inputs import Inputs, load_inputs
from patchperf.study.manifest import build_manifest


def row(number: int, commit: str, **fields: Any) -> dict[str, Any]:
    plain = {
        "instance_id": f"owner__project-{number}",
        "repo": "owner/project",
        "base_commit": commit,
        "version": "1",
        "patch": "diff",
        "test_patch": "diff",
        "FAIL_TO_PASS": ["tests/test_a.py::test_x"],
        "PASS_TO_PASS": [],
    }
    return plain | fields


class Given:
    """A folder with a source tree, rows of three instances, and two sources; and the settings that name them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        tree = folder / "trees" / "owner__project"
        tree.mkdir(parents=True)
        (tree / "a.py").write_text("a = 1\n", "utf-8")
        mirror = commit_tree(tree, folder / "probe.git")
        self.commit = (mirror / "refs" / "heads" / "main").read_text("utf-8").strip()
        self.rows(*(row(number, self.commit) for number in (1, 2, 3)))
        self.predictions("atlas", 1, 2, 9)
        self.predictions("birch", 3)
        self.write("environments.json", {"owner/project": {"python": "3"}})
        self.settings: dict[str, Any] = {
            "datasets": [{"name": "d", "path": "rows.json"}],
            "sources": [{"name": name, "predictions": f"{name}.json"} for name in ("atlas", "birch")],
            "repositories": {"trees": "trees"},
            "environments": {"file": "environments.json"},
            "cache": str(folder / "cache"),
        }

    def write(self, name: str, content: Any) -> None:
        (self.folder / name).write_text(json.dumps(content), "utf-8")

    def rows(self, *rows: dict[str, Any], name: str = "rows.json") -> None:
        self.write(name, rows)

    def predictions(self, source: str, *numbers: int) -> None:
        self.write(f"{source}.json", {f"owner__project-{number}": f"{source} {number}" for number in numbers})

    def load(self, **changes: Any) -> Inputs:
        return load_inputs(load_config(self.settings | changes), (self.folder,))

    def refusal(self, **changes: Any) -> str:
        with pytest.raises((InputError, MachineError)) as raised:
            self.load(**changes)
        assert "\n" not in str(raised.value)
        return str(raised.value)


@pytest.fixture
def given(tmp_path: Path) -> Given:
    return Given(tmp_path)


def test_every_instance_has_its_candidates_and_its_environment(given: Given) -> None:
    inputs = given.load()
    assert [instance.instance_id for instance in inputs.instances] == [f"owner__project-{n}" for n in (1, 2, 3)]
    assert {name: [one.patch for one in found] for name, found in inputs.candidates.items()} == {
        "owner__project-1": ["atlas 1"],
        "owner__project-2": ["atlas 2"],
        "owner__project-3": ["birch 3"],
    }
    assert {spec.python for spec in inputs.environments.values()} == {"3"}
    assert len(inputs.environments) == 3


def test_predictions_are_counted_as_used_left_out_or_outside(given: Given) -> None:
    inputs = given.load(instances=["owner__project-1", "owner__project-3"], exclude=["owner__project-3"])
    assert inputs.sources.to_dict("records") == [
        {"source": "atlas", "predictions": 3, "outside": 1, "left_out": 1, "candidates": 1},
        {"source": "birch", "predictions": 1, "outside": 0, "left_out": 1, "candidates": 0},
    ]


def test_an_excluded_instance_needs_neither_repository_nor_environment(given: Given) -> None:
    given.rows(row(1, given.commit), row(2, "0" * 40, repo="gone/project"), row(3, given.commit))
    assert "gone/project: no source tree gone__project in " in given.refusal()
    inputs = given.load(exclude=["owner__project-2"])
    assert list(inputs.environments) == ["owner__project-1", "owner__project-3"]
    config = load_config(given.settings | {"exclude": ["owner__project-2"]})
    manifest = build_manifest(inputs.instances, inputs.candidates, inputs.environments, config)
    assert manifest.selected.tolist() == [True, False, True]
    stages = manifest[["environment", "reproduce", "probe", "grade"]]
    assert (stages.iloc[0].str.len() == 64).all()
    assert (stages.iloc[1] == "").all()


def test_an_instance_that_is_neither_probed_nor_graded_needs_no_environment(given: Given) -> None:
    several = row(2, given.commit, FAIL_TO_PASS=["a.py::test_a", "a.py::test_b"])
    given.rows(row(1, given.commit), several, row(3, given.commit))
    given.write("environments.json", {f"owner__project-{n}": {"python": "3"} for n in (1, 3)})
    assert given.refusal().endswith("; an instance with several F2P tests needs none with grading: corpus")
    inputs = given.load(grading="corpus")
    assert list(inputs.environments) == ["owner__project-1", "owner__project-3"]
    manifest = build_manifest(inputs.instances, inputs.candidates, inputs.environments, load_config(given.settings))
    assert manifest.selected.all()
    assert manifest.grade.astype(bool).tolist() == [True, False, True]


def test_predictions_are_read_before_repositories_are_fetched(given: Given) -> None:
    line = given.refusal(
        repositories={"url": "file:///absent/{repo}.git"}, sources=[{"name": "a", "predictions": "rows.json"}]
    )
    assert "no row has a model_patch" in line


def test_a_commit_that_is_missing_is_told_with_the_number_of_others(given: Given) -> None:
    given.rows(row(1, "1" * 40), row(2, "2" * 40), row(3, given.commit))
    assert given.refusal() == (
        f"owner__project-1: {given.folder}/cache/trees/owner__project.git has no commit {'1' * 40} "
        "(and 1 more are missing): the tree's content is not what the row was made for, restore it or correct the row, "
        "or list the instance under exclude"
    )


@pytest.mark.parametrize(
    ("key", "advice"), [("mirrors", "fetch it there"), ("url", "correct repositories.url or the row")]
)
def test_what_to_do_about_a_missing_commit_depends_on_the_origin(given: Given, key: str, advice: str) -> None:
    mirrors = given.folder / "mirrors"
    (mirrors / "owner").mkdir(parents=True)
    shutil.copytree(given.folder / "probe.git", mirrors / "owner__project.git")
    shutil.copytree(given.folder / "probe.git", mirrors / "owner" / "project.git")
    origin = {"mirrors": str(mirrors), "url": f"file://{mirrors}/{{repo}}.git"}[key]
    assert len(given.load(repositories={key: origin}).instances) == 3
    given.rows(row(1, "1" * 40))
    assert f" has no commit {'1' * 40}: {advice}, or list" in given.refusal(repositories={key: origin}, sources=[])


def test_an_instance_in_two_datasets_is_refused(given: Given) -> None:
    given.rows(row(2, given.commit), name="more.json")
    line = given.refusal(datasets=[{"name": "d", "path": "rows.json"}, {"name": "e", "path": "more.json"}])
    assert line == (
        "owner__project-2 is in dataset d and again in e: an instance is studied once, drop it from one of them"
    )


@pytest.mark.parametrize("key", ["instances", "exclude"])
def test_ids_that_no_dataset_has_are_named(given: Given, key: str) -> None:
    line = given.refusal(**{key: ["owner__project-1", "b", "a"]})
    assert line == f"{key}: in no dataset: a, b; correct the ids or drop them"


def test_a_python_that_is_not_installed_is_named_with_the_instance(given: Given) -> None:
    given.write("environments.json", {"owner/project": {"python": "3"}, "owner__project-2": {"python": "3.99"}})
    assert given.refusal().startswith("owner__project-2: Python 3.99 is not installed; found 3.")


@pytest.mark.parametrize("tool", ["git", "patch", "strace"])
def test_a_missing_tool_is_named_before_anything_is_read(
    given: Given, monkeypatch: pytest.MonkeyPatch, tool: str
) -> None:
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: None if name == tool else which(name))
    given.write("rows.json", "nothing")
    assert given.refusal() == f"{tool} is not installed or not on PATH: install the package {tool}"
