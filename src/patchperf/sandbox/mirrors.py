"""Bare git repositories with the base commits: a folder of mirrors, clones, or plain source trees made into one."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from patchperf import config
from patchperf.errors import InputError, MachineError
from patchperf.sandbox.locks import exclusive

BRANCH = "main"
ATTRIBUTES = "* -text -eol -filter -ident -working-tree-encoding\n"
TREE_COMMIT = {
    f"GIT_{role}_{what}": value
    for role in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "patchperf"), ("EMAIL", "patchperf@localhost"), ("DATE", "2000-01-01T00:00:00Z"))
}
TREE_MESSAGE = "Source tree"
UNCONFIGURED = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}


def mirror(
    repo: str,
    repositories: config.Repositories | None,
    folders: tuple[Path, ...],
    cache: Path,
    commits: Sequence[str] = (),
) -> Path:
    """The git directory of ``repo`` ("owner/name"), absolute; see ``config.Repositories`` for the three origins.

    A clone URL is cloned once into ``cache``/mirrors, and asked again when the clone lacks one of ``commits``; whether
    all are there then is ``missing_commits``' to say. A source tree is committed into ``cache``/trees, on branch
    ``main``.

    Raises InputError that says where was looked, or what git says about the URL.
    """
    if repositories is None:
        raise InputError(f"{repo}: repositories is not set")
    if repositories.mirrors is not None:
        return _in_folder(repo, config.resolve_path(repositories.mirrors, folders).absolute())
    if repositories.url is not None:
        return _clone(repo, repositories.url.replace("{repo}", repo), cache.absolute() / "mirrors", commits)
    return commit_tree(source_tree(repo, repositories, folders), cache.absolute() / "trees" / f"{_file_name(repo)}.git")


def missing_commits(mirror: Path, commits: Sequence[str]) -> list[str]:
    """Those of ``commits`` that are no commits of the git directory ``mirror``, in their order."""
    if not commits:
        return []
    asked = "".join(f"{commit}^{{commit}}\n" for commit in commits)
    answers = _git(mirror, "cat-file", "--batch-check", stdin=asked, environment={"GIT_NO_LAZY_FETCH": "1"})
    return [
        commit
        for commit, answer in zip(commits, answers.splitlines(), strict=True)
        if answer.split()[1:2] != ["commit"]
    ]


def file_at(mirror: Path, commit: str, path: str) -> str | None:
    """The text of a file at a commit, bytes that are not UTF-8 as surrogates; None where there is no such file."""
    name = f"{commit}:{path}"
    kind = _git(mirror, "cat-file", "--batch-check=%(objecttype)", stdin=f"{name}\n").strip()
    return _git(mirror, "cat-file", "blob", name) if kind == "blob" else None


def source_tree(repo: str, repositories: config.Repositories, folders: tuple[Path, ...]) -> Path:
    """The folder ``<owner>__<name>`` below ``repositories.trees``; raises InputError if it is not there."""
    if repositories.trees is None:
        raise InputError(f"{repo}: repositories.trees is not set")
    tree = config.resolve_path(repositories.trees, folders).absolute() / _file_name(repo)
    if not tree.is_dir():
        raise InputError(
            f"{repo}: no source tree {tree.name} in {tree.parent} (repositories.trees): put it there, or list its "
            "instances under exclude"
        )
    return tree


def commit_tree(tree: Path, mirror: Path) -> Path:
    """Commit a folder as it is into the bare repository ``mirror``, made if need be; its path again.

    The commit's id depends on the files' paths, contents and executable bits alone: ignored files count, bytes are
    kept, author, date and message are fixed, no configuration of the user matters. Only ``__pycache__`` folders are
    left out, for they come and go with every run. An unchanged tree gives the commit that is there; a changed one a
    new commit without parents, to which the branch moves. Earlier commits stay.

    Raises InputError if the folder is empty or holds a git repository below its root.
    """
    for nested in tree.glob("*/**/.git"):
        raise InputError(f"source tree {tree}: {nested.parent} is a git repository of its own; remove its .git")
    with exclusive(mirror.with_suffix(".lock")), tempfile.TemporaryDirectory(prefix="patchperf-") as scratch:
        if not mirror.exists():
            draft = mirror.with_suffix(".draft")
            _remove(draft)
            _git(None, "init", "--quiet", "--bare", "--template=", f"--initial-branch={BRANCH}", str(draft))
            (draft / "info").mkdir(exist_ok=True)
            (draft / "info" / "attributes").write_text(ATTRIBUTES, "utf-8")
            draft.replace(mirror)
        index = {"GIT_INDEX_FILE": str(Path(scratch, "index")), "GIT_WORK_TREE": str(tree)}
        settings = ("-c", "core.fileMode=true", "-c", "core.autocrlf=false", "-c", "core.symlinks=true")
        everything = (".", ":(exclude,glob)**/__pycache__/**")
        _git(mirror, *settings, "add", "--all", "--force", "--", *everything, environment=index, folder=tree)
        if not _git(mirror, "ls-files", environment=index):
            raise InputError(f"source tree {tree}: no files in it")
        content = _git(mirror, "write-tree", environment=index).strip()
        commit = _git(mirror, "commit-tree", content, "-m", TREE_MESSAGE, environment=TREE_COMMIT).strip()
        for reference in (f"refs/heads/{BRANCH}", f"refs/trees/{commit}"):
            (mirror / f"{reference}.lock").unlink(missing_ok=True)
            _git(mirror, "update-ref", reference, commit)
    return mirror


def _in_folder(repo: str, folder: Path) -> Path:
    names = (f"{_file_name(repo)}.git", _file_name(repo), f"{repo.rpartition('/')[2]}.git")
    for name in names:
        for candidate in (folder / name, folder / name / ".git"):
            if (candidate / "objects").is_dir() and (candidate / "HEAD").is_file():
                return candidate
    raise InputError(
        f"{repo}: no git repository in {folder} (repositories.mirrors); tried {', '.join(names)}: put "
        "a bare clone there, or list its instances under exclude"
    )


def _clone(repo: str, url: str, home: Path, commits: Sequence[str]) -> Path:
    clone = home / f"{_file_name(repo)}.git"
    if clone.exists() and not missing_commits(clone, commits):
        return clone
    with exclusive(clone.with_suffix(".lock")) as lock:
        if not clone.exists():
            draft = clone.with_suffix(".draft")
            _remove(draft)
            _remote(repo, url, lock, "clone", "--quiet", "--mirror", "--", url, str(draft))
            draft.replace(clone)
        elif missing_commits(clone, commits):
            _remote(
                repo, url, lock, f"--git-dir={clone}", "fetch", "--quiet", "--no-auto-gc", "--", url, "+refs/*:refs/*"
            )
        for commit in missing_commits(clone, commits):
            _fetch_by_id(clone, url, commit, lock)
    return clone


def _fetch_by_id(clone: Path, url: str, commit: str, lock: int) -> None:
    """Ask for a commit that no branch or tag reaches, such as a pull request's; servers may refuse."""
    _run(
        ("git", f"--git-dir={clone}", "fetch", "--quiet", "--no-auto-gc", "--", url, f"{commit}:refs/commits/{commit}"),
        environment=_outward(),
        lock=lock,
    )


def _remote(repo: str, url: str, lock: int, *arguments: str) -> None:
    done = _run(("git", *arguments), environment=_outward(), lock=lock)
    if done.returncode:
        raise InputError(
            f"{repo}: {url} (repositories.url): {_deciding_line(done.stderr)}; check the URL and the connection"
        )


def _git(
    mirror: Path | None,
    *arguments: str,
    stdin: str = "",
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> str:
    """A git command on our own files: no configuration but the repository's, no ownership check on a named one."""
    where = () if mirror is None else (f"--git-dir={mirror}",)
    done = _run(
        ("git", *where, *arguments), {**_inherited(), **UNCONFIGURED, **(environment or {})}, stdin=stdin, folder=folder
    )
    if done.returncode:
        raise MachineError(f"{mirror or arguments[-1]}: git {arguments[0]}: {_deciding_line(done.stderr)}")
    return done.stdout


def _run(
    command: Sequence[str],
    environment: Mapping[str, str],
    stdin: str = "",
    folder: Path | None = None,
    lock: int | None = None,
) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command,
            env=environment,
            cwd=folder,
            input=stdin,
            pass_fds=() if lock is None else (lock,),
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            check=False,
        )
    except FileNotFoundError:
        raise MachineError("git is not installed or not on PATH; install it") from None


def _inherited() -> dict[str, str]:
    """Our environment without git's own variables: a hook's GIT_DIR would lead every command astray."""
    return {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | {"LC_ALL": "C"}


def _outward() -> dict[str, str]:
    """For clones: the user's configuration, credentials and GIT_SSH… stay in force, but nothing asks for a password."""
    local = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_NAMESPACE")
    kept = {name: value for name, value in os.environ.items() if name not in local}
    return kept | {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


def _deciding_line(stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    fatal = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return (fatal or lines or ["git ended with an error and no word"])[0]


def _file_name(repo: str) -> str:
    return repo.replace("/", "__")


def _remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
