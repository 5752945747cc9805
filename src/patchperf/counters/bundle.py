"""Programs of this machine with their libraries and loader in one folder, which runs in any root from any path."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter

from patchperf.counters.programs import elf_interpreter
from patchperf.errors import MachineError
from patchperf.sandbox.locks import exclusive

LICENCES = "licences.json"
_LOADER = "ld.so"
_NEEDED = re.compile(r"^\s*(?:(?P<name>\S+) => )?(?P<path>/\S+) \(0x", re.MULTILINE)
_LICENCE = re.compile(r"^License:[ \t]*(\S.*)$", re.MULTILINE)
_COMMON_LICENCE = re.compile(r"/usr/share/common-licenses/([\w.+-]*\w)")
_DOCUMENTS = Path("/usr/share/doc")


class Licence(BaseModel):
    """A package that gave files to a bundle, and the licences its copyright file names (none: read the file).

    ``package`` is empty for files that are of no package, such as those compiled here.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    package: str
    version: str
    files: tuple[str, ...]
    licences: tuple[str, ...]
    copyright: str | None


def bundle(cache: Path, name: str, programs: Sequence[Path], extra: Sequence[Path] = ()) -> Path:
    """A folder below ``cache`` with programs, all libraries they need, and the loader; made once for equal files.

    ``extra`` are further files for ``bin``. Within: ``bin/``, ``lib/``, ``licences/`` (copyright files by package) and
    ``licences.json`` (a list of ``Licence``). Raises MachineError where a program is missing.
    """
    missing = [str(program) for program in (*programs, *extra) if not program.is_file()]
    if missing:
        raise MachineError(f"cannot bundle {name}: {', '.join(missing)} is not installed")
    libraries = {library for program in programs for library in _libraries(program)}
    loaders = {loader for program in programs if (loader := elf_interpreter(program)) is not None}
    files = {
        **{f"bin/{path.name}": path for path in (*programs, *extra)},
        **{f"lib/{path.name}": path for path in libraries},
        **{f"lib/{_LOADER}": path for path in loaders},
    }
    folder = cache.absolute() / f"{name}-{_digest(files)}"
    if folder.exists():
        return folder
    with exclusive(cache / f"{name}.lock"):
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=cache, prefix=f"{folder.name}-") as scratch:
                half = Path(scratch) / folder.name
                _copy(files, half)
                _name_licences(files, half)
                half.rename(folder)
                folder.chmod(0o755)
    return folder


def starting(folder: Path, program: str) -> tuple[str, ...]:
    """The words that start a program of a bundle; paths to programs and arguments of its own come behind."""
    path = folder / "bin" / program
    loader = folder / "lib" / _LOADER
    if elf_interpreter(path) is None:
        return (str(path),)
    return (str(loader), "--inhibit-cache", "--library-path", str(folder / "lib"), str(path))


def licences(folder: Path) -> list[Licence]:
    """Whose files a bundle holds, and under which licences."""
    return TypeAdapter(list[Licence]).validate_json((folder / LICENCES).read_bytes())


def _libraries(program: Path) -> Iterator[Path]:
    loader = elf_interpreter(program)
    if loader is None:
        return
    told = subprocess.run([loader, "--list", program], capture_output=True, text=True, check=False)
    if told.returncode != 0 or "not found" in told.stdout:
        raise MachineError(f"cannot bundle {program}: not all of its libraries are there: {told.stdout.strip()}")
    for found in _NEEDED.finditer(told.stdout):
        if found["name"]:
            yield Path(found["path"])


def _digest(files: dict[str, Path]) -> str:
    whole = hashlib.sha256()
    for name in sorted(files):
        with files[name].open("rb") as file:
            whole.update(f"{name} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return whole.hexdigest()[:16]


def _copy(files: dict[str, Path], folder: Path) -> None:
    for name, path in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        target.chmod(0o755)


def _name_licences(files: dict[str, Path], folder: Path) -> None:
    packages: dict[str, list[str]] = {}
    for name, path in sorted(files.items()):
        packages.setdefault(_package(path), []).append(name)
    (folder / "licences").mkdir()
    entries = [_licence(package, names, folder) for package, names in sorted(packages.items())]
    text = json.dumps([entry.model_dump() for entry in entries], indent=1)
    (folder / LICENCES).write_text(text + "\n", "utf-8")


def _licence(package: str, files: list[str], folder: Path) -> Licence:
    source = _DOCUMENTS / package.partition(":")[0] / "copyright"
    text = source.read_text("utf-8", "replace") if source.exists() else None
    kept = None
    if text is not None:
        kept = f"licences/{source.parent.name}"
        (folder / kept).write_text(text, "utf-8")
    named = _LICENCE.findall(text or "") or _COMMON_LICENCE.findall(text or "")
    version = _asked("dpkg-query", "--show", "--showformat=${Version}", package) if package else ""
    return Licence(
        package=package, version=version, files=tuple(files), licences=tuple(sorted(set(named))), copyright=kept
    )


def _package(path: Path) -> str:
    """The package of a file; a merged /usr makes one file known under either name. Empty where none is known."""
    real = path.resolve()
    for name in dict.fromkeys((path, real, Path(str(real).removeprefix("/usr")), Path(f"/usr{path}"))):
        owner = _asked("dpkg", "--search", str(name)).partition(": ")[0]
        if owner and "," not in owner:
            return owner
    return ""


def _asked(*argv: str) -> str:
    if shutil.which(argv[0]) is None:
        return ""
    return subprocess.run(argv, capture_output=True, text=True, check=False).stdout.strip()
