"""The embedded mini-study: its generated files are up to date, its commits are right, every situation is there."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
import subprocess
import sys
from collections import Counter
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import pytest

from patchperf.config import Config, Dataset, Environments, Repositories, Source
from patchperf.quality.outcomes import CELLS, Level, Outcome, outcome
from patchperf.study.inputs import load_inputs
from patchperf.study.solutions import is_test_file

MINI = Path(__file__).parents[2] / "resources" / "mini"
SOURCES = ("atlas", "birch", "cedar", "dune")
REASONS = {"single-test", "not-reproducible", "not-single-point", "not-repeatable", "io"}
OUTCOMES = set(get_args(Outcome)) - {"timed out"}

PASSED: dict[Level, int] = {"all": 2, "partial": 1, "none": 0}
"""A number of passed tests of two at each level."""

Json = dict[str, Any]


def load_json(name: str) -> Json:
    content: Json = json.loads((MINI / name).read_text("utf-8"))
    return content


def load_rows(name: str) -> list[Json]:
    return [json.loads(line) for line in (MINI / name).read_text("utf-8").splitlines()]


def all_rows() -> dict[str, Json]:
    return {row["instance_id"]: row for name in ("instances.jsonl", "instances-live.jsonl") for row in load_rows(name)}


def patches_of(source: str) -> dict[str, str]:
    return {row["instance_id"]: row["model_patch"] for row in load_rows(f"predictions/{source}.jsonl")}


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mini_study_generator", MINI / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return shutil.copytree(MINI, tmp_path / "mini", ignore=shutil.ignore_patterns("__pycache__"))


def git_object(kind: str, content: bytes) -> bytes:
    return hashlib.sha1(f"{kind} {len(content)}\0".encode() + content).digest()


def git_tree(folder: Path) -> bytes:
    """The id of a folder as git makes it: mode, name, NUL, id of each entry; a folder sorts as if it ended with /."""
    entries = sorted(
        (path for path in folder.iterdir() if path.name != "__pycache__"),
        key=lambda path: path.name + ("/" if path.is_dir() else ""),
    )
    content = b""
    for path in entries:
        if path.is_dir():
            mode, name = "40000", git_tree(path)
        else:
            mode = "100755" if path.stat().st_mode & 0o100 else "100644"
            name = git_object("blob", path.read_bytes())
        content += f"{mode} {path.name}\0".encode() + name
    return git_object("tree", content)


def git_commit(folder: Path) -> str:
    """The id of the one commit of a source tree, from the description of what it holds."""
    who = "patchperf <patchperf@localhost> 946684800 +0000"
    text = f"tree {git_tree(folder).hex()}\nauthor {who}\ncommitter {who}\n\nSource tree\n"
    return git_object("commit", text.encode()).hex()


def test_generating_again_gives_the_same_bytes(generator: ModuleType) -> None:
    stale = [path for path, text in generator.generate().items() if (MINI / path).read_bytes() != text.encode("utf-8")]
    assert not stale, "run python resources/mini/generate.py"


def test_no_generated_file_is_left_over(generator: ModuleType) -> None:
    written = {"generate.py", *generator.generate()}
    found = {path.relative_to(MINI).as_posix() for path in (*MINI.glob("*.*"), *MINI.glob("predictions/*"))}
    assert found == written


def test_an_instance_with_an_unknown_key_is_refused(generator: ModuleType, copy: Path) -> None:
    file = copy / "changes" / "fernbank__trellis-12" / "instance.toml"
    file.write_text('colour = "green"\n' + file.read_text("utf-8"), "utf-8")
    with pytest.raises(TypeError, match="colour"):
        generator.generate(copy)


def test_a_candidate_with_an_unknown_key_is_refused(generator: ModuleType, copy: Path) -> None:
    file = copy / "changes" / "fernbank__trellis-12" / "instance.toml"
    file.write_text(file.read_text("utf-8") + 'colour = "green"\n', "utf-8")
    with pytest.raises(KeyError, match="fernbank__trellis-12: candidate dune"):
        generator.generate(copy)


def test_a_readme_without_marks_is_refused(generator: ModuleType, copy: Path) -> None:
    (copy / "README.md").write_text("# Nothing\n", "utf-8")
    with pytest.raises(ValueError, match=r"README\.md lacks the lines"):
        generator.generate(copy)


def test_a_base_commit_is_a_function_of_the_source_tree() -> None:
    for instance_id, row in all_rows().items():
        folder = MINI / "repositories" / row["repo"].replace("/", "__")
        assert row["base_commit"] == git_commit(folder), instance_id


def test_the_runners_can_be_executed() -> None:
    for runner in ("harbour-works__quayside/tests/runtests.py", "abacus-lab__minalg/bin/test"):
        assert (MINI / "repositories" / runner).stat().st_mode & 0o111 == 0o111


def test_the_study_reads_it(tmp_path: Path) -> None:
    config = Config(
        datasets=(Dataset(name="mini", path="instances.jsonl"), Dataset(name="live", path="instances-live.jsonl")),
        sources=tuple(Source(name=name, predictions=f"predictions/{name}.jsonl") for name in SOURCES),
        repositories=Repositories(trees="repositories"),
        environments=Environments(file="environments.json"),
        cache=str(tmp_path),
    )
    inputs = load_inputs(config, (MINI,))
    assert {instance.instance_id for instance in inputs.instances} == set(load_json("expected.json")["ledger"])
    assert all(instance.test_commands for instance in inputs.instances)
    assert Counter(instance.dialect for instance in inputs.instances) == {"swe-bench": 16, "swe-bench-live": 3}


def test_the_study_is_as_large_as_promised() -> None:
    rows = all_rows()
    assert len(rows) == 19
    assert {row["repo"] for row in rows.values()} == {"fernbank/trellis", "harbour-works/quayside", "abacus-lab/minalg"}
    assert set(load_json("environments.json")) == set(rows)
    size = sum(path.stat().st_size for path in MINI.rglob("*") if path.is_file() and path.parent.name != "__pycache__")
    assert size < 300_000


def test_every_verdict_and_every_outcome_occurs() -> None:
    expected = load_json("expected.json")
    verdicts = Counter(tuple(verdict) for verdict in expected["ledger"].values())
    assert verdicts[("kept", "")] == 7
    assert set(verdicts) == {("kept", ""), *(("excluded", reason) for reason in REASONS)}
    outcomes = {one for by_source in expected["outcomes"].values() for one in by_source.values()}
    assert outcomes == OUTCOMES


def test_every_cell_of_the_taxonomy_occurs_and_has_the_outcome_it_should() -> None:
    expected = load_json("expected.json")
    found = set()
    for name, by_source in expected["outcomes"].items():
        levels = {source: tuple(pair) for source, pair in expected["levels"][name].items()}
        assert set(levels) == {source for source, one in by_source.items() if one in CELLS}
        for source, (f2p, p2p) in levels.items():
            assert by_source[source] == outcome(PASSED[f2p], 2, PASSED[p2p], 2), (name, source)
        found |= set(levels.values())
    assert found == set(product(PASSED, PASSED))


def test_an_outcome_in_the_other_dialect_is_told_where_it_is_another() -> None:
    expected = load_json("expected.json")
    others = {(name, one): told for name, told in expected["other_dialect"].items() for one in told}
    assert others
    assert all(told[one] != expected["outcomes"][name][one] for (name, one), told in others.items())


def test_a_patch_that_breaks_tests_has_to_say_how_many(generator: ModuleType, copy: Path) -> None:
    file = copy / "changes" / "fernbank__trellis-30" / "instance.toml"
    file.write_text(file.read_text("utf-8").replace('p2p = "partial"\n', ""), "utf-8")
    with pytest.raises(ValueError, match="fernbank__trellis-30: candidate dune: p2p is for"):
        generator.generate(copy)


def test_the_single_test_rule_agrees_with_the_rows() -> None:
    ledger = load_json("expected.json")["ledger"]
    several = {
        name
        for name, row in all_rows().items()
        if len(row["FAIL_TO_PASS"] if isinstance(row["FAIL_TO_PASS"], list) else json.loads(row["FAIL_TO_PASS"])) > 1
    }
    assert several == {name for name, verdict in ledger.items() if verdict == ["excluded", "single-test"]}


def test_expected_outcomes_are_those_of_the_patches_there_are() -> None:
    outcomes = load_json("expected.json")["outcomes"]
    for source in SOURCES:
        patches = patches_of(source)
        assert set(patches) == {name for name, by_source in outcomes.items() if source in by_source}
        assert {name for name, patch in patches.items() if not patch} == {
            name for name in patches if outcomes[name][source] == "empty"
        }


def test_reports_are_wrong_once() -> None:
    outcomes = load_json("expected.json")["outcomes"]
    wrong = [
        (source, name)
        for source, resolved in load_json("resolved.json").items()
        for name in outcomes
        if (name in resolved) != (outcomes[name].get(source) == "Resolved")
    ]
    assert wrong == [("dune", "harbour-works__quayside-13")]


def test_solutions_cover_the_resolved_patches_of_kept_instances() -> None:
    expected = load_json("expected.json")
    assert set(expected["solutions"]) == {name for name, verdict in expected["ledger"].items() if verdict[0] == "kept"}
    for name, groups in expected["solutions"].items():
        resolved = [source for source, one in expected["outcomes"][name].items() if one == "Resolved"]
        assert sorted(source for group in groups for source in group) == sorted(["ground_truth", *resolved])
        assert groups[0][0] == "ground_truth"


def test_peculiar_patches_are_there() -> None:
    rows = all_rows()
    patches = {(source, name): patch for source in SOURCES for name, patch in patches_of(source).items()}
    assert patches["atlas", "fernbank__trellis-19"] == patches["cedar", "fernbank__trellis-19"]
    assert patches["dune", "fernbank__trellis-27"] == rows["fernbank__trellis-27"]["patch"]
    assert [key for key, patch in patches.items() if patch and not patch.endswith("\n")] == [
        ("atlas", "fernbank__trellis-36")
    ]
    assert [key for key, patch in patches.items() if patch and "diff --git" not in patch] == [
        ("birch", "harbour-works__quayside-34")
    ]
    assert "+++ b/reproduce.py" in patches["dune", "fernbank__trellis-12"]
    assert "+++ b/src/trellis/heaps.py" in patches["birch", "fernbank__trellis-41"]
    new_test = "--- /dev/null\n+++ b/tests/test_distance.py"
    assert new_test in patches["dune", "fernbank__trellis-19"]
    assert new_test in rows["fernbank__trellis-19"]["test_patch"]


def applies(patch: str, tree: Path, *options: str) -> bool:
    command = ["git", "apply", "--check", *options, "-"]
    return subprocess.run(command, input=patch.encode(), cwd=tree, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("folder", ["fernbank__trellis", "harbour-works__quayside", "abacus-lab__minalg"])
def test_patches_apply_to_the_source_tree_as_they_should(folder: str, tmp_path: Path) -> None:
    tree = shutil.copytree(MINI / "repositories" / folder, tmp_path / folder)
    subprocess.run(["git", "init", "--quiet"], cwd=tree, check=True)
    outcomes = load_json("expected.json")["outcomes"]
    refused = set()
    for name, row in all_rows().items():
        if row["repo"].replace("/", "__") == folder:
            assert applies(row["patch"], tree), name
            assert applies(row["test_patch"], tree), name
            patches = {source: patches_of(source).get(name) for source in SOURCES}
            refused |= {(name, source) for source, patch in patches.items() if patch and not applies(patch, tree)}
    later_links = {("fernbank__trellis-36", "atlas"), ("harbour-works__quayside-40", "birch")}
    assert refused - later_links == {
        (name, source)
        for name, by_source in outcomes.items()
        for source, one in by_source.items()
        if one == "not applied" and name.startswith(folder)
    }
    assert {key for key in later_links if key[0].startswith(folder)} <= refused


def test_a_test_patch_changes_test_files_only() -> None:
    for name, row in all_rows().items():
        files = [line.removeprefix("+++ b/") for line in row["test_patch"].splitlines() if line.startswith("+++ b/")]
        assert files and all(map(is_test_file, files)), name


def run(command: list[str], tree: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-B", *command], cwd=tree, capture_output=True, encoding="utf-8", timeout=60, check=False
    )


def test_the_django_like_runner_names_tests_alike_on_every_python() -> None:
    tree = MINI / "repositories" / "harbour-works__quayside"
    options = ["--verbosity", "2", "--settings=test_sqlite", "--parallel", "1"]
    done = run(["tests/runtests.py", *options, "routing.tests.ResolverTests"], tree)
    assert done.returncode == 0
    lines = done.stderr.splitlines()
    assert "test_fixed_route (routing.tests.ResolverTests) ... ok" in lines
    documented = lines.index("test_unknown_path (routing.tests.ResolverTests)")
    assert lines[documented + 1] == "A path without a route raises NotFound. ... ok"
    assert any(line.startswith("Ran 5 tests in ") for line in lines)


def test_the_sympy_like_runner_selects_by_substring_and_sums_up() -> None:
    tree = MINI / "repositories" / "abacus-lab__minalg"
    file = "minalg/polys/tests/test_dense.py"
    chosen = run(["bin/test", "-C", "--verbose", file, "-k", "test_divide"], tree)
    assert chosen.returncode == 0
    assert [line for line in chosen.stdout.splitlines() if line.startswith("test_")] == [
        "test_divide_by_linear ok",
        "test_divide_with_remainder ok",
        "test_divide_by_larger ok",
        "test_divide_by_zero ok",
    ]
    assert " tests finished: 4 passed, in " in chosen.stdout
    whole = run(["bin/test", "-C", "--verbose", file], tree)
    assert "test_multiply_over_the_integers f" in whole.stdout.splitlines()
    assert " tests finished: 7 passed, 1 expected to fail, in " in whole.stdout


def test_the_pytest_library_passes_its_own_tests() -> None:
    tree = MINI / "repositories" / "fernbank__trellis"
    done = run(["-m", "pytest", "-q", "-p", "no:cacheprovider"], tree)
    assert done.returncode == 0, done.stdout
