"""Benchmark rows, whatever file or hub they come from, as instances."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow  # type: ignore[import-untyped]
import pyarrow.parquet  # type: ignore[import-untyped]

from patchperf import config
from patchperf.errors import InputError
from patchperf.study.instance import INSTANCE_ID, Instance

FORMATS = (".parquet", ".json", ".jsonl")
START, END = ": '>>>>> Start Test Output'", ": '>>>>> End Test Output'"
FILE_NAME = r"[A-Za-z0-9._-]*[A-Za-z0-9_-][A-Za-z0-9._-]*"
PATTERNS = {
    "instance_id": INSTANCE_ID,
    "repo": f"{FILE_NAME}/{FILE_NAME}",
    "base_commit": r"[0-9a-f]{40}|[0-9a-f]{64}",
}
"""What these fields have to look like: they become names of files and arguments of git."""

Row = Mapping[str, Any]
Numbered = tuple[str, Row]
"""A row with the words that tell where it stands, such as "row 3"."""


def load_instances(dataset: config.Dataset, folders: tuple[Path, ...]) -> list[Instance]:
    """The instances of a dataset, in its order.

    A ``path`` is a file (parquet, JSON list, JSON object by instance id, JSON lines; its suffix decides) or a folder of
    parquet files; of such a folder, files named after the split (``test-00000-of-00001.parquet``) are taken if there
    are any, else all. A ``hub`` id is loaded through the ``datasets`` library.

    Rows may be SWE-bench 5 (the native test command stands in ``eval_script``), older SWE-bench, or SWE-bench-Live
    (``test_cmds``). Raises InputError that names file, row, instance and field.
    """
    if dataset.path is not None:
        path = config.resolve_path(dataset.path, folders)
        where, rows = str(path), _rows_of(path, dataset.split)
    else:
        where = f"{dataset.hub} ({dataset.split}{f', {dataset.revision}' if dataset.revision else ''})"
        rows = _hub_rows(dataset)
    places: dict[str, str] = {}
    instances = []
    for place, row in rows:
        instance = parse_row(row, dataset.name, f"{where}: {place}")
        first = places.setdefault(instance.instance_id, place)
        if first != place:
            raise InputError(f"{where}: {place}: instance_id {instance.instance_id} is already in {first}")
        instances.append(instance)
    if not instances:
        raise InputError(f"{where}: no rows; see dataset {dataset.name}")
    return instances


def select_instances(instances: Sequence[Instance], only: tuple[str, ...] | None) -> list[Instance]:
    """The instances whose ids are listed, in their own order; all of them without a list.

    Raises InputError for ids that no instance has.
    """
    if only is None:
        return list(instances)
    unknown = sorted(set(only) - {instance.instance_id for instance in instances})
    if unknown:
        raise InputError(f"instances: in no dataset: {', '.join(unknown)}; correct the ids or drop them")
    return [instance for instance in instances if instance.instance_id in only]


def parse_row(row: Row, dataset: str, where: str) -> Instance:
    """One benchmark row as an instance; raises InputError whose text starts with ``where``."""
    instance_id = _text(row, "instance_id", where)
    where = f"{where}, {instance_id}"
    fail_to_pass = _list(row, "FAIL_TO_PASS", where)
    if row.get("FAIL_TO_PASS") in (None, ""):
        raise InputError(f"{where}: field FAIL_TO_PASS is missing or empty")
    live = row.get("test_cmds") is not None
    image = row.get("docker_image" if live else "image") or (_live_image(instance_id) if live else "")
    return Instance(
        instance_id=instance_id,
        dataset=dataset,
        dialect="swe-bench-live" if live else "swe-bench",
        repo=_text(row, "repo", where),
        base_commit=_text(row, "base_commit", where),
        version="" if row.get("version") is None else str(row["version"]),
        patch=_text(row, "patch", where),
        test_patch=_text(row, "test_patch", where),
        fail_to_pass=fail_to_pass,
        pass_to_pass=_list(row, "PASS_TO_PASS", where),
        test_commands=_live_commands(row, where) if live else _native_commands(row, where),
        log_parser=str(row.get("log_parser") or ""),
        image=str(image),
    )


def _text(row: Row, field: str, where: str) -> str:
    value = row.get(field)
    if value is None or (isinstance(value, str) and not value.strip()):
        raise InputError(f"{where}: field {field} is missing or empty")
    if not isinstance(value, str):
        raise InputError(f"{where}: field {field} is {type(value).__name__}, expected text")
    if field in PATTERNS and not re.fullmatch(PATTERNS[field], value):
        raise InputError(f"{where}: field {field} = {value!r} is not of the form {PATTERNS[field]}")
    return value


def _list(row: Row, field: str, where: str) -> tuple[str, ...]:
    """A list of texts, given as such or as JSON text; empty where the field is missing or empty."""
    value = row.get(field)
    if isinstance(value, str):
        try:
            value = json.loads(value) if value.strip() else None
        except (ValueError, RecursionError) as error:
            raise InputError(f"{where}: field {field} is no JSON list: {error}") from None
    if value is None:
        return ()
    if isinstance(value, str | bytes | Mapping) or not hasattr(value, "__iter__"):
        raise InputError(f"{where}: field {field} is {type(value).__name__}, expected a list")
    names = tuple(value)
    if not all(isinstance(name, str) and name for name in names):
        raise InputError(f"{where}: field {field} holds something else than non-empty texts")
    broken = next((name for name in names if re.search("[\ud800-\udfff]", name)), None)
    if broken is not None:
        raise InputError(f"{where}: field {field} holds half a character: {broken!r}")
    return names


def _native_commands(row: Row, where: str) -> tuple[str, ...]:
    """The lines between the output marks of ``eval_script``; empty without such a script."""
    script = row.get("eval_script")
    if not script:
        return ()
    lines = [line.strip() for line in str(script).splitlines()]
    if START not in lines or END not in lines[lines.index(START) :]:
        raise InputError(f"{where}: field eval_script lacks the lines {START} and {END}")
    start = lines.index(START)
    commands = tuple(line for line in lines[start + 1 : lines.index(END, start)] if line)
    if not commands:
        raise InputError(f"{where}: field eval_script has no command between {START} and {END}")
    return commands


def _live_commands(row: Row, where: str) -> tuple[str, ...]:
    commands = _list(row, "test_cmds", where)
    if not commands:
        raise InputError(f"{where}: field test_cmds is empty")
    return commands


def _live_image(instance_id: str) -> str:
    """The image that SWE-bench-Live means where a row names none."""
    return f"starryzhang/sweb.eval.x86_64.{instance_id.replace('__', '_1776_').lower()}"


def _rows_of(path: Path, split: str) -> Iterator[Numbered]:
    if path.is_dir():
        return _folder_rows(path, split)
    readers = {".parquet": _parquet_rows, ".json": _json_rows, ".jsonl": _json_lines}
    if path.suffix not in readers:
        raise InputError(f"{path}: suffix {path.suffix or '(none)'} is not one of {', '.join(FORMATS)}")
    return readers[path.suffix](path)


def _folder_rows(folder: Path, split: str) -> Iterator[Numbered]:
    files = sorted(folder.rglob("*.parquet"))
    of_split = [file for file in files if re.fullmatch(rf"{re.escape(split)}(-.*)?\.parquet", file.name)]
    if not files:
        raise InputError(f"{folder}: a folder without parquet files; give a file ({', '.join(FORMATS)}) instead")
    for file in of_split or files:
        for place, row in _parquet_rows(file):
            yield f"{file.relative_to(folder)}, {place}", row


def _parquet_rows(path: Path) -> Iterator[Numbered]:
    try:
        rows = pyarrow.parquet.ParquetFile(path).read().to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        raise InputError(f"{path}: not readable as parquet: {' '.join(str(error).split())}") from None
    return ((f"row {number}", row) for number, row in enumerate(rows, 1))


def _json_rows(path: Path) -> Iterator[Numbered]:
    try:
        content = json.loads(path.read_text("utf-8-sig"))
    except (ValueError, RecursionError, OSError) as error:
        raise InputError(f"{path}: not readable as JSON: {error}") from None
    if isinstance(content, dict):
        for number, (key, row) in enumerate(content.items(), 1):
            place = f"row {number}, key {key}"
            named = {"instance_id": key, **_object(row, f"{path}: {place}")}
            if named["instance_id"] != key:
                raise InputError(f"{path}: {place}: field instance_id = {named['instance_id']!r} differs from the key")
            yield place, named
    elif isinstance(content, list):
        for number, row in enumerate(content, 1):
            yield f"row {number}", _object(row, f"{path}: row {number}")
    else:
        raise InputError(f"{path}: {type(content).__name__} at top level, expected a list of rows or an object by id")


def _json_lines(path: Path) -> Iterator[Numbered]:
    try:
        lines = path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line.decode("utf-8"))
        except json.JSONDecodeError as error:
            raise InputError(f"{path}: line {number}: no JSON: {error.msg} at column {error.colno}") from None
        except RecursionError:
            raise InputError(f"{path}: line {number}: nested too deeply") from None
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: line {number}: no UTF-8: {error.reason} at byte {error.start + 1}") from None
        yield f"line {number}", _object(row, f"{path}: line {number}")


def _object(row: Any, where: str) -> Row:
    if not isinstance(row, dict):
        raise InputError(f"{where}: {type(row).__name__}, expected an object")
    return row


def _hub_rows(dataset: config.Dataset) -> Iterator[Numbered]:
    advice = f"or pass a file instead: path: FILE ({', '.join(FORMATS)}) in place of hub"
    try:
        import datasets  # noqa: PLC0415
    except ImportError:
        raise InputError(
            f"dataset {dataset.name}: hub needs the datasets library: install patchperf[hub], {advice}"
        ) from None
    try:
        rows = datasets.load_dataset(dataset.hub, split=dataset.split, revision=dataset.revision)
    except Exception as error:  # the library, and what it calls, raise errors of many kinds
        said = " ".join(str(error).split()) or type(error).__name__
        raise InputError(
            f"dataset {dataset.name}: {dataset.hub} (split {dataset.split}) cannot be loaded: {said}; check the id and "
            f"the connection (HF_HUB_OFFLINE), {advice}"
        ) from None
    return ((f"row {number}", row) for number, row in enumerate(rows, 1))
