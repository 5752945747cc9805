"""How patches get onto a tree: the chain of commands, what is repaired, and what never happens."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
import unidiff

from patchperf.errors import MachineError
from patchperf.sandbox import patches, trees
from patchperf.sandbox.patches import Applied, apply_patch, is_empty, patch_paths

GIT = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_{what}": "t@t" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}
LINES = [f"line {number}" for number in range(1, 31)]


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, env=GIT, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a file of 30 lines, an older version of it, a function at a file's end, and a link out."""
    work = tmp_path_factory.mktemp("origin")
    git(work, "init", "-q", "-b", "main")
    (work / "lines.txt").write_text("\n".join(LINES) + "\n")
    git(work, "add", "-A")
    git(work, "commit", "-q", "-m", "old")
    git(work, "tag", "old")
    (work / "lines.txt").write_text("\n".join(LINES).replace("line 7\n", "line seven\n") + "\n")
    (work / "code.py").write_text("def f():\n    return 1\n\n\ndef g():\n    return 2\n")
    (work / "out").symlink_to("/tmp")
    (work / "ünï code.py").write_text("a\n")
    git(work, "add", "-A")
    git(work, "commit", "-q", "-m", "new")
    return work


@pytest.fixture
def tree(origin: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "trees" / "tree"
    trees.checkout(origin / ".git", git(origin, "rev-parse", "main").strip(), folder)
    return folder


def diff(before: str, after: str, name: str = "lines.txt", context: int = 3) -> str:
    """A git-style patch, made by git itself outside of any repository."""
    with tempfile.TemporaryDirectory() as folder:
        for side, text in (("a", before), ("b", after)):
            (Path(folder) / side).mkdir()
            (Path(folder) / side / name).write_text(text)
        done = subprocess.run(
            ["git", "diff", "--no-index", "--no-prefix", f"-U{context}", f"a/{name}", f"b/{name}"],
            cwd=folder,
            env=GIT,
            check=False,
            capture_output=True,
            text=True,
        )
    assert done.returncode == 1
    return done.stdout


def edited(text: str, old: str, new: str) -> str:
    assert text.count(old) == 1
    return text.replace(old, new)


NOW = edited("\n".join(LINES) + "\n", "line 7\n", "line seven\n")
GOOD = diff(NOW, edited(NOW, "line 20\n", "line twenty\n"))
CODE = "def f():\n    return 1\n\n\ndef g():\n    return 2\n"


def test_a_good_patch_is_applied_by_the_first_link(tree: Path) -> None:
    assert apply_patch(tree, GOOD) == Applied(applied=True, link="git apply", detail="")
    assert "line twenty\n" in (tree / "lines.txt").read_text()
    assert trees.changed_files(tree) == (trees.Change("lines.txt", "modified"),)


def test_a_patch_without_git_headers_is_applied(tree: Path) -> None:
    plain = GOOD[GOOD.index("--- ") :]
    assert "diff" not in plain
    assert apply_patch(tree, plain).link == "git apply"


def test_a_missing_final_newline_is_added_and_said(tree: Path) -> None:
    assert apply_patch(tree, GOOD.rstrip("\n")) == Applied(applied=True, link="git apply", detail="final newline added")


@pytest.mark.parametrize(("end", "said"), [("", "final newline added; "), ("\n", "")])
def test_blank_context_lines_that_were_stripped_off_the_end_are_restored(tree: Path, end: str, said: str) -> None:
    whole = diff(CODE, edited(CODE, "return 1", "return 3"), "code.py", context=2)
    assert whole.endswith("\n \n \n")
    result = apply_patch(tree, whole.rstrip() + end)
    assert result == Applied(applied=True, link="git apply", detail=f"{said}2 stripped blank context lines restored")
    assert (tree / "code.py").read_text() == edited(CODE, "return 1", "return 3")
    trees.reset(tree)
    result = apply_patch(tree, whole.removesuffix(" \n"))
    assert result.detail == "1 stripped blank context line restored"


def test_a_patch_that_was_cut_in_its_last_change_is_not_applied(tree: Path) -> None:
    assert not apply_patch(tree, GOOD[: GOOD.index("+line twenty")]).applied
    assert trees.changed_files(tree) == ()


def test_a_patch_for_an_older_version_is_merged_by_the_second_link(tree: Path, origin: Path) -> None:
    old = "\n".join(LINES) + "\n"
    patch = diff(old, edited(old, "line 10\n", "line ten\n"))
    result = apply_patch(tree, patch)
    assert (result.applied, result.link) == (True, "git apply --3way")
    assert (tree / "lines.txt").read_text() == edited(NOW, "line 10\n", "line ten\n")
    assert "patch failed: lines.txt:7" in result.detail


def test_a_patch_with_wrong_context_is_applied_by_fuzz_at_last(tree: Path) -> None:
    wrong = (
        "--- a/lines.txt\n+++ b/lines.txt\n@@ -18,5 +18,5 @@\n"
        " wrong\n line 19\n-line 20\n+line twenty\n line 21\n wrong\n"
    )
    result = apply_patch(tree, wrong)
    assert (result.applied, result.link) == (True, "patch --fuzz=5")
    assert trees.changed_files(tree) == (trees.Change("lines.txt", "modified"),)
    assert (tree / "lines.txt").read_text() == edited(NOW, "line 20\n", "line twenty\n")


def test_a_patch_with_dos_line_ends_is_applied_by_the_last_link(tree: Path) -> None:
    result = apply_patch(tree, GOOD.replace("\n", "\r\n"))
    assert (result.applied, result.link) == (True, "patch --fuzz=5")
    assert (tree / "lines.txt").read_bytes() == edited(NOW, "line 20\n", "line twenty\n").encode()


def test_a_half_fitting_patch_leaves_the_tree_as_it_was(tree: Path) -> None:
    (tree / "before.txt").write_text("was here before\n")
    before = trees.tree_digest(tree)
    half = GOOD + "--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+new\n"
    half += diff(CODE, edited(CODE, "return 2", "return 4"), "code.py").replace("return 2", "return two")
    result = apply_patch(tree, half)
    assert (result.applied, result.link) == (False, "none")
    assert "error: patch failed: code.py" in result.detail
    assert trees.tree_digest(tree) == before
    assert sorted(path.name for path in tree.iterdir()) == sorted(
        ["before.txt", "code.py", "lines.txt", "out", "ünï code.py"]
    )


def test_a_later_attempt_starts_from_what_an_earlier_patch_had_made(tree: Path) -> None:
    assert apply_patch(tree, GOOD).applied
    wrong = "--- a/lines.txt\n+++ b/lines.txt\n@@ -24,3 +24,3 @@\n wrong\n-line 25\n+line 2five\n line 26\n"
    assert apply_patch(tree, wrong).link == "patch --fuzz=5"
    text = (tree / "lines.txt").read_text()
    assert "line twenty\n" in text
    assert "line 2five\n" in text


def test_a_patch_that_is_in_the_tree_already_is_recognised_and_stays_in(tree: Path) -> None:
    apply_patch(tree, GOOD)
    once = trees.tree_digest(tree)
    result = apply_patch(tree, GOOD)
    assert (result.applied, result.link) == (True, "already applied")
    assert trees.tree_digest(tree) == once


def test_new_removed_renamed_and_binary_files_and_modes(tree: Path, origin: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    shutil.copytree(origin, work, symlinks=True)
    (work / "new folder").mkdir()
    (work / "new folder" / "ß.bin").write_bytes(bytes(range(256)) * 4)
    git(work, "mv", "lines.txt", "renamed lines.txt")
    git(work, "rm", "-q", "ünï code.py")
    (work / "code.py").chmod(0o755)
    git(work, "add", "-A")
    patch = git(work, "diff", "--cached", "--binary", "-M", "HEAD")
    assert apply_patch(tree, patch).link == "git apply"
    changed = {change.path for change in trees.changed_files(tree)}
    assert changed == {"new folder/ß.bin", "renamed lines.txt", "lines.txt", "ünï code.py", "code.py"}
    assert set(patch_paths(patch)) == changed
    assert trees.tree_digest(tree) == git(work, "write-tree").strip()


OUTSIDE = {
    "parent": "--- a/../../escaped\n+++ b/../../escaped\n@@ -0,0 +1 @@\n+x\n",
    "parent new": "diff --git a/../escaped b/../escaped\nnew file mode 100644\n"
    "--- /dev/null\n+++ b/../escaped\n@@ -0,0 +1 @@\n+x\n",
    "absolute": "--- //tmp/escaped\n+++ //tmp/escaped\n@@ -0,0 +1 @@\n+x\n",
    "doubled": "--- /dev/null\n+++ b//tmp/escaped\n@@ -0,0 +1 @@\n+x\n",
    "git": "--- /dev/null\n+++ b/.git/config\n@@ -0,0 +1 @@\n+[core]\n",
    "git in a folder": "--- /dev/null\n+++ b/sub/.GIT/hooks/post-checkout\n@@ -0,0 +1 @@\n+x\n",
    "through a link of the tree": "--- /dev/null\n+++ b/out/escaped\n@@ -0,0 +1 @@\n+x\n",
    "quoted": '--- /dev/null\n+++ "b/\\056\\056/escaped"\n@@ -0,0 +1 @@\n+x\n',
    "index line": "Index: a/../escaped\n--- /dev/null\n+++ /dev/null\n@@ -0,0 +1 @@\n+x\n",
    "rename": "diff --git a/code.py b/x\nsimilarity index 100%\nrename from code.py\nrename to ../escaped\n",
}


@pytest.mark.parametrize("patch", OUTSIDE.values(), ids=OUTSIDE.keys())
def test_no_patch_writes_outside_the_tree(tree: Path, patch: str) -> None:
    before = trees.tree_digest(tree)
    ours = sorted((trees.git_directory(tree)).rglob("*"))
    result = apply_patch(tree, patch)
    assert (result.applied, result.link) == (False, "none")
    assert "outside the tree" in result.detail
    assert trees.tree_digest(tree) == before
    assert not (tree / ".git").exists()
    assert sorted((trees.git_directory(tree)).rglob("*")) == ours
    assert not any((folder / "escaped").exists() for folder in (tree.parent, tree.parent.parent, Path("/tmp")))


def test_a_link_that_the_patch_itself_makes_leads_nothing_out(tree: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    link = f"new file mode 120000\n--- /dev/null\n+++ b/way\n@@ -0,0 +1 @@\n+{outside}\n\\ No newline at end of file\n"
    patch = (
        "diff --git a/way b/way\n"
        + link
        + "diff --git a/way/escaped b/way/escaped\nnew file mode 100644\n"
        + "--- /dev/null\n+++ b/way/escaped\n@@ -0,0 +1 @@\n+x\n"
    )
    result = apply_patch(tree, patch)
    assert not result.applied
    assert list(outside.iterdir()) == []
    reject = (
        "diff --git a/code.py.rej b/code.py.rej\n"
        + link.replace("b/way", "b/code.py.rej")
        + ("--- a/code.py\n+++ b/code.py\n@@ -1,2 +1,2 @@\n-def no():\n+def yes():\n     return 9\n")
    )
    assert not apply_patch(tree, reject).applied
    assert list(outside.iterdir()) == []
    assert apply_patch(tree, "diff --git a/way b/way\n" + link).link == "git apply"
    assert (tree / "way").is_symlink()


def test_an_ed_script_is_not_run(tree: Path, tmp_path: Path) -> None:
    script = f"--- a/code.py\n+++ b/code.py\n1c\nx\n.\n!touch {tmp_path}/ran\n.\nw\n"
    for patch in (script, f"1!touch {tmp_path}/ran\n" + script, f"Index: a/code.py\n1,2d\n!touch {tmp_path}/ran\n"):
        assert not apply_patch(tree, patch).applied
    assert not (tmp_path / "ran").exists()
    assert trees.changed_files(tree) == ()


GARBAGE = {
    "prose": "I have fixed the bug by changing code.py.",
    "binary": "\udc89PNG\r\n\x1a\n\0\0\0\rIHDR" + "\udcff\0\x01" * 1000,
    "lone surrogate": "--- a/code.py\n+++ b/code.py\n@@ -1 +1 @@\n-\ud800\n+\ud801\n",
    "header only": "diff --git a/code.py b/code.py\n",
    "huge counts": f"--- a/code.py\n+++ b/code.py\n@@ -1,{'9' * 20} +1,{'9' * 20} @@\n-def f():\n+def h():\n",
    "inflating": "diff --git a/x b/x\nnew file mode 100644\nGIT binary patch\nliteral 9999999999\nzcmV;x0ssI2\n\n",
    "cut off": GOOD[: len(GOOD) // 2],
    "big": "--- a/code.py\n+++ b/code.py\n@@ -1,40000 +1,40000 @@\n" + "-aaaaaaaaaaaa\n+bbbbbbbbbbbbb\n" * 40000,
    "nul name": "--- a/co\0de.py\n+++ b/co\0de.py\n@@ -1 +1 @@\n-a\n+b\n",
}


@pytest.mark.parametrize("patch", GARBAGE.values(), ids=GARBAGE.keys())
def test_garbage_is_not_applied_and_the_reason_is_one_line(tree: Path, patch: str) -> None:
    before = trees.tree_digest(tree)
    result = apply_patch(tree, patch)
    assert (result.applied, result.link) == (False, "none")
    assert result.detail
    assert result.detail.isprintable()
    assert len(result.detail) <= 300
    assert trees.tree_digest(tree) == before
    assert isinstance(patch_paths(patch), tuple)


@pytest.mark.parametrize("patch", ["", "\n", "  \n\t\n"])
def test_an_empty_patch_is_not_applied(tree: Path, patch: str) -> None:
    assert is_empty(patch)
    assert apply_patch(tree, patch) == Applied(applied=False, link="none", detail="the patch is empty")


def test_a_large_scratch_file_is_applied(tree: Path) -> None:
    lines = [f"{number} {'x' * 70}" for number in range(12000)]
    patch = f"--- /dev/null\n+++ b/scratch.txt\n@@ -0,0 +1,{len(lines)} @@\n" + "".join(f"+{line}\n" for line in lines)
    assert apply_patch(tree, patch).link == "git apply"
    assert (tree / "scratch.txt").read_text().splitlines() == lines


def test_bytes_that_are_no_text_reach_the_file(tree: Path) -> None:
    patch = "--- /dev/null\n+++ b/latin.txt\n@@ -0,0 +1 @@\n+caf\udce9\n"
    assert apply_patch(tree, patch).applied
    assert (tree / "latin.txt").read_bytes() == b"caf\xe9\n"


def test_a_machine_without_patch_is_told_which_package_it_lacks(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = shutil.which
    monkeypatch.setattr(patches.shutil, "which", lambda name: None if name == "patch" else real(name))
    before = trees.tree_digest(tree)
    with pytest.raises(MachineError, match="install the package patch"):
        apply_patch(tree, GOOD.replace("line 1", "wrong"))
    assert trees.tree_digest(tree) == before


def test_paths_are_those_of_headers_and_not_of_lines_that_look_like_them() -> None:
    patch = (
        "diff --git a/schema.sql b/schema.sql\n--- a/schema.sql\n+++ b/schema.sql\n@@ -1,3 +1,3 @@\n"
        " select 1;\n--- a/comment in sql\n+++ b/other comment\n\n"
        "--- a/sub/old.py\t2020-01-01 00:00:00\n+++ b/sub/new.py\t2020-01-01 00:00:00\n@@ -1 +1 @@\n-a\n+b\n-- \n2.39\n"
    )
    assert patch_paths(patch) == ("schema.sql", "sub/new.py", "sub/old.py")


def test_paths_of_renames_modes_binaries_and_quoted_names() -> None:
    patch = (
        "diff --git a/old name.py b/new name.py\nsimilarity index 100%\n"
        "rename from old name.py\nrename to new name.py\n"
        "diff --git a/run it.sh b/run it.sh\nold mode 100644\nnew mode 100755\n"
        "diff --git a/x.png b/x.png\nindex 1..2 100644\nGIT binary patch\nliteral 0\nHcmV?d00001\n\n"
        'diff --git "a/\\303\\274.py" "b/\\303\\274.py"\n'
        '--- "a/\\303\\274.py"\n+++ "b/\\303\\274.py"\n@@ -1 +1 @@\n-a\n+b\n'
        "diff --git a/gone.py b/gone.py\ndeleted file mode 100644\n--- a/gone.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
    )
    assert patch_paths(patch) == ("gone.py", "new name.py", "old name.py", "run it.sh", "x.png", "ü.py")


def test_paths_agree_with_another_parser_on_what_that_can_read(tree: Path) -> None:
    patch = GOOD + diff(CODE, CODE + "x\n", "code.py") + "--- /dev/null\n+++ b/a b.txt\n@@ -0,0 +1 @@\n+new\n"
    assert patch_paths(patch) == tuple(sorted(file.path for file in unidiff.PatchSet(patch)))
