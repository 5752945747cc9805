"""Trees at a base commit: what they hold, what has changed, and what untrusted code in them cannot do to the host."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from patchperf.errors import InputError
from patchperf.sandbox import trees
from patchperf.sandbox.trees import Change

GIT = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{who}_{what}": "t@t" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=folder, env=GIT, check=True, capture_output=True, text=True
    ).stdout.strip()


def populate(folder: Path) -> None:
    (folder / "package" / "deep").mkdir(parents=True)
    (folder / "package" / "module.py").write_text("x = 1\n")
    (folder / "package" / "deep" / "dos.txt").write_bytes(b"a\r\nb\r\n")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "link").symlink_to("package/module.py")
    (folder / "näme with\nnewline").write_text("odd\n")
    (folder / ".gitattributes").write_text("*.txt text eol=lf\n*.py filter=evil ident\n")


@pytest.fixture(scope="module")
def mirror(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two commits: ``first``, and ``second`` which has changed, added and dropped a file."""
    work = tmp_path_factory.mktemp("origin")
    git(work, "init", "-q", "-b", "main")
    populate(work)
    (work / ".git" / "info" / "attributes").write_text("* -text -ident -filter\n")
    git(work, "add", "-A")
    git(work, "commit", "-q", "-m", "first")
    git(work, "tag", "first")
    (work / "package" / "module.py").write_text("x = 2\n")
    (work / "later.py").write_text("later = True\n")
    git(work, "rm", "-q", "run.sh")
    git(work, "add", "package/module.py", "later.py")
    git(work, "commit", "-q", "-m", "second")
    git(work, "tag", "second")
    bare = work.with_name("origin.git")
    git(work, "clone", "-q", "--mirror", str(work), str(bare))
    return bare


@pytest.fixture
def tree(mirror: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "trees" / "tree"
    trees.checkout(mirror, git(mirror, "rev-parse", "first"), folder)
    return folder


def files(folder: Path) -> dict[str, tuple[str, bytes]]:
    """Kind and bytes of all below a folder, read without git."""
    found = {}
    for path in folder.rglob("*"):
        if path.is_symlink():
            found[str(path.relative_to(folder))] = ("link", os.fsencode(path.readlink()))
        elif path.is_file():
            kind = "program" if path.stat().st_mode & 0o100 else "file"
            found[str(path.relative_to(folder))] = (kind, path.read_bytes())
    return found


def test_a_checkout_holds_the_commits_bytes_and_no_git_folder(tree: Path, tmp_path: Path) -> None:
    expected = tmp_path / "expected"
    populate(expected)
    assert files(tree) == files(expected)
    assert not (tree / ".git").exists()


def test_a_checkout_shares_the_mirrors_objects_and_leaves_it_alone(tree: Path, mirror: Path) -> None:
    objects = [path for path in (trees.git_directory(tree) / "objects").rglob("*") if path.is_file()]
    assert [path.name for path in objects] == ["alternates"]
    git(mirror, "fsck", "--strict")
    assert trees.base_commit(tree) == git(mirror, "rev-parse", "first")


def test_a_missing_commit_names_mirror_and_commit_and_leaves_nothing(mirror: Path, tmp_path: Path) -> None:
    for commit in ("0" * 40, "no-such-branch", "--help"):
        with pytest.raises(InputError) as raised:
            trees.checkout(mirror, commit, tmp_path / "tree")
        assert str(mirror) in str(raised.value)
        assert commit in str(raised.value)
        assert "\n" not in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_mirror_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not a git repository"):
        trees.checkout(tmp_path, "0" * 40, tmp_path / "tree")


def test_a_mirror_that_lacks_a_file_of_the_commit_is_said(mirror: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.git"
    git(tmp_path, "clone", "-q", "--mirror", "--no-hardlinks", str(mirror), str(broken))
    blob = git(broken, "rev-parse", "first:run.sh")
    loose = broken / "objects" / blob[:2] / blob[2:]
    loose.unlink()
    with pytest.raises(InputError, match=r"cannot be written to .*tree"):
        trees.checkout(broken, git(mirror, "rev-parse", "first"), tmp_path / "tree")
    assert not (tmp_path / "tree").exists()


def test_a_tree_is_replaced_and_a_foreign_folder_is_not(tree: Path, mirror: Path, tmp_path: Path) -> None:
    (tree / "extra").write_text("x")
    trees.checkout(mirror, git(mirror, "rev-parse", "second"), tree)
    assert set(files(tree)) >= {"later.py"}
    assert not (tree / "extra").exists()
    (tmp_path / "mine").mkdir()
    with pytest.raises(InputError, match="not a tree of ours"):
        trees.checkout(mirror, "first", tmp_path / "mine")
    assert (tmp_path / "mine").is_dir()


def test_the_digest_is_the_commits_own_tree_id(tree: Path, mirror: Path) -> None:
    assert trees.tree_digest(tree) == git(mirror, "rev-parse", "first^{tree}")


def test_equal_content_gives_equal_digests_wherever_it_came_from(tree: Path, mirror: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    trees.checkout(mirror, git(mirror, "rev-parse", "second"), other)
    shutil.copytree(tree, tmp_path / "copy", symlinks=True)
    for path in other.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    shutil.copytree(tmp_path / "copy", other, symlinks=True, dirs_exist_ok=True)
    assert trees.tree_digest(other) == trees.tree_digest(tree)


@pytest.mark.parametrize(
    "change",
    [
        lambda tree: (tree / "package" / "module.py").write_text("x = 3\n"),
        lambda tree: (tree / "package" / "module.py").chmod(0o755),
        lambda tree: (tree / "package" / "deep" / "dos.txt").write_bytes(b"a\nb\n"),
        lambda tree: (tree / "run.sh").unlink(),
        lambda tree: (tree / "new file").write_text(""),
        lambda tree: ((tree / "link").unlink(), (tree / "link").write_text("package/module.py")),
        lambda tree: ((tree / "sub").mkdir(), git(tree / "sub", "init", "-q"), (tree / "sub" / "f").write_text("1")),
    ],
)
def test_any_change_of_content_gives_another_digest_and_undoing_it_the_first(
    tree: Path, change: Callable[[Path], object]
) -> None:
    before = trees.tree_digest(tree)
    change(tree)
    assert trees.tree_digest(tree) != before
    trees.reset(tree)
    assert trees.tree_digest(tree) == before


def test_an_edit_that_keeps_size_and_time_is_seen(tree: Path) -> None:
    file = tree / "package" / "module.py"
    before = file.stat()
    with file.open("r+") as stream:
        stream.write("x = 9\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert trees.changed_files(tree) == (Change("package/module.py", "modified"),)


def test_bytecode_caches_and_special_files_do_not_count(tree: Path) -> None:
    before = trees.tree_digest(tree)
    for name in ("package/__pycache__/module.cpython-311.pyc", "old.pyc", ".pytest_cache/v/lastfailed"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("x")
    os.mkfifo(tree / "pipe")
    (tree / "empty").mkdir()
    assert trees.tree_digest(tree) == before
    assert trees.changed_files(tree) == ()
    trees.reset(tree)
    assert not (tree / "package" / "__pycache__").exists()
    assert not (tree / "pipe").exists()


def test_caches_that_the_commit_has_do_count(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "__pycache__").mkdir(parents=True)
    (work / "__pycache__" / "kept.pyc").write_text("1")
    git(work, "init", "-q", "-b", "main")
    git(work, "add", "-A", "-f")
    git(work, "commit", "-q", "-m", "x")
    trees.checkout(work / ".git", git(work, "rev-parse", "HEAD"), tmp_path / "tree")
    (tmp_path / "tree" / "__pycache__" / "kept.pyc").write_text("2")
    (tmp_path / "tree" / "__pycache__" / "other.pyc").write_text("2")
    assert trees.changed_files(tmp_path / "tree") == (Change("__pycache__/kept.pyc", "modified"),)


def test_changed_files_tells_added_modified_and_deleted(tree: Path) -> None:
    (tree / "package" / "module.py").write_text("x = 3\n")
    (tree / "run.sh").unlink()
    (tree / "ünd").mkdir()
    (tree / "ünd" / "neu.py").write_text("")
    (tree / "link").unlink()
    (tree / "link").write_text("no link any more")
    assert trees.changed_files(tree) == (
        Change("link", "modified"),
        Change("package/module.py", "modified"),
        Change("run.sh", "deleted"),
        Change("ünd/neu.py", "added"),
    )


def test_a_file_that_became_a_folder_and_a_folder_that_became_a_file_or_link(tree: Path, tmp_path: Path) -> None:
    (tree / "run.sh").unlink()
    (tree / "run.sh").mkdir()
    (tree / "run.sh" / "inner").write_text("x")
    shutil.move(tree / "package", tmp_path / "moved")
    (tree / "package").symlink_to(tmp_path / "moved")
    assert {(change.path, change.status) for change in trees.changed_files(tree)} == {
        ("run.sh", "deleted"),
        ("run.sh/inner", "added"),
        ("package", "added"),
        ("package/module.py", "deleted"),
        ("package/deep/dos.txt", "deleted"),
    }
    trees.reset(tree)
    assert trees.changed_files(tree) == ()
    assert (tmp_path / "moved" / "module.py").read_text() == "x = 1\n"


def test_restore_takes_files_from_a_commit_and_removes_those_it_lacks(tree: Path, mirror: Path) -> None:
    second = git(mirror, "rev-parse", "second")
    (tree / "package" / "module.py").write_text("patched\n")
    (tree / "extra.py").write_text("stays")
    (tree / "test_new.py").write_text("forged")
    trees.restore(tree, second, ["package/module.py", "later.py", "run.sh", "test_new.py", "never/was.py"])
    assert (tree / "package" / "module.py").read_text() == "x = 2\n"
    assert (tree / "later.py").read_text() == "later = True\n"
    assert not (tree / "run.sh").exists()
    assert not (tree / "test_new.py").exists()
    assert (tree / "extra.py").read_text() == "stays"
    trees.restore(tree, trees.base_commit(tree), ["package/module.py", "later.py", "run.sh"])
    assert trees.changed_files(tree) == (Change("extra.py", "added"),)


def test_restore_does_not_follow_links_out_of_the_tree(tree: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    for name in ("module.py", "victim.py"):
        (outside / name).write_text("untouched")
    shutil.rmtree(tree / "package")
    (tree / "package").symlink_to(outside)
    trees.restore(tree, trees.base_commit(tree), ["package/victim.py"])
    assert (outside / "victim.py").read_text() == "untouched"
    trees.restore(tree, trees.base_commit(tree), ["package/module.py"])
    assert (tree / "package" / "module.py").read_text() == "x = 1\n"
    assert (outside / "module.py").read_text() == "untouched"


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "", ".", "nul\0", "\ud800"])
def test_restore_refuses_paths_that_are_not_in_the_tree(tree: Path, path: str) -> None:
    with pytest.raises(InputError, match="no path inside the tree"):
        trees.restore(tree, trees.base_commit(tree), [path])


def test_restore_from_a_commit_that_is_not_there_is_one_clear_line(tree: Path) -> None:
    with pytest.raises(InputError, match="files of commit 1234567"):
        trees.restore(tree, "1234567", ["run.sh"])


def test_base_bytes_are_the_commits(tree: Path) -> None:
    (tree / "package" / "deep" / "dos.txt").write_text("changed")
    assert trees.base_bytes(tree, "package/deep/dos.txt") == b"a\r\nb\r\n"
    assert trees.base_bytes(tree, "link") == b"package/module.py"
    assert trees.base_bytes(tree, "näme with\nnewline") == b"odd\n"
    assert [trees.base_bytes(tree, path) for path in ("package", "absent", ":(glob)*", "run*")] == [None] * 4


def test_git_folders_that_code_leaves_in_the_tree_are_not_believed(tree: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    alarm = tmp_path / "alarm"
    trap.write_text(f"#!/bin/sh\ntouch {alarm}\n")
    trap.chmod(0o755)
    for folder in (tree, tree / "package", tree / "fresh"):
        folder.mkdir(exist_ok=True)
        git(folder, "init", "-q")
        (folder / "f.txt").write_text("x")
        git(folder, "add", "f.txt")
        git(folder, "commit", "-q", "-m", "x")
        for name in ("core.fsmonitor", "core.sshCommand", "filter.evil.clean", "filter.evil.smudge", "diff.external"):
            git(folder, "config", name, str(trap))
        git(folder, "config", "core.hooksPath", str(tmp_path))
    (tree / ".gitattributes").write_text("* filter=evil diff=evil text working-tree-encoding=UTF-16\n")
    (tree / "run.sh").write_text("#!/bin/sh\necho\n")
    added = {"f.txt", "package/f.txt", "fresh/f.txt"}
    assert {change.path for change in trees.changed_files(tree)} == added | {".gitattributes", "run.sh"}
    trees.restore(tree, trees.base_commit(tree), ["run.sh"])
    trees.reset(tree)
    assert trees.changed_files(tree) == ()
    assert list(tree.rglob(".git")) == []
    assert not alarm.exists()


def test_the_users_configuration_and_gits_variables_change_nothing(
    tree: Path, mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".gitconfig").write_text("[core]\nautocrlf = true\nfileMode = false\nexcludesFile = /x\n[bad\n")
    for name, value in {"HOME": str(tmp_path), "GIT_DIR": "/nowhere", "GIT_INDEX_FILE": "/nowhere/index"}.items():
        monkeypatch.setenv(name, value)
    trees.checkout(mirror, trees.base_commit(tree), tmp_path / "again")
    assert trees.tree_digest(tmp_path / "again") == trees.tree_digest(tree)


def test_a_submodule_of_the_base_stays_as_it_is(mirror: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    git(tmp_path, "clone", "-q", str(mirror), str(work))
    git(work, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},vendored")
    git(work, "commit", "-q", "-m", "with a submodule")
    trees.checkout(work / ".git", git(work, "rev-parse", "HEAD"), tmp_path / "tree")
    assert (tmp_path / "tree" / "vendored").is_dir()
    assert trees.changed_files(tmp_path / "tree") == ()
    trees.reset(tmp_path / "tree")
    assert (tmp_path / "tree" / "vendored").is_dir()


def test_reset_and_remove_cope_with_hostile_folders(tree: Path) -> None:
    def spoil() -> None:
        deep = tree / "deep"
        deep.mkdir()
        here = os.open(deep, os.O_RDONLY)
        for _ in range(25):
            os.mkdir("d" * 200, dir_fd=here)
            below = os.open("d" * 200, os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        os.close(here)
        (tree / "locked").mkdir()
        (tree / "locked" / "file").write_text("x")
        (tree / "package" / "module.py").chmod(0)
        (tree / "package").chmod(0)
        (tree / "locked").chmod(0)

    spoil()
    with pytest.raises(InputError, match="File name too long"):
        trees.tree_digest(tree)
    trees.reset(tree)
    assert trees.changed_files(tree) == ()
    spoil()
    trees.remove(tree)
    assert list(tree.parent.iterdir()) == []


def test_an_ordinary_user_can_reset_and_remove_what_was_locked(mirror: Path) -> None:
    """As root nothing is locked, so this part runs as somebody else."""
    context = multiprocessing.get_context("fork")
    parent, child = context.Pipe()
    commit = git(mirror, "rev-parse", "first")
    copy = Path(tempfile.mkdtemp(prefix="patchperf-"))
    try:
        shutil.copytree(mirror, copy / "mirror.git")
        (copy / "trees").mkdir()
        for folder in (copy, copy / "trees"):
            folder.chmod(0o777)

        def be_ordinary() -> None:
            if os.getuid() == 0:
                os.setresuid(65534, 65534, 65534)
            tree = copy / "trees" / "tree"
            trees.checkout(copy / "mirror.git", commit, tree)
            (tree / "package" / "module.py").write_text("x = 3\n")
            (tree / "package" / "module.py").chmod(0)
            (tree / "package").chmod(0)
            (tree / "new").mkdir()
            (tree / "new" / "file").write_text("x")
            (tree / "new").chmod(0o500)
            changes = [(change.path, change.status) for change in trees.changed_files(tree)]
            (tree / "package").chmod(0)
            trees.reset(tree)
            clean = trees.changed_files(tree) == ()
            (tree / "package").chmod(0)
            trees.remove(tree)
            child.send((changes, clean, tree.exists()))

        process = context.Process(target=be_ordinary)
        process.start()
        assert parent.poll(30)
        assert parent.recv() == ([("new/file", "added"), ("package/module.py", "modified")], True, False)
        process.join()
    finally:
        shutil.rmtree(copy)
