"""What a benchmark's image brings: its Python and variables once activated, its programs, and the tree in /testbed."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

import docker
from docker.errors import NotFound
from pydantic import BaseModel, ConfigDict, ValidationError

from patchperf.config import Images
from patchperf.counters.programs import ImagePrograms
from patchperf.errors import InputError, MachineError
from patchperf.sandbox import engine, trees
from patchperf.sandbox.container import LAYOUT, DockerSandbox, Setup
from patchperf.sandbox.files import erase
from patchperf.sandbox.git import ATTRIBUTES, git, run_git
from patchperf.sandbox.image_spec import ImageSpec
from patchperf.sandbox.images import Image, ensure, resolve
from patchperf.sandbox.locks import exclusive
from patchperf.sandbox.mirrors import BRANCH, commit_tree
from patchperf.sandbox.protocol import Command, Limits

ACTIVATE = "if [ -f /opt/miniconda3/bin/activate ]; then . /opt/miniconda3/bin/activate && conda activate testbed; fi"
"""How SWE-bench's images have their Python; in one without that file, it is the one that its variables lead to."""

DEFAULT_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""PATH where an image says nothing, as Docker itself has it."""

VOLATILE = frozenset(
    {
        "HOME",
        "HOSTNAME",
        "LC_CTYPE",
        "LS_COLORS",
        "OLDPWD",
        "PROMPT_COMMAND",
        "PS1",
        "PWD",
        "SHLVL",
        "TERM",
        "TMPDIR",
        "_",
    }
)
"""Variables that say nothing of the image, or that the sandbox sets."""

IMAGE_HEAD = "refs/heads/image"
_KEPT_FILES = ("/etc/passwd", "/etc/group")
_SURVEY_SECONDS = 600.0
_SURVEY = """
import io, json, os, sys
programs = {}
for folder in os.environ.get("PATH", "").split(":"):
    found = programs.setdefault(folder, {})
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        path = os.path.join(folder, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            with io.open(path, "rb") as file:
                first = file.read(512).split(b"\\n")[0]
            text = "ELF" if first.startswith(b"\\x7fELF") else first.decode("utf-8", "replace")
            found[name] = text if text.startswith(("ELF", "#!")) else ""
packages = {}
for folder in sys.path:
    for name in os.listdir(folder) if os.path.isdir(folder) else []:
        if name.endswith(".dist-info"):
            package, _, version = name[:-len(".dist-info")].rpartition("-")
            packages.setdefault(package, version)
told = {
    "python": sys.executable, "version": sys.version.split()[0], "prefix": sys.prefix,
    "variables": dict(os.environ), "programs": programs, "packages": packages,
}
with io.open(sys.argv[1], "w", encoding="ascii") as file:
    file.write(u"" + json.dumps(told))
"""


class ImageEnvironment(BaseModel):
    """An image with what was found in it.

    ``python``, ``prefix`` and ``programs`` (by folder of PATH and name: the first line of a script, "ELF", or nothing)
    are as the image has them; ``variables`` are those of the activated environment. ``head`` is the commit that
    /testbed stands at, ``commit`` ours that holds all its files, build products too.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    image: Image
    python: str
    version: str
    prefix: str
    variables: dict[str, str]
    programs: dict[str, dict[str, str]]
    packages: dict[str, str]
    head: str
    commit: str

    @property
    def digest(self) -> str:
        """The image's id: what commands run with is decided by nothing else."""
        return self.image.id

    @property
    def readable(self) -> tuple[Path, ...]:
        """Nothing of the host."""
        return ()

    @property
    def executables(self) -> frozenset[str]:
        """Names of the programs beside the Python."""
        return frozenset(self.programs.get(f"{self.prefix}/bin", {})) | {PurePosixPath(self.python).name}

    @property
    def has_project(self) -> bool:
        """An image comes with its project installed from /testbed."""
        return True

    @property
    def programs_on_path(self) -> ImagePrograms:
        """The programs that commands find in the image."""
        return ImagePrograms(self.programs, (Path(self.prefix),))

    @property
    def host_python(self) -> Path:
        """Our own Python, since the image's does not run outside."""
        return Path(sys.executable)

    def finds(self, program: str, path: str) -> bool:
        """Whether a program is in one of the image's folders of ``path``."""
        return any(program in self.programs.get(folder, {}) for folder in path.split(":"))


@dataclass(frozen=True)
class Kept:
    """What is kept of an image in the cache: a bare repository of /testbed, and the tables of users."""

    repository: Path
    files: Mapping[str, Path]


@dataclass(frozen=True)
class Access:
    """What it takes to get at images: engine, settings, cache, a scratch folder, and the label of whose study it is."""

    client: docker.DockerClient
    settings: Images
    cache: Path
    work: Path
    study: str


def survey(spec: ImageSpec, access: Access) -> ImageEnvironment:
    """Have the image, look into it, and keep its tree.

    Raises InputError where the image is none of a benchmark's, MachineError where it cannot be had or run.
    """
    image = resolve(access.client, spec.image, access.settings, access.cache)
    return _surveyed(image, spec, access)


def reopened(environment: ImageEnvironment, spec: ImageSpec, access: Access) -> Kept:
    """Have the very same image again with what the cache keeps of it, made anew where that is gone."""
    ensure(access.client, environment.image, access.settings, access.cache)
    if _surveyed(environment.image, spec, access) != environment:
        raise MachineError(
            f"image {spec.image}: its file in results/environments does not say what is found in it: delete the file"
        )
    return _kept(_home(access.cache, environment.image, spec))


def user_files(kept: Kept, folder: Path) -> dict[str, Path]:
    """The image's tables of users and groups with this user in them, by their paths inside."""
    user, group = os.getuid(), os.getgid()
    lines = {
        "/etc/passwd": (user, f"patchperf:x:{user}:{group}:patchperf:/patchperf/home:/bin/sh"),
        "/etc/group": (group, f"patchperf:x:{group}:"),
    }
    shown = {}
    for path, (number, line) in lines.items():
        text = kept.files[path].read_text("utf-8", errors="surrogateescape") if path in kept.files else ""
        if any(entry.split(":")[2:3] == [str(number)] for entry in text.splitlines()):
            continue
        shown[path] = folder / PurePosixPath(path).name
        folder.mkdir(parents=True, exist_ok=True)
        shown[path].write_text(f"{text.rstrip()}\n{line}\n".lstrip(), "utf-8", errors="surrogateescape")
    return shown


def beyond_base(repository: Path, environment: ImageEnvironment, base: str) -> list[str]:
    """The files of /testbed that differ from an instance's base commit; raises InputError if it is not made from it."""
    name = environment.image.reference
    known = run_git(repository, "cat-file", "-e", f"{base}^{{commit}}").returncode == 0
    if not known or run_git(repository, "merge-base", "--is-ancestor", base, environment.head).returncode:
        what = "is not its base" if known else "is not in its repository"
        raise InputError(
            f"image {name}: /testbed is at commit {environment.head}, and the instance's base commit {base} {what}: "
            "correct the image or the base commit of the row"
        )
    told = git(repository, "diff-tree", "-r", "-z", "--name-only", "--no-renames", base, environment.commit)
    return [os.fsdecode(path) for path in told.split(b"\0")[:-1]]


def _surveyed(image: Image, spec: ImageSpec, access: Access) -> ImageEnvironment:
    home = _home(access.cache, image, spec)
    record = home / "environment.json"
    with exclusive(home.with_suffix(".lock")):
        try:
            found = ImageEnvironment.model_validate_json(record.read_bytes())
            return found.model_copy(update={"image": image})
        except (FileNotFoundError, ValidationError):
            pass
        draft = home.with_suffix(".draft")
        for old in (draft, home):
            erase(old)
        draft.mkdir(parents=True)
        head, commit = _keep(image, access, draft)
        told = _look(_kept(draft), commit, image, spec, access)
        found = ImageEnvironment(image=image, head=head, commit=commit, **told)
        (draft / record.name).write_text(found.model_dump_json(indent=1) + "\n", "utf-8")
        draft.rename(home)
    return found


def _home(cache: Path, image: Image, spec: ImageSpec) -> Path:
    name = image.id.removeprefix("sha256:")[:32]
    return cache.absolute() / "images" / (name if spec.activate is None else f"{name}-{spec.digest[:8]}")


def _kept(home: Path) -> Kept:
    files = {path: home / PurePosixPath(path).name for path in _KEPT_FILES}
    return Kept(home / "testbed.git", {path: file for path, file in files.items() if file.exists()})


# ---- the tree of /testbed


def _keep(image: Image, access: Access, home: Path) -> tuple[str, str]:
    """Copy the image's tree and tables of users; the commit /testbed is at, and the one that holds all its files."""
    with tempfile.TemporaryDirectory(dir=home) as scratch, _unstarted(image, access) as container:
        for path in _KEPT_FILES:
            if _copied(container, path, Path(scratch, "etc")):
                shutil.move(Path(scratch, "etc", PurePosixPath(path).name), home)
        if not _copied(container, LAYOUT.tree, Path(scratch)):
            raise InputError(f"image {image.reference} has no folder {LAYOUT.tree}: it is none of a benchmark's")
        testbed = Path(scratch, PurePosixPath(LAYOUT.tree).name)
        repository = home / "testbed.git"
        head = _take_repository(image, testbed, repository)
        for nested in testbed.rglob(".git"):
            erase(nested)
        commit_tree(testbed, repository)
        erase(testbed)
    return head, git(repository, "rev-parse", f"refs/heads/{BRANCH}").decode().strip()


@contextmanager
def _unstarted(image: Image, access: Access) -> Iterator[Any]:
    """A container that is never started, to copy from."""
    with engine.told_by_engine(f"image {image.reference}"):
        container = access.client.containers.create(
            image.id,
            ["true"],
            name=engine.new_name(access.study),
            labels=engine.labels(access.study),
            network_mode="none",
        )
    try:
        yield container
    finally:
        with engine.told_by_engine(str(container.name)):
            engine.remove(container)


def _copied(container: Any, path: str, folder: Path) -> bool:
    """Copy a file or folder of a container into one of ours, as this user's; whether it is there."""
    with engine.told_by_engine(f"{path} of {container.name}"):
        try:
            chunks, _ = container.get_archive(path, chunk_size=1 << 20)
        except NotFound:
            return False
        stream = cast(IO[bytes], _Stream(iter(chunks)))
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                if not member.isdev():
                    archive.extract(member, folder, filter=_as_ours)
    return True


def _as_ours(member: tarfile.TarInfo, folder: str) -> tarfile.TarInfo:
    """Inside of the folder, owned by this user, who can read it."""
    safe = tarfile.tar_filter(member, folder)
    access = 0o700 if safe.isdir() else 0o600
    return safe.replace(uid=None, gid=None, uname=None, gname=None, mode=(safe.mode or 0) | access, deep=False)  # type: ignore[arg-type]


class _Stream:
    """Chunks of bytes as a file to read from."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = b""

    def read(self, size: int) -> bytes:
        while len(self._rest) < size and (chunk := next(self._chunks, b"")):
            self._rest += chunk
        taken, self._rest = self._rest[:size], self._rest[size:]
        return taken


def _take_repository(image: Image, testbed: Path, repository: Path) -> str:
    """Make a bare repository of our own from the objects of a tree's; the commit that its HEAD names.

    No configuration, hook or alternate store of the image comes along.
    """
    theirs = testbed / ".git"
    objects = theirs / "objects"
    if theirs.is_symlink() or objects.is_symlink() or not objects.is_dir():
        raise InputError(f"image {image.reference}: {LAYOUT.tree} is no git repository")
    head = _head(theirs)
    if head is None:
        raise InputError(f"image {image.reference}: the HEAD of {LAYOUT.tree} names no commit")
    git(repository, "init", "--quiet", "--bare", "--template=", f"--initial-branch={BRANCH}")
    (repository / "info").mkdir(exist_ok=True)
    (repository / "info" / "attributes").write_text(ATTRIBUTES)
    for elsewhere in ("alternates", "http-alternates"):
        erase(objects / "info" / elsewhere)
    if any(path.is_symlink() for path in objects.rglob("*")):
        raise InputError(f"image {image.reference}: the repository of {LAYOUT.tree} has links among its objects")
    erase(repository / "objects")
    objects.rename(repository / "objects")
    shallow = theirs / "shallow"
    if shallow.is_file() and not shallow.is_symlink():
        shutil.copyfile(shallow, repository / "shallow")
    git(repository, "update-ref", IMAGE_HEAD, head)
    return head


def _head(theirs: Path) -> str | None:
    """The commit id that HEAD stands for: directly, or through a branch's file or the packed list."""
    text = _plain_text(theirs / "HEAD").strip()
    found = re.fullmatch(r"ref: (refs/[\w@+,=./-]+)", text)
    if found is not None and ".." not in found[1]:
        packed = re.search(rf"^([0-9a-f]+) {re.escape(found[1])}$", _plain_text(theirs / "packed-refs"), re.MULTILINE)
        text = _plain_text(theirs / found[1]).strip() or (packed[1] if packed else "")
    return text if re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", text) else None


def _plain_text(file: Path) -> str:
    return file.read_text("utf-8", errors="replace") if file.is_file() and not file.is_symlink() else ""


# ---- what is inside


def _look(kept: Kept, commit: str, image: Image, spec: ImageSpec, access: Access) -> dict[str, Any]:
    """Activate the image's Python in a container with the tree in place, and have it tell what there is."""
    with engine.told_by_engine(f"image {image.reference}"):
        config = access.client.images.get(image.id).attrs["Config"] or {}
    own = {"PATH": DEFAULT_PATH} | dict(entry.partition("=")[::2] for entry in config.get("Env") or ())
    work = access.work / "survey"
    tree, out = work / "tree", work / "out"
    out.mkdir(parents=True)
    trees.checkout(kept.repository, commit, tree)
    try:
        script = "\n".join(
            (
                spec.activate or ACTIVATE,
                "activated=$?; [ $activated = 0 ] || exit $activated; unset activated",
                f"cd {LAYOUT.tree}",
                "python=$(command -v python || command -v python3) || { echo no python on $PATH; exit 1; }",
                f'exec "$python" -I -c {shlex.quote(_SURVEY)} {LAYOUT.out}/told',
            )
        )
        command = Command(("bash", "-c", script), tree, own, out=out, timeout=_SURVEY_SECONDS)
        setup = Setup(files=user_files(kept, work / "users"))
        with DockerSandbox(access.client, image.id, work / "sandbox", access.study, setup) as sandbox:
            done = sandbox.run(command, Limits())
        if not done.ok:
            said = (done.output.strip().splitlines() or ["no output"])[-1]
            raise InputError(
                f"image {image.reference}: its Python cannot be activated ({done.ended}, exit code {done.exit_code}): "
                f"{said}; set sandbox.images.activate"
            )
        told = json.loads((out / "told").read_bytes())
    finally:
        erase(work)
    variables = told["variables"].items()
    told["variables"] = {
        name: value for name, value in sorted(variables) if name not in VOLATILE and not name.startswith("BASH_FUNC_")
    }
    return cast(dict[str, Any], told)
