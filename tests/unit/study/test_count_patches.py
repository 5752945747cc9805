"""Patches of one small repository, counted from its trees: nothing is run."""

from __future__ import annotations

import difflib
from pathlib import Path

import pytest
from small_benches import make_bench
from small_instances import new_file

from patchperf.study.counted_patches import counts_table
from patchperf.study.instance import GROUND_TRUTH, Candidate
from patchperf.study.quality import CountedPatches, count_patches

BASE = {"pkg/a.py": "def f(a):\n    return a\n", "pkg/b.py": "def g(a):\n    if a:\n        return 1\n    return 2\n"}
FIXED = "def f(a):\n    if a:\n        return 1\n    return a\n"
NAME = "owner__project-1"


def change(path: str, text: str) -> str:
    before, after = (lines.splitlines(keepends=True) for lines in (BASE[path], text))
    return f"diff --git a/{path} b/{path}\n" + "".join(difflib.unified_diff(before, after, f"a/{path}", f"b/{path}"))


def delete(path: str) -> str:
    lines = BASE[path].splitlines(keepends=True)
    removed = "".join(f"-{line}" for line in lines)
    head = f"diff --git a/{path} b/{path}\ndeleted file mode 100644\n--- a/{path}\n+++ /dev/null\n"
    return f"{head}@@ -1,{len(lines)} +0,0 @@\n{removed}"


def rename(old: str, new: str) -> str:
    return f"diff --git a/{old} b/{new}\nsimilarity index 100%\nrename from {old}\nrename to {new}\n"


PATCHES = {
    "same": change("pkg/a.py", FIXED),
    "risky": change("pkg/a.py", "import os\n\n\ndef f(a):\n    os.system(a)\n    return a\n"),
    "broken": change("pkg/a.py", "def f(a:\n    return a\n"),
    "deleted": change("pkg/a.py", FIXED) + delete("pkg/b.py"),
    "renamed": change("pkg/a.py", FIXED) + rename("pkg/b.py", "pkg/c.py"),
    "data": change("pkg/a.py", FIXED) + new_file("pkg/data.json", "{"),
    "test": change("pkg/a.py", FIXED) + new_file("tests/test_more.py", "import os\n\n\ndef test_x():\n    assert os\n"),
    "none": "",
    "elsewhere": change("pkg/a.py", FIXED).replace("pkg/a.py", "pkg/z.py"),
}


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> CountedPatches:
    bench = make_bench(tmp_path_factory.mktemp("bench"), "def test_x():\n    pass\n", patch=PATCHES["same"], files=BASE)
    candidates = [Candidate(instance_id=NAME, source=name, patch=patch) for name, patch in PATCHES.items()]
    return count_patches(bench, candidates, "digest", "low")


@pytest.mark.parametrize(
    ("source", "complexity", "reference", "findings"),
    [
        (GROUND_TRUTH, 2, 2, 0),
        ("same", 2, 2, 0),
        ("risky", 1, 2, 1),
        ("deleted", 2, 4, 0),
        ("renamed", 4, 4, 0),
        ("data", 2, 2, 0),
        ("test", 2, 2, 0),
    ],
)
def test_each_kind_of_patch_is_counted(
    counted: CountedPatches, source: str, complexity: int, reference: int, findings: int
) -> None:
    counts = counted.counts[source]
    assert (counts.complexity, counts.complexity_reference, counts.findings) == (complexity, reference, findings)
    assert counts.compiles


def test_a_syntax_error_is_told(counted: CountedPatches) -> None:
    assert not counted.counts["broken"].compiles
    assert counted.counts["broken"].note == "does not parse: pkg/a.py"


def test_what_is_empty_or_does_not_apply_has_no_counts(counted: CountedPatches) -> None:
    assert {*PATCHES, GROUND_TRUTH} - counted.counts.keys() == {"none", "elsewhere"}
    assert counted.lines == 2


def test_records_become_a_table(counted: CountedPatches, tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(counted.model_dump_json())
    table = counts_table([tmp_path / "one.json"])
    assert table["source"].tolist() == sorted(counted.counts)
    assert set(table["lines"]) == {2}
    assert counts_table([]).empty


def test_a_ground_truth_that_does_not_apply_leaves_nothing_to_compare_with(tmp_path: Path) -> None:
    bench = make_bench(tmp_path, "def test_x():\n    pass\n", patch=PATCHES["elsewhere"], files=BASE)
    found = count_patches(bench, [], "digest", "low")
    assert (found.counts, found.note) == ({}, "the ground truth does not apply")
