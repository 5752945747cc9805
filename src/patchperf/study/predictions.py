"""Model patches, in the layouts that agents and leaderboards write them, as candidates."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from patchperf import config
from patchperf.errors import InputError
from patchperf.study.instance import Candidate

MERGED = ("preds.json", "all_preds.jsonl", "predictions.json", "predictions.jsonl")
RESOLVED_KEYS = ("resolved_ids", "resolved")

Row = Mapping[str, Any]
Placed = tuple[str, Row]
"""A row with the words that tell where it stands, such as "FILE: line 3"."""


@dataclass(frozen=True)
class Predictions:
    """A source's candidates for instances of the datasets, by instance id; ``outside`` counts its other rows."""

    candidates: tuple[Candidate, ...]
    outside: int


def load_predictions(source: config.Source, known: Collection[str], folders: tuple[Path, ...]) -> Predictions:
    """The predictions of a source for the ``known`` instance ids.

    A file is JSON lines or JSON (a list of rows, one row, or an object by instance id whose values are rows or
    patches), each row with ``instance_id`` and ``model_patch``. In a folder, the first of MERGED that is there counts
    alone; else all ``*.pred`` files below it (one JSON row each) and, for instances without one,
    ``<instance id>.patch`` files and ``<instance id>/patch.diff``. A missing or null ``model_patch`` is an empty patch.
    Bytes that are no UTF-8 stay in the patch as surrogates, and so do lone surrogates that JSON escapes spell out, by
    their bytes: ``patch.encode("utf-8", "surrogateescape")`` always works.

    Raises InputError that names file and row; also when two rows are for one instance, or none for a known one.
    """
    path = config.resolve_path(source.predictions, folders)
    where = f"source {source.name}: {path}"
    rows = list(_folder_rows(path) if path.is_dir() else _file_rows(path))
    if rows and not any("model_patch" in row for _, row in rows):
        keys = ", ".join(map(str, rows[0][1])) or "none"
        raise InputError(f"{where}: no row has a model_patch; keys of the first row: {keys}")
    places: dict[str, str] = {}
    patches: dict[str, str] = {}
    for place, row in rows:
        instance_id = row.get("instance_id")
        if not isinstance(instance_id, str) or not instance_id:
            raise InputError(f"source {source.name}: {place}: field instance_id is missing or no text")
        if instance_id in places:
            raise InputError(f"source {source.name}: {place}: {instance_id} is already in {places[instance_id]}")
        places[instance_id] = place
        patches[instance_id] = _patch(row, f"source {source.name}: {place}, {instance_id}")
    inside = sorted(set(patches) & set(known))
    if not inside:
        first = f" ({next(iter(patches))}, …)" if patches else ""
        raise InputError(
            f"{where}: none of its {len(patches)} predictions{first} is for an instance of the datasets; "
            "give the predictions for them, or drop the source"
        )
    resolved = _resolved(source, folders)
    candidates = tuple(
        Candidate(
            instance_id=instance_id,
            source=source.name,
            patch=patches[instance_id],
            reported_resolved=None if resolved is None else instance_id in resolved,
        )
        for instance_id in inside
    )
    return Predictions(candidates=candidates, outside=len(patches) - len(inside))


def count_predictions(predictions: Mapping[str, Predictions], studied: Collection[str]) -> pd.DataFrame:
    """How many predictions each source has, and how many of them the study has no use for.

    One row per source; ``predictions`` = ``outside`` (for instances of no dataset) + ``left_out`` (for instances that
    the configuration does not select) + ``candidates`` (for the instance ids in ``studied``).
    """
    rows = []
    for source, given in predictions.items():
        candidates = sum(candidate.instance_id in studied for candidate in given.candidates)
        inside = len(given.candidates)
        rows.append((source, inside + given.outside, given.outside, inside - candidates, candidates))
    return pd.DataFrame(rows, columns=["source", "predictions", "outside", "left_out", "candidates"])


def _patch(row: Row, where: str) -> str:
    patch = row.get("model_patch")
    if patch is None:
        return ""
    if not isinstance(patch, str):
        raise InputError(f"{where}: field model_patch is {type(patch).__name__}, expected text")
    return _encodable(patch)


def _encodable(text: str) -> str:
    """The text with surrogates that stand for no byte replaced by those that stand for their UTF-8-like bytes."""
    return re.sub(
        "[\ud800-\udc7f\udd00-\udfff]",
        lambda found: found[0].encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape"),
        text,
    )


def _file_rows(path: Path) -> Iterator[Placed]:
    if path.suffix == ".jsonl":
        return _json_lines(path)
    if path.suffix == ".json":
        return _json_rows(path)
    raise InputError(f"{path}: suffix {path.suffix or '(none)'} is not one of .json, .jsonl, and it is no folder")


def _json_lines(path: Path) -> Iterator[Placed]:
    for number, line in enumerate(_read(path).split("\n"), 1):
        if line.strip():
            place = f"{path}: line {number}"
            yield place, _object(_parse(line, place), place)


def _json_rows(path: Path) -> Iterator[Placed]:
    content = _parse(_read(path), str(path))
    if isinstance(content, list):
        for number, row in enumerate(content, 1):
            yield f"{path}: row {number}", _object(row, f"{path}: row {number}")
    elif isinstance(content, dict) and isinstance(content.get("instance_id"), str):
        yield str(path), content
    elif isinstance(content, dict):
        for key, value in content.items():
            yield f"{path}: key {key}", _keyed_row(key, value, f"{path}: key {key}")
    else:
        raise InputError(f"{path}: {type(content).__name__} at top level, expected a list or an object")


def _keyed_row(key: str, value: Any, place: str) -> Row:
    if value is None or isinstance(value, str):
        return {"instance_id": key, "model_patch": value}
    row = {"instance_id": key, **_object(value, place)}
    if row["instance_id"] != key:
        raise InputError(f"{place}: field instance_id = {row['instance_id']!r} differs from the key")
    return row


def _folder_rows(folder: Path) -> Iterator[Placed]:
    for name in MERGED:
        if (folder / name).is_file():
            return _file_rows(folder / name)
    return _loose_rows(folder)


def _loose_rows(folder: Path) -> Iterator[Placed]:
    """The rows of files that hold one instance each."""
    predicted = set()
    for file in sorted(folder.rglob("*.pred")):
        row = _object(_parse(_read(file), str(file)), str(file))
        predicted.add(row.get("instance_id"))
        yield str(file), row
    patches = {file: file.stem for file in sorted(folder.rglob("*.patch"))}
    patches |= {file: file.parent.name for file in sorted(folder.rglob("*/patch.diff"))}
    if not predicted and not patches:
        raise InputError(f"{folder}: neither {', '.join(MERGED)} nor *.pred, *.patch or */patch.diff files in it")
    for file, instance_id in patches.items():
        if instance_id not in predicted:
            yield str(file), {"instance_id": instance_id, "model_patch": _read(file)}


def _resolved(source: config.Source, folders: tuple[Path, ...]) -> frozenset[str] | None:
    """The instance ids that a source's authors report as resolved; None where no list is given.

    The file is JSON: a list of ids, an object of such lists by source, a report with ``resolved_ids`` or ``resolved``,
    or the harness's reports by instance (``{id: {"resolved": true, …}}``).
    """
    if source.resolved is None or isinstance(source.resolved, tuple):
        return None if source.resolved is None else frozenset(source.resolved)
    path = config.resolve_path(source.resolved, folders)
    content = _parse(_read(path), str(path))
    if isinstance(content, dict):
        content = _resolved_list(content, source.name, path)
    if not isinstance(content, list) or not all(isinstance(instance_id, str) for instance_id in content):
        raise InputError(f"source {source.name}: {path}: the resolved instances are no list of ids")
    return frozenset(content)


def _resolved_list(content: dict[str, Any], name: str, path: Path) -> Any:
    for key in (name, *RESOLVED_KEYS):
        if key in content:
            return content[key]
    if content and all(isinstance(report, dict) and "resolved" in report for report in content.values()):
        return [instance_id for instance_id, report in content.items() if report["resolved"] is True]
    keys = ", ".join(sorted(content)[:10])
    raise InputError(f"source {name}: {path}: no key {' or '.join((name, *RESOLVED_KEYS))}; keys there: {keys}")


def _read(path: Path) -> str:
    try:
        return path.read_bytes().removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None


def _parse(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        at = f"line {error.lineno}, column" if "\n" in text else "column"
        raise InputError(f"{where}: no JSON: {error.msg} at {at} {error.colno}") from None


def _object(row: Any, where: str) -> Row:
    if not isinstance(row, dict):
        raise InputError(f"{where}: {type(row).__name__}, expected an object")
    return row
