"""Source trees: plain folders at a base commit, compared and put back by a git directory that stands outside of them.

A tree ``T`` holds files alone. What git knows of it lies in ``T.git`` beside it, so that code which runs in the tree,
and may write anything there, can neither see nor change what the host's git believes: a ``.git`` inside is ignored.
All functions here take the tree's paths relative to its root, and no link inside the tree is followed.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from patchperf.errors import InputError
from patchperf.sandbox.files import erase
from patchperf.sandbox.git import ATTRIBUTES, first_error, git, run_git

CACHE_FOLDERS = frozenset({b"__pycache__", b".pytest_cache", b".mypy_cache", b".ruff_cache", b".hypothesis"})
CACHE_SUFFIXES = (b".pyc", b".pyo")
_GITLINK = b"160000"
_UNTRACKABLE_LINKS = frozenset({b".git", b".gitmodules"})
_STATUS: dict[bytes, Literal["added", "modified", "deleted"]] = {b"A": "added", b"M": "modified", b"D": "deleted"}


@dataclass(frozen=True, order=True)
class Change:
    """A path whose content, kind or executable bit differs from the base commit."""

    path: str
    status: Literal["added", "modified", "deleted"]


def git_directory(tree: Path) -> Path:
    """Where git's side of a tree is."""
    return tree.with_name(f"{tree.name}.git")


def checkout(mirror: Path, commit: str, tree: Path) -> None:
    """Make ``tree`` from a commit (its id) of the bare repository ``mirror``; a tree made before at this place goes.

    Objects are shared with the mirror, which has to stay. Files get the bytes of the commit: no line end or keyword
    conversion. Raises InputError if the mirror lacks the commit or a file of it, or if something else is in the way.
    """
    ours = git_directory(tree)
    if tree.exists() and not ours.exists():
        raise InputError(f"{tree}: there is a folder that is not a tree of ours; remove it or choose another place")
    if not (mirror / "objects").is_dir():
        raise InputError(f"{mirror}: not a git repository; a mirror is a bare clone with an objects folder")
    remove(tree)
    tree.parent.mkdir(parents=True, exist_ok=True)
    try:
        _make_git_directory(ours, mirror)
        found = run_git(ours, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}")
        if found.returncode:
            raise InputError(f"{mirror}: has no commit {commit}; fetch it or correct the instance's base commit")
        (ours / "HEAD").write_bytes(found.stdout)
        tree.mkdir()
        git(ours, "read-tree", "HEAD", index=ours / "index")
        done = run_git(ours, "checkout-index", "--all", "--quiet", "-u", work_tree=tree, index=ours / "index")
        if done.returncode:
            raise InputError(f"{mirror}: commit {commit} cannot be written to {tree}: {first_error(done.stderr)}")
    except BaseException:
        remove(tree)
        raise


def base_commit(tree: Path) -> str:
    """The commit that a tree was made from."""
    head = git_directory(tree) / "HEAD"
    if not head.exists():
        raise InputError(f"{tree}: not a tree of ours: {head} is missing")
    return head.read_text().strip()


def remove(tree: Path) -> None:
    """Remove a tree and git's side of it, whatever they hold; nothing happens if they are not there."""
    erase(tree)
    erase(git_directory(tree))


def reset(tree: Path) -> None:
    """Make a tree equal to its base commit again: all else goes, bytecode and caches too."""
    ours = git_directory(tree)
    with scratch_index(tree) as index:
        make_equal(tree, index)
        index.replace(ours / "index")


def restore(tree: Path, commit: str, paths: Iterable[str]) -> None:
    """Give files the content they have at a commit; those that it does not have are removed.

    Raises InputError for a path that leads out of the tree or a commit that the tree's mirror lacks.
    """
    wanted = [_inside(tree, path) for path in paths]
    with scratch_index(tree) as index:
        if commit != base_commit(tree):
            done = run_git(git_directory(tree), "read-tree", "--end-of-options", commit, index=index)
            if done.returncode:
                raise InputError(f"{tree}: files of commit {commit}: {first_error(done.stderr)}")
        tracked = _entries(tree, index)
        for path in wanted:
            if path not in tracked:
                _unlink(tree, path)
        _write(tree, index, [path for path in wanted if path in tracked])


def tree_digest(tree: Path) -> str:
    """The git tree id of all that a tree holds: paths, bytes, executable bits, links.

    Left out are ``.git``, Python's bytecode and tools' caches (unless the base commit has them), empty folders, and
    what is neither file nor link. Raises InputError for a tree that git cannot describe.
    """
    with scratch_index(tree) as index:
        return snapshot(tree, index)


def changed_files(tree: Path) -> tuple[Change, ...]:
    """What differs from the base commit, sorted by path, with the same things left out as in ``tree_digest``.

    A file that became a link, or the other way round, is modified.
    """
    with scratch_index(tree) as index:
        now = snapshot(tree, index)
    raw = git(git_directory(tree), "diff-tree", "-r", "-z", "--raw", "--no-renames", "HEAD", now)
    fields = raw.split(b"\0")[:-1]
    return tuple(
        sorted(
            Change(os.fsdecode(path), _STATUS[record.split()[4].replace(b"T", b"M")])
            for record, path in zip(fields[::2], fields[1::2], strict=True)
        )
    )


def base_bytes(tree: Path, path: str) -> bytes | None:
    """A file's bytes at the base commit (a link's are its target); None if the commit has no such file."""
    name = os.fsdecode(_inside(tree, path))
    listed = git(git_directory(tree), "ls-tree", "-z", "--full-tree", "HEAD", "--", f":(literal){name}")
    kind, _, blob = listed.partition(b"\t")[0].partition(b" ")[2].partition(b" ")
    return git(git_directory(tree), "cat-file", "blob", blob) if kind == b"blob" else None


@contextmanager
def scratch_index(tree: Path) -> Iterator[Path]:
    """A copy of the base commit's index, to be thrown away.

    It keeps the index's own time, by which git knows the files that may have changed within one tick of the clock.
    """
    base_commit(tree)
    with tempfile.TemporaryDirectory(dir=git_directory(tree)) as folder:
        index = Path(folder, "index")
        shutil.copy2(git_directory(tree) / "index", index)
        yield index


def snapshot(tree: Path, index: Path) -> str:
    """Bring an index up to what the tree holds now; the id of the git tree it stands for."""
    ours = git_directory(tree)
    entries = _entries(tree, index)
    found = set(_content(tree, entries))
    touched = git(
        ours, "diff-files", "-z", "--name-only", "--ignore-submodules=all", work_tree=tree, index=index
    ).split(b"\0")[:-1]
    _feed(tree, index, (p for p, mode in entries.items() if p not in found and mode != _GITLINK), "--force-remove")
    _feed(tree, index, (found - entries.keys()) | (found & set(touched)), "--add", "--replace")
    return git(ours, "write-tree", index=index).decode().strip()


def make_equal(tree: Path, index: Path) -> None:
    """Make a tree hold exactly what an index holds, and bring the index's file times up to that."""
    entries = _entries(tree, index)
    folders = frozenset(parent for path, mode in entries.items() for parent in _parents(path)) | {
        path for path, mode in entries.items() if mode == _GITLINK
    }

    def clear(entry: os.DirEntry[bytes], path: bytes) -> bool:
        is_folder = entry.is_dir(follow_symlinks=False)
        if (path in folders) if is_folder else (path in entries):
            if is_folder:
                _open_up(entry.path, entry.stat(follow_symlinks=False).st_mode)
            return is_folder
        _discard(entry.path, is_folder=is_folder)
        return False

    _open_up(os.fsencode(tree), tree.lstat().st_mode)
    for _ in _walk(os.fsencode(tree), clear):
        pass
    git(git_directory(tree), "checkout-index", "--all", "--force", "--quiet", "-u", work_tree=tree, index=index)


def _make_git_directory(ours: Path, mirror: Path) -> None:
    git(ours, "init", "--quiet", "--bare", "--template=")
    (ours / "info").mkdir(exist_ok=True)
    (ours / "info" / "attributes").write_text(ATTRIBUTES)
    (ours / "objects" / "info").mkdir(exist_ok=True)
    (ours / "objects" / "info" / "alternates").write_bytes(os.fsencode((mirror / "objects").resolve()) + b"\n")


def _entries(tree: Path, index: Path) -> dict[bytes, bytes]:
    """Mode by path of an index."""
    listed = git(git_directory(tree), "ls-files", "--stage", "-z", index=index)
    records = (record.partition(b"\t") for record in listed.split(b"\0")[:-1])
    return {path: about[:6] for about, _, path in records}


def _content(tree: Path, entries: dict[bytes, bytes]) -> Iterator[bytes]:
    """Paths of the files and links that count as content of a tree."""
    kept_caches = frozenset(
        parent for path in entries for parent in _parents(path) if parent.rpartition(b"/")[2] in CACHE_FOLDERS
    )

    is_root = os.geteuid() == 0

    def descend(entry: os.DirEntry[bytes], path: bytes) -> bool:
        name = entry.name.lower()
        left_out = name == b".git" or (name in CACHE_FOLDERS and path not in kept_caches)
        return entry.is_dir(follow_symlinks=False) and not left_out

    for entry, path in _walk(os.fsencode(tree), descend):
        name = entry.name.lower()
        if entry.is_symlink():
            if name not in _UNTRACKABLE_LINKS:
                yield path
        elif entry.is_file(follow_symlinks=False) and name != b".git":
            if name.endswith(CACHE_SUFFIXES) and path not in entries:
                continue
            if not is_root:
                _make_readable(entry)
            yield path


def _make_readable(entry: os.DirEntry[bytes]) -> None:
    mode = entry.stat(follow_symlinks=False).st_mode
    if not mode & stat.S_IRUSR:
        os.chmod(entry.path, stat.S_IMODE(mode) | stat.S_IRUSR)  # noqa: PTH101


def _walk(
    root: bytes, descend: Callable[[os.DirEntry[bytes], bytes], bool]
) -> Iterator[tuple[os.DirEntry[bytes], bytes]]:
    """All entries below a folder with their paths; those for which ``descend`` is true are entered."""
    pending = [b""]
    while pending:
        folder = pending.pop()
        try:
            entries = list(os.scandir(os.path.join(root, folder)))  # noqa: PTH118
        except PermissionError:
            os.chmod(os.path.join(root, folder), stat.S_IRWXU)  # noqa: PTH101, PTH118
            entries = list(os.scandir(os.path.join(root, folder)))  # noqa: PTH118
        except OSError as error:
            raise InputError(f"{os.fsdecode(root)}: cannot be read: {error.strerror}; remove the tree") from None
        for entry in entries:
            path = folder + b"/" + entry.name if folder else entry.name
            if descend(entry, path):
                pending.append(path)
            yield entry, path


def _open_up(folder: bytes, mode: int) -> None:
    if mode & stat.S_IRWXU != stat.S_IRWXU:
        os.chmod(folder, stat.S_IMODE(mode) | stat.S_IRWXU)  # noqa: PTH101


def _discard(path: bytes, *, is_folder: bool) -> None:
    """Remove a file or folder: the quick way, which serves nearly all, or the thorough one."""
    try:
        if is_folder:
            shutil.rmtree(path)
        else:
            os.unlink(path)  # noqa: PTH108
    except (OSError, RecursionError):
        erase(Path(os.fsdecode(path)))


def _parents(path: bytes) -> Iterator[bytes]:
    while path := path.rpartition(b"/")[0]:
        yield path


def _feed(tree: Path, index: Path, paths: Iterable[bytes], *options: str) -> None:
    listed = b"".join(path + b"\0" for path in sorted(paths))
    if not listed:
        return
    done = run_git(
        git_directory(tree),
        "update-index",
        *options,
        "-z",
        "--stdin",
        work_tree=tree,
        index=index,
        stdin=listed,
    )
    if done.returncode:
        raise InputError(f"{tree}: its files cannot be listed: {first_error(done.stderr)}")


def _write(tree: Path, index: Path, paths: Iterable[bytes]) -> None:
    git(
        git_directory(tree),
        "checkout-index",
        "--force",
        "--quiet",
        "-z",
        "--stdin",
        work_tree=tree,
        index=index,
        stdin=b"".join(path + b"\0" for path in paths),
    )


def _inside(tree: Path, path: str) -> bytes:
    plain = PurePosixPath(path)
    try:
        encoded = os.fsencode(str(plain))
    except UnicodeEncodeError:
        encoded = b"\0"
    if plain.is_absolute() or ".." in plain.parts or not plain.parts or b"\0" in encoded:
        raise InputError(f"{tree}: {path!r} is no path inside the tree")
    return encoded


def _unlink(tree: Path, path: bytes) -> None:
    """Remove a file or folder; a link on the way to it means that the tree does not hold it."""
    root = os.fsencode(tree)
    if not any(os.path.islink(os.path.join(root, parent)) for parent in _parents(path)):  # noqa: PTH114, PTH118
        erase(Path(os.fsdecode(os.path.join(root, path))))  # noqa: PTH118
