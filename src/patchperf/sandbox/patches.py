"""Patches as text: which paths they touch, and how they get onto a tree (the official harness's chain of commands)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from patchperf.errors import MachineError
from patchperf.sandbox.git import first_error, run_git
from patchperf.sandbox.space import require_room
from patchperf.sandbox.trees import git_directory, make_equal, scratch_index, snapshot

PLAIN = "git apply"
THREE_WAY = "git apply --3way"
REJECT = "git apply --reject"
FUZZ = "patch --fuzz=5"
ALREADY = "already applied"
NONE = "none"

_SECONDS = 120.0
_MAX_ALLOCATION = {"GIT_ALLOC_LIMIT": "1g"}
_DETAIL_LENGTH = 300
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_LINK_MODE = re.compile(r"(?:new file mode|new mode|index \S+) 120000")
_ESCAPES = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}
_MAX_RESTORED_LINES = 3


class Applied(BaseModel):
    """What came of applying a patch: ``link`` names the command of the chain that held, or "none"."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    applied: bool
    link: str
    detail: str


@dataclass(frozen=True)
class _Scan:
    """What a patch's headers say; ``missing_context``: lines that its last hunk promises beyond what is there."""

    paths: tuple[str, ...]
    has_hunks: bool
    makes_links: bool
    missing_context: int


def is_empty(patch: str) -> bool:
    """Whether there is nothing in a patch but white space."""
    return not patch.strip()


def patch_paths(patch: str) -> tuple[str, ...]:
    """Paths that a patch touches, sorted, without their a/ and b/: changed, made, removed, and both names of a rename.

    Lines inside hunks are never taken for headers, whatever they look like. Text without headers gives ().
    """
    return tuple(sorted(set(_scan(patch).paths)))


def apply_patch(tree: Path, patch: str) -> Applied:
    """Apply a patch to a tree as the official harness does, and leave the tree untouched if that fails.

    The chain: ``git apply``, ``git apply --3way``, ``git apply --reject`` (held only with exit code 0), and the last
    link of its older versions, ``patch --fuzz=5``; each starts from the tree as it was. A patch that is in the tree
    already is "already applied"; that is looked at before ``patch``, which in batch mode would take it out.
    Before all, a missing final newline is added, and for git so are up to three blank context lines that were stripped
    off the end; ``detail`` says so. It also has git's reason when ``git apply`` did not hold.

    No file outside the tree is written: a patch that names one is refused. The links whose older versions followed
    symbolic links (``--reject``, ``patch``) are left out for patches that make such links; ``patch`` is also left out
    where there is no hunk, which it would call a success.
    Raises MachineError where git or patch is missing, or where a patch does not apply and the disk is full.
    """
    if is_empty(patch):
        return Applied(applied=False, link=NONE, detail="the patch is empty")
    text, completed, notes = _complete(patch)
    scan = _scan(completed)
    if outside := next((path for path in scan.paths if not _stays_inside(tree, path)), None):
        notes.append(f"names a path outside the tree: {outside!r}")
        return Applied(applied=False, link=NONE, detail=_one_line(notes))
    with tempfile.TemporaryDirectory(prefix="patchperf-") as scratch, scratch_index(tree) as index:
        attempt = _Attempt(tree, Path(scratch, "text"), Path(scratch, "completed"), index)
        attempt.text.write_bytes(_encode(text))
        attempt.completed.write_bytes(_encode(completed))
        problem = attempt.plain()
        if problem is None:
            return Applied(applied=True, link=PLAIN, detail=_one_line(notes))
        notes.append(problem)
        snapshot(tree, index)
        if attempt.is_reversible():
            return Applied(applied=True, link=ALREADY, detail=_one_line(notes))
        links: list[tuple[str, Callable[[], str | None]]] = [(THREE_WAY, attempt.three_way)]
        if not scan.makes_links:
            links.append((REJECT, attempt.reject))
            if scan.has_hunks:
                links.append((FUZZ, attempt.fuzz))
        for link, run in links:
            try:
                held = run() is None
            except BaseException:
                make_equal(tree, index)
                raise
            if held:
                return Applied(applied=True, link=link, detail=_one_line(notes))
            make_equal(tree, index)
        require_room(tree)
    return Applied(applied=False, link=NONE, detail=_one_line(notes))


@dataclass(frozen=True)
class _Attempt:
    """One patch on one tree; each method runs one command and gives None, or why it did not hold.

    ``text`` is the patch's file for GNU patch, which reads a cut end by itself; ``completed`` the one for git.
    """

    tree: Path
    text: Path
    completed: Path
    index: Path

    def plain(self) -> str | None:
        return self._git_apply("--verbose")

    def is_reversible(self) -> bool:
        return self._git_apply("--reverse", "--check") is None

    def three_way(self) -> str | None:
        with tempfile.TemporaryDirectory(dir=git_directory(self.tree)) as folder:
            index = Path(folder, "index")
            shutil.copy2(self.index, index)
            return self._git_apply("--verbose", "--3way", index=index)

    def reject(self) -> str | None:
        return self._git_apply("--verbose", "--reject")

    def fuzz(self) -> str | None:
        """GNU patch, told to take only unified diffs (others can run an editor) and to leave no files of its own."""
        program = shutil.which("patch")
        if program is None:
            raise MachineError("patch is not installed: install the package patch")
        options = ["--batch", "--forward", "--fuzz=5", "-p1", "--unified", "--get=0"]
        try:
            done = subprocess.run(
                [program, *options, "--no-backup-if-mismatch", "--reject-file=-", "-i", str(self.text)],
                cwd=self.tree,
                env={"LC_ALL": "C", "PATH": os.defpath},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
                timeout=_SECONDS,
            )
        except subprocess.TimeoutExpired:
            return f"{FUZZ} did not end within {_SECONDS:.0f} s"
        return None if done.returncode == 0 else first_error(done.stdout + done.stderr)

    def _git_apply(self, *options: str, index: Path | None = None) -> str | None:
        try:
            done = run_git(
                git_directory(self.tree),
                "apply",
                *options,
                str(self.completed),
                work_tree=self.tree,
                index=index or self.index,
                environment=_MAX_ALLOCATION,
                timeout=_SECONDS,
            )
        except subprocess.TimeoutExpired:
            return f"git apply did not end within {_SECONDS:.0f} s"
        return None if done.returncode == 0 else first_error(done.stderr)


def _complete(patch: str) -> tuple[str, str, list[str]]:
    """The patch with a final newline, with stripped context lines put back too, and words for what was done."""
    notes = []
    text = patch
    if not text.endswith("\n"):
        text += "\n"
        notes.append("final newline added")
    missing = _scan(text).missing_context
    if not 0 < missing <= _MAX_RESTORED_LINES:
        return text, text, notes
    notes.append(f"{missing} stripped blank context line{'s' * (missing > 1)} restored")
    return text, text + "\n" * missing, notes


def _scan(patch: str) -> _Scan:
    paths: list[str] = []
    has_hunks = makes_links = False
    old = new = 0
    for line in patch.removesuffix("\n").split("\n"):
        if old > 0 or new > 0:
            if line[:1] in {"+", "-", " ", "\\", ""} or line == "\r":
                old -= line[:1] not in {"+", "\\"}
                new -= line[:1] not in {"-", "\\"}
                continue
            old = new = 0
        if hunk := _HUNK.match(line):
            old, new = (1 if count is None else int(count[:9]) for count in hunk.groups())
            has_hunks = True
        else:
            paths += _header_paths(line)
            makes_links |= _LINK_MODE.fullmatch(line.rstrip("\r")) is not None
    return _Scan(tuple(paths), has_hunks, makes_links, missing_context=old if old == new else 0)


def _header_paths(line: str) -> Iterator[str]:
    line = line.rstrip("\r")
    for start in ("--- ", "+++ ", "Index: "):
        if line.startswith(start):
            name = _unquoted(line[len(start) :].partition("\t")[0].rstrip(" "))
            if name != os.devnull:
                yield _without_prefix(name)
    for start in ("rename from ", "rename to ", "copy from ", "copy to "):
        if line.startswith(start):
            yield _unquoted(line[len(start) :])
    if line.startswith("diff --git "):
        yield from _git_header_names(line.removeprefix("diff --git "))


def _git_header_names(names: str) -> Iterator[str]:
    """Both names of a ``diff --git`` line; unquoted ones can hold spaces only if they are equal but for a/ and b/."""
    middle = len(names) // 2
    first, last = names[:middle], names[middle + 1 :]
    if '"' not in names and names[middle : middle + 1] == " " and _without_prefix(first) == _without_prefix(last):
        yield _without_prefix(first)
    elif len(words := re.findall(r'"(?:[^"\\]|\\.)*"|\S+', names)) == 2:
        yield from (_without_prefix(_unquoted(word)) for word in words)


def _without_prefix(name: str) -> str:
    """What ``-p1`` makes of a name: its first component, usually a or b, goes."""
    return name.partition("/")[2] if "/" in name else name


def _unquoted(name: str) -> str:
    """A file name as git writes it: as it is, or in quotes with C's escapes for its bytes."""
    if not (len(name) >= 2 and name[0] == name[-1] == '"'):
        return name

    def byte(match: re.Match[str]) -> str:
        code = match[1]
        value = _ESCAPES[code] if code in _ESCAPES else int(code, 8) & 0xFF
        return chr(value) if value < 0x80 else chr(0xDC00 + value)

    plain = re.sub(r'\\([0-7]{3}|[abtnvfr"\\])', byte, name[1:-1])
    return plain.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")


def _stays_inside(tree: Path, path: str) -> bool:
    """Whether a path, without a/ or b/, is in the tree and in no git folder, and no link on its way leads out."""
    parts = path.split("/")
    if path.startswith("/") or "\0" in path or ".." in parts or any(part.lower() == ".git" for part in parts):
        return False
    parent = os.path.realpath(os.path.join(tree, *parts[:-1]))  # noqa: PTH118
    root = os.path.realpath(tree)
    return parent == root or parent.startswith(root + "/")


def _encode(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _one_line(notes: list[str]) -> str:
    line = re.sub(r"[^\x20-\x7e]+", " ", "; ".join(notes))
    return line if len(line) <= _DETAIL_LENGTH else line[: _DETAIL_LENGTH - 3] + "..."
