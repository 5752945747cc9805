"""Workbenches of the embedded mini-study, run by this Python and its pytest, and patches of its source trees."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from difflib import unified_diff
from pathlib import Path

from patchperf.config import Config, Dataset, Repositories, Source
from patchperf.sandbox.environments import Environment
from patchperf.sandbox.local import local_sandbox
from patchperf.sandbox.mirrors import mirror
from patchperf.study.datasets import load_instances
from patchperf.study.instance import Instance
from patchperf.study.workbench import Workbench

MINI = Path(__file__).parents[3] / "resources" / "mini"
TREES = MINI / "repositories"


@functools.cache
def mini_instances() -> dict[str, Instance]:
    """All instances of the mini-study by their ids."""
    names = ("instances.jsonl", "instances-live.jsonl")
    found = [one for name in names for one in load_instances(Dataset(name=name, path=name), (MINI,))]
    return {one.instance_id: one for one in found}


def mini_bench(instance_id: str, folder: Path) -> Workbench:
    """The workbench of an instance, with its trees below ``folder``; the ground truth is run once."""
    instance = mini_instances()[instance_id]
    config = Config(
        datasets=(Dataset(name="mini", path="instances.jsonl"),),
        sources=(Source(name="model", predictions="predictions.jsonl"),),
        repositories=Repositories(trees="repositories"),
        reproductions=1,
    )
    (folder / "work").mkdir(parents=True)
    prefix = Path(sys.prefix)
    return Workbench(
        instance=instance,
        config=config,
        mirror=mirror(instance.repo, Repositories(trees="repositories"), (MINI,), folder / "cache"),
        environment=Environment(prefix / "bin" / "python", prefix, Path(sys.base_prefix), "0" * 64, {}),
        sandbox=local_sandbox(config.sandbox, folder / "sandbox"),
        work=folder / "work",
    )


def source_text(instance_id: str, path: str) -> str:
    """A file of the instance's source tree."""
    return (_tree(instance_id) / path).read_text("utf-8")


def corrected_text(instance_id: str, path: str) -> str:
    """A file of the instance's source tree as the ground truth leaves it."""
    with tempfile.TemporaryDirectory() as folder:
        tree = shutil.copytree(_tree(instance_id), Path(folder) / "tree")
        patch = mini_instances()[instance_id].patch.encode()
        subprocess.run(["git", "apply", "-"], input=patch, cwd=tree, check=True)
        return (tree / path).read_text("utf-8")


def changed(instance_id: str, files: Mapping[str, str | None]) -> str:
    """A patch of the instance's source tree after which these files have this text, or (None) are gone."""
    parts = []
    for path, text in files.items():
        file = _tree(instance_id) / path
        old, new = (file.read_text("utf-8") if file.exists() else ""), text or ""
        parts.append(f"diff --git a/{path} b/{path}\n")
        parts += ["new file mode 100644\n"] if not file.exists() else ["deleted file mode 100644\n"] * (text is None)
        names = (f"a/{path}" if file.exists() else "/dev/null", f"b/{path}" if text is not None else "/dev/null")
        parts += unified_diff(old.splitlines(keepends=True), new.splitlines(keepends=True), *names)
    return "".join(parts)


def _tree(instance_id: str) -> Path:
    return TREES / mini_instances()[instance_id].repo.replace("/", "__")
