from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest
from small_instances import make_instance, new_file

from patchperf.config import Config, Isolation
from patchperf.errors import InputError
from patchperf.measure.envelope import fixed_variables
from patchperf.sandbox.environments import Environment
from patchperf.sandbox.local import local_sandbox
from patchperf.study.commands import ShellCommand
from patchperf.study.instance import Candidate
from patchperf.study.reproduction import Reproduction, reproduce
from patchperf.study.verdicts import judge_candidate
from patchperf.study.workbench import Workbench


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    folder = tmp_path / "mirror"
    folder.mkdir()
    (folder / "code.py").write_text("answer = 41\n", "utf-8")
    git = ["git", "-C", str(folder), "-c", "user.name=n", "-c", "user.email=e"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "base"]):
        subprocess.run([*git, *arguments], check=True)
    return folder / ".git"


def bench(mirror: Path, tmp_path: Path, **environments: object) -> Workbench:
    commit = subprocess.run(
        ["git", "--git-dir", mirror, "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    )
    config = Config.model_validate(
        {
            "datasets": [{"name": "d", "path": "d.jsonl"}],
            "repositories": {"mirrors": "m"},
            "environments": environments,
        }
    )
    work = tmp_path / "work"
    work.mkdir()
    prefix, base = Path(sys.prefix), Path(sys.base_prefix)
    return Workbench(
        instance=make_instance(
            "pytest", base_commit=commit.stdout.strip(), test_patch=new_file("test_a.py", "test = 1")
        ),
        config=config,
        mirror=mirror,
        environment=Environment(prefix / "bin" / "python", prefix, base, "0" * 64, {}),
        sandbox=local_sandbox(config.sandbox, tmp_path / "sandbox"),
        work=work,
    )


def test_a_tree_has_the_patch_and_the_benchmarks_tests(mirror: Path, tmp_path: Path) -> None:
    tree = bench(mirror, tmp_path).tree("fixed", new_file("new.py", "x = 1"))
    assert sorted(path.name for path in tree.iterdir()) == ["code.py", "new.py", "test_a.py"]


def test_the_install_command_runs_in_every_tree_after_its_patch(mirror: Path, tmp_path: Path) -> None:
    made = bench(mirror, tmp_path, install="python -c 'import new; print(new.x)' > built.txt")
    assert (made.tree("fixed", new_file("new.py", "x = 7")) / "built.txt").read_text("utf-8") == "7\n"


def test_an_install_command_that_fails_names_the_instance_and_what_it_said(mirror: Path, tmp_path: Path) -> None:
    made = bench(mirror, tmp_path, install="echo no compiler; exit 3")
    with pytest.raises(InputError, match=r"owner__project-1: environments\.install failed: no compiler"):
        made.tree("base", None)


def test_commands_see_their_own_environment_and_nothing_of_the_users(
    mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SECRET", "PYTHONOPTIMIZE", "PYTEST_ADDOPTS", "OMP_NUM_THREADS", "LC_ALL"):
        monkeypatch.setenv(name, "99")
    made = bench(mirror, tmp_path)
    done = made.run(ShellCommand(argv=("env",), environment={"EXTRA": "1"}), made.tree("base", None), timeout=60)
    seen = dict(line.split("=", 1) for line in done.output.splitlines() if "=" in line)
    assert not {"SECRET", "PYTHONOPTIMIZE", "PYTEST_ADDOPTS"} & seen.keys()
    assert "99" not in seen.values()
    assert seen.items() >= fixed_variables(Isolation().pool_size).items()
    assert (seen["EXTRA"], seen["PYTHONHASHSEED"], seen["TZ"]) == ("1", "0", "UTC")
    assert seen["PYTHONPATH"].split(":")[:2] == ["/testbed", "/testbed/src"]


NEEDS_ANOTHER_BASE = "--- a/code.py\n+++ b/code.py\n@@ -1 +1 @@\n-answer = 40\n+answer = 42\n"
SOUND = NEEDS_ANOTHER_BASE.replace("40", "41")


@pytest.mark.parametrize(
    ("fields", "settings", "reason"),
    [
        ({"patch": NEEDS_ANOTHER_BASE}, {}, "ground-truth-not-applied"),
        ({"patch": SOUND, "test_patch": NEEDS_ANOTHER_BASE}, {}, "tests-not-applied"),
        ({"patch": SOUND}, {"install": "exit 3"}, "install-failed"),
    ],
)
def test_an_instance_that_cannot_be_set_up_is_a_verdict_and_no_failed_job(
    mirror: Path, tmp_path: Path, fields: dict[str, str], settings: dict[str, str], reason: str
) -> None:
    made = bench(mirror, tmp_path, **settings)
    made = dataclasses.replace(made, instance=made.instance.model_copy(update=fields))
    found = reproduce(made, "spec")
    assert (found.stable, found.reason, found.runs) == (False, reason, ())
    assert found.evidence


def test_a_candidate_that_leaves_no_place_for_the_tests_is_charged_alone(mirror: Path, tmp_path: Path) -> None:
    made = bench(mirror, tmp_path)
    instance = made.instance.model_copy(update={"test_patch": new_file("tests/test_a.py", "test = 1")})
    sound = Reproduction(
        instance_id=instance.instance_id, spec="s", reason="", evidence="", unreproduced=(), runs=(), confinement=""
    )
    blocks = Candidate(instance_id=instance.instance_id, source="model", patch=new_file("tests", "not a folder"))
    verdict = judge_candidate(dataclasses.replace(made, instance=instance), sound, blocks)
    assert verdict.outcome == "not applied"
    assert "no place after this patch" in verdict.note
