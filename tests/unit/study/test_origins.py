from __future__ import annotations

import hashlib
from pathlib import Path

import pandas as pd

from patchperf.config import Config, load_config
from patchperf.study.inputs import Inputs
from patchperf.study.instance import Candidate, Instance
from patchperf.study.origins import Origins, origins, path_digest


def instance(name: str, patch: str = "+x") -> Instance:
    return Instance(
        instance_id=name, dataset="small", dialect="swe-bench", repo="o/p", base_commit="c" * 40, patch=patch,
        test_patch="", fail_to_pass=("t",),
    )  # fmt: skip


def config() -> Config:
    return load_config(
        {
            "datasets": [{"name": "small", "path": "d.jsonl", "revision": "v5"}],
            "sources": [{"name": "model-a", "predictions": "a"}],
            "repositories": {"mirrors": "m"},
        }
    )


def told(folder: Path, *instances: Instance, patch: str = "+y") -> Origins:
    (folder / "d.jsonl").write_text("rows", "utf-8")
    (folder / "a").mkdir(exist_ok=True)
    (folder / "a" / "one.pred").write_text("{}", "utf-8")
    candidates = {
        one.instance_id: (Candidate(instance_id=one.instance_id, source="model-a", patch=patch),) for one in instances
    }
    return origins(Inputs(instances, candidates, {}, pd.DataFrame()), config(), (folder,))


def test_files_have_their_digests_and_rows_their_own(tmp_path: Path) -> None:
    known = told(tmp_path, instance("a"), instance("b"))
    (dataset,) = known.datasets
    assert dataset.file == hashlib.sha256(b"rows").hexdigest()
    assert (dataset.origin, dataset.revision, dataset.instances) == ("d.jsonl", "v5", 2)
    assert known.sources[0].candidates == 2
    assert known.software["patchperf"]
    assert len(known.software["source"]) == 64


def test_rows_and_patches_are_told_apart_by_content_not_by_order(tmp_path: Path) -> None:
    known = told(tmp_path, instance("a"), instance("b"))
    assert told(tmp_path, instance("b"), instance("a")) == known
    other = told(tmp_path, instance("a"), instance("b", patch="+z"))
    assert other.datasets[0].rows != known.datasets[0].rows
    assert other.sources == known.sources
    assert told(tmp_path, instance("a"), instance("b"), patch="+w").sources[0].patches != known.sources[0].patches


def test_a_folder_s_digest_is_that_of_names_and_contents(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "x").write_text("1", "utf-8")
    first = path_digest(tmp_path)
    assert path_digest(tmp_path) == first
    (tmp_path / "sub" / "x").write_text("2", "utf-8")
    second = path_digest(tmp_path)
    (tmp_path / "sub" / "x").rename(tmp_path / "sub" / "y")
    assert len({first, second, path_digest(tmp_path)}) == 3
