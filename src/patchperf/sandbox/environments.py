"""Python environments of instances: which Python and packages, built with uv, shared by content."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import platform
import re
import shutil
import subprocess
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Protocol

import uv
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from patchperf import config
from patchperf.counters.programs import HOST, Programs
from patchperf.errors import InputError, MachineError
from patchperf.sandbox.interpreters import Interpreter, describe, find_python
from patchperf.sandbox.locks import exclusive
from patchperf.sandbox.shipped import ReadFile, shipped_environment
from patchperf.study.instance import content_digest

BUILD_SECONDS = 1800.0


class EnvironmentSpec(BaseModel):
    """A Python version ("3.9" or "3.9.18") and requirements as pip writes them.

    ``complete``: the requirements are the whole content and what they depend on is not looked at (an exported conda
    environment, where pip later replaced packages, need not agree with itself). ``left_out`` names packages that the
    environment's origin states and PyPI cannot give; it changes nothing.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    python: Annotated[str, Field(pattern=r"^\d+(\.\d+){0,2}$")]
    pip: tuple[str, ...] = ()
    complete: bool = False
    left_out: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 over the requirements (a set), the interpreter found for ``python`` (release and build), the machine.

        Raises MachineError if no such interpreter is installed.
        """
        content = {
            "python": self.interpreter.build,
            "machine": platform.machine(),
            "pip": sorted({" ".join(requirement.split()) for requirement in self.pip}),
            "complete": self.complete,
        }
        return content_digest(content)

    @property
    def interpreter(self) -> Interpreter:
        """The interpreter found for ``python``; raises MachineError if no such one is installed."""
        interpreter = describe(find_python(self.python))
        if interpreter is None:
            raise MachineError(f"{find_python(self.python)} does not run any more")
        return interpreter


@dataclass(frozen=True)
class EnvironmentTable:
    """The entries of an environments file by key (see ``load_environments``); without a file, none."""

    file: Path | None = None
    entries: Mapping[str, EnvironmentSpec] = field(default_factory=dict)


class Runtime(Protocol):
    """The Python and programs that an instance's commands run with: an environment built here, or an image's own."""

    @property
    def digest(self) -> str:
        """Names its content."""
        ...

    @property
    def variables(self) -> Mapping[str, str]:
        """What it sets for every command, PATH at least."""
        ...

    @property
    def readable(self) -> tuple[Path, ...]:
        """Host folders that commands need."""
        ...

    @property
    def executables(self) -> frozenset[str]:
        """Names of the programs that it brings."""
        ...

    @property
    def has_project(self) -> bool:
        """Whether the instance's project is installed in it, from the tree's place."""
        ...

    @property
    def programs_on_path(self) -> Programs:
        """The programs that commands find."""
        ...

    @property
    def host_python(self) -> Path:
        """A Python of this machine that counters can be prepared with."""
        ...

    def finds(self, program: str, path: str) -> bool:
        """Whether a program, by its plain name, is in one of the folders of ``path``."""
        ...


@dataclass(frozen=True)
class Environment:
    """A built environment: its Python, its folder, the folder its interpreter is installed in, what is installed."""

    python: Path
    prefix: Path
    base_prefix: Path
    digest: str
    packages: Mapping[str, str]

    has_project = False
    programs_on_path = HOST

    @property
    def variables(self) -> Mapping[str, str]:
        """What it sets for every command."""
        return {"PATH": f"{self.prefix}/bin:/usr/local/bin:/usr/bin:/bin"}

    @property
    def readable(self) -> tuple[Path, ...]:
        """Host folders that the measured Python lives in."""
        return self.prefix, self.base_prefix

    @property
    def executables(self) -> frozenset[str]:
        """Names of the programs that the environment brings."""
        return frozenset(path.name for path in (self.prefix / "bin").iterdir())

    @property
    def host_python(self) -> Path:
        """Its Python, which is one of this machine."""
        return self.python

    def finds(self, program: str, path: str) -> bool:
        """Whether a program is in one of the folders of ``path``."""
        return shutil.which(program, path=path) is not None


class _Record(BaseModel):
    """What is kept beside a built environment; its presence says that the build is whole."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    digest: str
    interpreter: str
    base_prefix: Path
    requirements: tuple[str, ...]
    packages: dict[str, str]


def load_environments(settings: config.Environments, folders: tuple[Path, ...]) -> EnvironmentTable:
    """The environments file of a study, or an empty table if there is none.

    The file is JSON: ``{"<key>": {"python": "3.9", "pip": ["numpy==1.19.2", ...]}}``. A key is an instance id, or
    ``<owner>/<name>@<version>`` or ``<owner>/<name>`` for all instances of a repository (of one version) that have no
    entry of their own. Raises InputError that names file, key and field.
    """
    if settings.file is None:
        return EnvironmentTable()
    file = config.resolve_path(settings.file, folders)
    try:
        content = json.loads(file.read_text("utf-8"))
    except (ValueError, OSError) as error:
        raise InputError(f"environments file {file}: not readable as JSON: {error}") from None
    try:
        entries = TypeAdapter(dict[str, EnvironmentSpec]).validate_python(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ", ".join(map(str, first["loc"])) or "top level"
        raise InputError(f"environments file {file}: {where} = {first['input']!r}: {first['msg']}") from None
    return EnvironmentTable(file, entries)


def environment_for(
    instance_id: str, repo: str, version: str, table: EnvironmentTable, read: ReadFile | None = None
) -> EnvironmentSpec:
    """The environment of an instance: its entry in the table, else its repository's, else what ``swebench`` ships.

    ``read`` gives the text of a file of the repository at the instance's base commit (None where there is none); some
    of ``swebench``'s entries refer to such files. Raises InputError that says where was looked and what to do.
    """
    keys = (instance_id, f"{repo}@{version}", repo)
    for key in keys:
        if key in table.entries:
            return table.entries[key]
    try:
        shipped = shipped_environment(instance_id, repo, version, read)
    except InputError as error:
        looked = f"{table.file} has no {' or '.join(keys)}" if table.file else "environments.file is not set"
        raise InputError(
            f"{instance_id}: no environment: {looked}, and {error}; name a JSON file with an entry (python, pip) in "
            "environments.file, or install swebench from a checkout of its repository (4.1.0 or later), which has one "
            "for each Verified instance"
        ) from None
    return EnvironmentSpec(**dataclasses.asdict(shipped))


def build_environment(spec: EnvironmentSpec, cache: Path, timeout: float = BUILD_SECONDS) -> Environment:
    """The virtual environment of a spec under ``cache``/environments, built once for all processes that ask for it.

    Nothing but the requirements and (unless ``complete``) their dependencies is installed, compiled to bytecode where
    it compiles, so that a read-only mount loads as fast. The folder is named by the digest; a record beside it, written
    last, tells whole builds from broken ones, which are built again. ``timeout`` is in seconds, for each of the steps.

    Raises MachineError with uv's deciding line if it cannot be built, or if the interpreter is missing.
    """
    digest, interpreter = spec.digest, spec.interpreter
    home = cache.absolute() / "environments"
    if (environment := _built(home, digest)) is not None:
        return environment
    with exclusive(home / f"{digest}.lock") as lock:
        if (environment := _built(home, digest)) is not None:
            return environment
        prefix, record_file = home / digest, _record_file(home, digest)
        record_file.unlink(missing_ok=True)
        _remove(prefix)
        try:
            packages = _build(spec, interpreter, prefix, timeout, lock)
        except MachineError:
            _remove(prefix)
            raise
        record = _Record(
            digest=digest,
            interpreter=interpreter.build,
            base_prefix=interpreter.base_prefix,
            requirements=spec.pip,
            packages=packages,
        )
        draft = record_file.with_suffix(".draft")
        draft.write_text(record.model_dump_json(indent=1) + "\n", "utf-8")
        draft.replace(record_file)
        return _environment(prefix, record)


def _record_file(home: Path, digest: str) -> Path:
    return home / f"{digest}.json"


def _built(home: Path, digest: str) -> Environment | None:
    python = home / digest / "bin" / "python"
    try:
        record = _Record.model_validate_json(_record_file(home, digest).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
    return _environment(home / digest, record) if python.exists() else None


def _environment(prefix: Path, record: _Record) -> Environment:
    return Environment(
        python=prefix / "bin" / "python",
        prefix=prefix,
        base_prefix=record.base_prefix,
        digest=record.digest,
        packages=record.packages,
    )


def _build(spec: EnvironmentSpec, interpreter: Interpreter, prefix: Path, timeout: float, lock: int) -> dict[str, str]:
    what = f"environment of Python {interpreter.version} with {len(spec.pip)} requirement{'s' * (len(spec.pip) != 1)}"
    python = str(prefix / "bin" / "python")

    def step(*command: str) -> subprocess.CompletedProcess[str]:
        try:
            return _run(command, timeout, lock)
        except subprocess.TimeoutExpired:
            raise MachineError(f"{what}: not built after {timeout:g} s; raise timeouts.install") from None

    def uv_step(*arguments: str) -> str:
        done = step(uv.find_uv_bin(), *arguments)
        if done.returncode:
            raise MachineError(f"{what}: {deciding_line(done.stderr)}")
        return done.stdout

    uv_step("venv", "--quiet", "--no-project", "--python", str(interpreter.path), str(prefix))
    if spec.pip:
        dependencies = ("--no-deps",) if spec.complete else ()
        uv_step("pip", "install", "--quiet", "--python", python, *dependencies, "--", *spec.pip)
        # Not uv's own compilation, which needs Python 3.7. The exit code says nothing: packages ship files that do not
        # compile under any one version of Python, and nothing imports them.
        step(python, "-I", "-m", "compileall", "-q", "-j", "0", str(prefix / "lib"))
    listed = uv_step("pip", "list", "--python", python, "--format", "json")
    return {entry["name"]: entry["version"] for entry in json.loads(listed)}


def _run(command: Sequence[str], timeout: float, lock: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        env=_variables(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=timeout,
        pass_fds=(lock,),
        check=False,
    )


def deciding_line(stderr: str) -> str:
    """What uv says about a failure, on one line: the error, its causes, and of a build's output the line that tells.

    That is the first line of the build's stderr with the word "error", else its last.
    """
    raw = itertools.dropwhile(lambda line: not line.strip().startswith(("error:", "×")), stderr.splitlines())
    lines = [line.strip(" ×│├╰─▶") for line in raw] or stderr.splitlines()
    lines = list(itertools.takewhile(lambda line: not line.startswith("hint:"), lines))
    said = list(itertools.takewhile(lambda line: line not in ("[stdout]", "[stderr]"), lines))
    built = [line for line in lines[lines.index("[stderr]") + 1 :] if line] if "[stderr]" in lines else []
    telling = [line for line in built if re.search(r"\berror\b", line, re.IGNORECASE)] or built[-1:]
    text = " ".join(" ".join([*said, *telling[:1]]).split()).removeprefix("error: ")
    return textwrap.shorten(text, 600, placeholder=" …") or "uv ended with an error and no word"


def _variables() -> dict[str, str]:
    """Ours, without what would lead uv or a build to another Python, and without downloads of one."""
    private = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "CONDA_PREFIX", "UV_PROJECT_ENVIRONMENT")
    kept = {name: value for name, value in os.environ.items() if name not in private}
    return {**kept, "UV_PYTHON_DOWNLOADS": "never", "UV_NO_PROGRESS": "1", "NO_COLOR": "1"}


def _remove(folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
