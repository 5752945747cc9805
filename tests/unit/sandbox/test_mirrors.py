import hashlib
import os
import subprocess
from pathlib import Path

import pytest

from patchperf.config import Repositories
from patchperf.errors import InputError, MachineError
from patchperf.sandbox.mirrors import commit_tree, file_at, mirror, missing_commits

IDENTITY = {f"GIT_{role}_{what}": "someone" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def git(folder: Path, *arguments: str) -> str:
    quiet = {**os.environ, **IDENTITY, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.check_output(["git", "-C", str(folder), *arguments], env=quiet, text=True).strip()


def repository(folder: Path, *, bare: bool = False) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main", *(["--bare"] if bare else []))
    return folder


def add_commit(folder: Path, text: str) -> str:
    (folder / "file.txt").write_text(text)
    git(folder, "add", "file.txt")
    git(folder, "commit", "--quiet", "-m", text)
    return git(folder, "rev-parse", "HEAD")


def files(folder: Path, contents: dict[str, bytes]) -> Path:
    for name, content in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize("name", ["psf__requests.git", "psf__requests", "requests.git"])
def test_a_bare_mirror_is_found_under_each_of_its_names(tmp_path: Path, name: str) -> None:
    bare = repository(tmp_path / "mirrors" / name, bare=True)
    found = mirror("psf/requests", Repositories(mirrors="mirrors"), (tmp_path / "other", tmp_path), tmp_path / "cache")
    assert found == bare


def test_of_a_work_tree_in_the_folder_its_git_directory_is_taken(tmp_path: Path) -> None:
    repository(tmp_path / "psf__requests")
    found = mirror("psf/requests", Repositories(mirrors=str(tmp_path)), (tmp_path,), tmp_path / "cache")
    assert found == tmp_path / "psf__requests" / ".git"


def test_a_missing_mirror_is_reported_with_the_folder_and_the_names_tried(tmp_path: Path) -> None:
    files(tmp_path, {"psf__requests/readme.txt": b"no repository"})
    with pytest.raises(InputError) as raised:
        mirror("psf/requests", Repositories(mirrors=str(tmp_path)), (tmp_path,), tmp_path / "cache")
    assert str(raised.value) == (
        f"psf/requests: no git repository in {tmp_path} (repositories.mirrors); "
        "tried psf__requests.git, psf__requests, requests.git: "
        "put a bare clone there, or list its instances under exclude"
    )


def test_missing_commits_keeps_only_what_is_no_commit_of_the_repository(tmp_path: Path) -> None:
    work = repository(tmp_path / "work")
    first, second = add_commit(work, "one"), add_commit(work, "two")
    blob = git(work, "rev-parse", "HEAD:file.txt")
    absent = "0123456789" * 4
    assert missing_commits(work / ".git", [absent, first, blob, second, "no such thing"]) == [
        absent,
        blob,
        "no such thing",
    ]
    assert missing_commits(work / ".git", []) == []


def test_gits_own_variables_in_our_environment_lead_nothing_astray(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = repository(tmp_path / "work")
    commit = add_commit(work, "one")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(tmp_path / "elsewhere"))
    assert missing_commits(work / ".git", [commit]) == []


def test_a_file_is_read_at_a_commit_and_absent_ones_and_folders_are_none(tmp_path: Path) -> None:
    work = repository(tmp_path / "work")
    first = add_commit(work, "naïve\n")
    add_commit(work, "later\n")
    files(work, {"folder/x": b"x"})
    git(work, "add", ".")
    git(work, "commit", "--quiet", "-m", "folder")
    assert file_at(work / ".git", first, "file.txt") == "naïve\n"
    assert file_at(work / ".git", first, "folder/x") is None
    assert file_at(work / ".git", "main", "folder") is None
    assert file_at(work / ".git", "0" * 40, "file.txt") is None


def test_a_url_is_cloned_once_and_asked_again_only_for_a_missing_commit(tmp_path: Path) -> None:
    work = repository(tmp_path / "remotes" / "psf" / "requests")
    first = add_commit(work, "one")
    settings, cache = Repositories(url=f"file://{tmp_path}/remotes/{{repo}}"), tmp_path / "cache"
    clone = mirror("psf/requests", settings, (tmp_path,), cache, [first])
    assert git(clone, "rev-parse", "--is-bare-repository") == "true"
    assert missing_commits(clone, [first]) == []

    second = add_commit(work, "two")
    assert missing_commits(mirror("psf/requests", settings, (tmp_path,), cache, [first]), [second]) == [second]
    assert missing_commits(mirror("psf/requests", settings, (tmp_path,), cache, [first, second]), [second]) == []


def test_a_fetch_keeps_commits_that_the_remote_has_dropped(tmp_path: Path) -> None:
    work = repository(tmp_path / "remotes" / "psf" / "requests")
    base = add_commit(work, "one")
    dropped = add_commit(work, "two")
    settings, cache = Repositories(url=f"file://{tmp_path}/remotes/{{repo}}"), tmp_path / "cache"
    clone = mirror("psf/requests", settings, (tmp_path,), cache, [dropped])
    git(work, "reset", "--quiet", "--hard", base)
    fresh = add_commit(work, "other two")
    mirror("psf/requests", settings, (tmp_path,), cache, [fresh])
    assert missing_commits(clone, [base, dropped, fresh]) == []


def test_a_commit_that_no_branch_reaches_is_asked_for_by_its_id(tmp_path: Path) -> None:
    work = repository(tmp_path / "remotes" / "psf" / "requests")
    base = add_commit(work, "one")
    hidden = add_commit(work, "two")
    git(work, "reset", "--quiet", "--hard", base)
    git(work, "config", "uploadpack.allowAnySHA1InWant", "true")
    settings = Repositories(url=f"file://{tmp_path}/remotes/{{repo}}")
    clone = mirror("psf/requests", settings, (tmp_path,), tmp_path / "cache", [hidden])
    assert missing_commits(clone, [hidden]) == []


def test_a_clone_cut_off_half_way_is_started_again(tmp_path: Path) -> None:
    work = repository(tmp_path / "remotes" / "psf" / "requests")
    commit = add_commit(work, "one")
    files(tmp_path / "cache" / "mirrors" / "psf__requests.draft", {"HEAD": b"half", "objects/pack/tmp": b"a"})
    clone = mirror("psf/requests", Repositories(url=f"{tmp_path}/remotes/{{repo}}"), (tmp_path,), tmp_path / "cache")
    assert missing_commits(clone, [commit]) == []


def test_a_url_that_does_not_answer_is_reported_with_gits_words(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"psf/requests: .*/nowhere/psf/requests \(repositories\.url\): fatal: .*exist"
    ):
        mirror("psf/requests", Repositories(url=f"{tmp_path}/nowhere/{{repo}}"), (tmp_path,), tmp_path / "cache")


SOURCE = {
    "pkg/__init__.py": b"",
    "pkg/a.py": b"x = 1\r\n",
    ".gitignore": b"*.log\nbuild/\n",
    "build/kept.log": b"kept\n",
}


def test_a_trees_commit_is_the_one_that_the_git_object_format_prescribes(tmp_path: Path) -> None:
    tree = files(tmp_path / "tree", {"a.txt": b"hello\n"})
    bare = commit_tree(tree, tmp_path / "tree.git")

    def object_id(kind: str, content: bytes) -> bytes:
        return hashlib.sha1(f"{kind} {len(content)}\0".encode() + content).digest()

    folder = object_id("tree", b"100644 a.txt\0" + object_id("blob", b"hello\n"))
    who = "patchperf <patchperf@localhost> 946684800 +0000"
    text = f"tree {folder.hex()}\nauthor {who}\ncommitter {who}\n\nSource tree\n"
    assert git(bare, "rev-parse", "main") == object_id("commit", text.encode()).hex()


def test_a_trees_commit_depends_on_its_content_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = git(commit_tree(files(tmp_path / "one", SOURCE), tmp_path / "one.git"), "rev-parse", "main")
    home = files(
        tmp_path / "home",
        {
            ".gitconfig": b"[user]\nname = me\n[core]\nautocrlf = true\nexcludesFile = ~/ignore\n[i18n]\n"
            b"commitEncoding = latin1\n[commit]\ngpgSign = true\n",
            "ignore": b"*.py\n",
        },
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_AUTHOR_NAME", "somebody else")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    other = files(tmp_path / "elsewhere" / "two", dict(reversed(SOURCE.items())))
    os.utime(other / "pkg" / "a.py", (0, 0))
    assert git(commit_tree(other, tmp_path / "two.git"), "rev-parse", "main") == first


def test_every_file_is_in_the_commit_byte_for_byte_even_ignored_ones(tmp_path: Path) -> None:
    attributes = {".gitattributes": b"*.py text eol=lf\n* ident\n", "id.txt": b"$Id: kept $\n"}
    bare = commit_tree(files(tmp_path / "tree", {**SOURCE, **attributes}), tmp_path / "tree.git")
    listed = git(bare, "ls-tree", "-r", "--name-only", "main").splitlines()
    assert set(listed) == {*SOURCE, *attributes}
    for name, content in {**SOURCE, **attributes}.items():
        stored = subprocess.check_output(["git", f"--git-dir={bare}", "cat-file", "blob", f"main:{name}"])
        assert stored == content


def test_executable_bits_and_symbolic_links_are_kept(tmp_path: Path) -> None:
    tree = files(tmp_path / "tree", {"bin/test": b"#!/bin/sh\n", "plain": b""})
    (tree / "bin" / "test").chmod(0o700)
    (tree / "link").symlink_to("plain")
    modes = git(commit_tree(tree, tmp_path / "tree.git"), "ls-tree", "-r", "--format=%(objectmode) %(path)", "main")
    assert modes.splitlines() == ["100755 bin/test", "120000 link", "100644 plain"]


def test_bytecode_that_a_run_left_behind_does_not_change_the_commit(tmp_path: Path) -> None:
    tree = files(tmp_path / "tree", SOURCE)
    before = git(commit_tree(tree, tmp_path / "tree.git"), "rev-parse", "main")
    files(tree, {"__pycache__/a.pyc": b"1", "pkg/__pycache__/a.pyc": b"2"})
    assert git(commit_tree(tree, tmp_path / "tree.git"), "rev-parse", "main") == before


def test_a_changed_tree_moves_the_branch_and_keeps_the_earlier_commit(tmp_path: Path) -> None:
    tree, bare = files(tmp_path / "trees" / "my__project", SOURCE), tmp_path / "cache" / "trees" / "my__project.git"
    settings = Repositories(trees="trees")
    assert mirror("my/project", settings, (tmp_path,), tmp_path / "cache") == bare
    before = git(bare, "rev-parse", "main")
    (tree / "pkg" / "a.py").unlink()
    mirror("my/project", settings, (tmp_path,), tmp_path / "cache")
    after = git(bare, "rev-parse", "main")
    assert after != before
    assert git(bare, "rev-list", "--count", "main") == "1"
    git(bare, "gc", "--quiet", "--prune=now")
    assert missing_commits(bare, [before, after]) == []


def test_locks_that_a_killed_run_left_in_the_repository_do_not_block_the_next(tmp_path: Path) -> None:
    tree, bare = files(tmp_path / "tree", SOURCE), tmp_path / "tree.git"
    commit = git(commit_tree(tree, bare), "rev-parse", "main")
    for left in ("refs/heads/main.lock", f"refs/trees/{commit}.lock"):
        (bare / left).touch()
    (tree / "more").write_text("more")
    assert git(commit_tree(tree, bare), "rev-parse", "main") != commit


def test_trees_that_cannot_be_committed_are_reported(tmp_path: Path) -> None:
    settings = Repositories(trees=str(tmp_path))
    with pytest.raises(InputError, match=r"a/b: no source tree a__b in .* \(repositories\.trees\)"):
        mirror("a/b", settings, (tmp_path,), tmp_path / "cache")
    (tmp_path / "a__b").mkdir()
    with pytest.raises(InputError, match=r"source tree .*/a__b: no files in it"):
        mirror("a/b", settings, (tmp_path,), tmp_path / "cache")
    files(repository(tmp_path / "a__b" / "vendored"), {"x": b"x"})
    with pytest.raises(InputError, match=r"a__b/vendored is a git repository of its own; remove its \.git"):
        mirror("a/b", settings, (tmp_path,), tmp_path / "cache")


def test_without_git_the_error_says_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = files(tmp_path / "tree", SOURCE)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MachineError, match="git is not installed"):
        commit_tree(tree, tmp_path / "tree.git")
