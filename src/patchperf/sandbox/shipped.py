"""Environments that an installed ``swebench`` package states, read as data: the package itself is never imported.

What is where (releases looked at: 2.1.8, 3.0.17, 4.0.5, 4.1.0, 5.0.0 to 5.0.2):

- a source checkout of 4.1.0 or later (``pip install -e``, or on PYTHONPATH): one exported conda environment for each
  Verified instance, ``resources/swebench-og/<repo>/<number>/environment.yml``. No wheel or sdist holds them.
- 2.x, 3.x and 4.x, wheels too: Python version and packages for each repository and version, in the harness's constants.
- a 5.x wheel: nothing.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import posixpath
import re
import runpy
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from patchperf.errors import InputError

CONSTANTS = {
    "harness/constants/python.py": "MAP_REPO_VERSION_TO_SPECS_PY",
    "harness/constants.py": "MAP_REPO_VERSION_TO_SPECS",
}
PYPI_NAMES: Mapping[str, str | None] = {
    "antlr-python-runtime": "antlr4-python3-runtime",
    "brotli-python": "brotli",
    "iris": "scitools-iris",
    "matplotlib-base": "matplotlib",
    "msgpack-python": "msgpack",
    "nbconvert-core": "nbconvert",
    "numpy-base": "numpy",
    "pyarrow-core": "pyarrow",
    "pyqt": "pyqt5",
    "python-eccodes": "eccodes",
    "python-fastjsonschema": "fastjsonschema",
    "python-tzdata": "tzdata",
    "python-xxhash": "xxhash",
    "seaborn-base": "seaborn",
    "cdat-info": None,
    "cdms2": None,
    "cdtime": None,
    "distarray": None,
    "esmpy": None,
    "libcf": None,
    "pycairo": None,
    "pygobject": None,
    "python": None,
    "wxpython": None,
}
"""Conda packages that PyPI has under another name, or (None) not at all, not at these versions, or only as sources that
need system libraries; python itself is the interpreter."""

ReadFile = Callable[[str], str | None]
"""The text of a file of the instance's repository, by its path there; None where there is none."""


@dataclass(frozen=True)
class Shipped:
    """An environment as pip can build it; ``left_out`` are packages that it states and PyPI cannot give.

    ``complete``: ``pip`` has the dependencies too, and they need not agree with each other.
    """

    python: str
    pip: tuple[str, ...]
    complete: bool
    left_out: tuple[str, ...] = ()


def shipped_environment(instance_id: str, repo: str, version: str, read: ReadFile | None) -> Shipped:
    """What the installed ``swebench`` states for an instance: its own environment file, else its repository version's.

    ``read`` serves releases that name a requirements file of the repository instead of packages.
    Raises InputError, its text a clause to follow the instance's name, if it states none, or none that pip can build.
    """
    folders = _package_folders()
    if not folders:
        raise InputError("the package swebench is not installed")
    project, _, number = instance_id.rpartition("-")
    for folder in folders:
        file = folder / "resources" / "swebench-og" / project / number / "environment.yml"
        if file.is_file():
            return from_conda(file.read_text("utf-8"), str(file))
    for folder in folders:
        for name, variable in CONSTANTS.items():
            if (folder / name).is_file():
                return _from_constants(_constants(folder / name), variable, repo, version, read)
    raise InputError(f"swebench {_release()} has none (wheels of 2.x to 4.x have, by repository version)")


def from_conda(text: str, where: str) -> Shipped:
    """An exported conda environment (``name=version=build`` lines and a pip section) as pins for pip.

    The build string tells Python packages (``py39h…``, ``pyhd8ed…``, ``py_0``) from libraries; PYPI_NAMES gives the
    names that differ. Where both sections have a package, pip's is meant, for it was installed last. The interpreter
    keeps its minor version only.

    Raises InputError that names ``where`` if the text is no such environment.
    """
    try:
        content = yaml.safe_load(text)
        dependencies: list[Any] = content["dependencies"]
        conda = [tuple(line.split("=")) for line in dependencies if isinstance(line, str)]
        pip = [str(line) for part in dependencies if isinstance(part, dict) for line in part["pip"] or ()]
        packages = [(canonical_name(name), version, build) for name, version, build in conda]
        versions = {name: version for name, version, _ in packages}
        python = ".".join(versions["python"].split(".")[:2])
    except (yaml.YAMLError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{where}: no exported conda environment: {' '.join(str(error).split())}") from None
    pins = {canonical_name(re.split(r"[^\w.-]", line, maxsplit=1)[0]): line for line in pip}
    left_out = []
    for name, version, build in packages:
        if not re.search(r"(?:^|_)py", build) or name == "python":
            continue
        pypi = PYPI_NAMES.get(name, name)
        if pypi is None:
            left_out.append(f"{name}=={version}")
        else:
            pins.setdefault(pypi, f"{pypi}=={version}")
    return Shipped(python=python, pip=tuple(sorted(pins.values())), complete=True, left_out=tuple(sorted(left_out)))


def canonical_name(name: str) -> str:
    """A distribution's name as PyPI compares it: lower case, one hyphen for each run of ``-``, ``_`` and ``.``."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _from_constants(
    constants: Mapping[str, Any], variable: str, repo: str, version: str, read: ReadFile | None
) -> Shipped:
    spec = constants.get(variable, {}).get(repo, {}).get(version)
    if spec is None:
        raise InputError(f"swebench {_release()} knows no version {version or '(none given)'} of {repo}")
    packages = spec.get("packages", "")
    pip = [*spec.get("pip_packages", ())]
    if packages == "requirements.txt":
        pip = [*_requirements(constants["MAP_REPO_TO_REQS_PATHS"].get(repo, []), repo, read), *pip]
    elif packages == "environment.yml":
        raise InputError(f"swebench {_release()} refers to a conda file in {repo}, which pip cannot build")
    else:
        pip = [*shlex.split(packages), *pip]
    return Shipped(python=spec["python"], pip=tuple(dict.fromkeys(pip)), complete=False)


def _requirements(paths: list[str], repo: str, read: ReadFile | None) -> Iterator[str]:
    if read is not None:
        for path in paths:
            if read(path) is not None:
                return _requirement_lines(path, repo, read)
    raise InputError(
        f"swebench {_release()} refers to requirements in {repo} ({', '.join(paths)}), which cannot be read"
    )


def _requirement_lines(path: str, repo: str, read: ReadFile) -> Iterator[str]:
    """Requirements of a file and of those it includes, but not the repository itself (``-e .``, ``.[tests]``)."""
    path = posixpath.normpath(path)
    text = read(path)
    if text is None:
        raise InputError(f"{path} in {repo}: no such file, though the requirements include it")
    for line in text.splitlines():
        requirement = re.sub(r"(^|\s)#.*", "", line).strip()
        if included := re.match(r"(?:-r|--requirement)[\s=]*(\S+)", requirement):
            yield from _requirement_lines(posixpath.join(posixpath.dirname(path), included[1]), repo, read)
        elif requirement and not re.match(r"(-e\s*)?\.", requirement):
            yield requirement


def _package_folders() -> list[Path]:
    found = importlib.util.find_spec("swebench")
    return [Path(folder) for folder in found.submodule_search_locations or ()] if found else []


def _release() -> str:
    try:
        return importlib.metadata.version("swebench")
    except importlib.metadata.PackageNotFoundError:
        return "(release unknown)"


@functools.cache
def _constants(file: Path) -> Mapping[str, Any]:
    """The variables of a file of constants, which needs nothing but the standard library."""
    return runpy.run_path(str(file))
