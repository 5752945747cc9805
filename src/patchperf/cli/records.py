"""What a results folder holds on one instance, as far as its study has come."""

from __future__ import annotations

import csv
import difflib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pyarrow  # type: ignore[import-untyped]
import pyarrow.parquet  # type: ignore[import-untyped]

from patchperf.errors import InputError
from patchperf.study.probe import Probe
from patchperf.study.reproduction import Reproduction
from patchperf.study.rows import Row, read_row
from patchperf.study.verdicts import Verdicts

T = TypeVar("T")


@dataclass(frozen=True)
class Listed:
    """An instance as the manifest lists it: number of F2P tests, and the digests its records have to carry."""

    instance_id: str
    dataset: str
    repo: str
    f2p: int
    selected: bool
    reproduce: str
    probe: str
    grade: str


@dataclass(frozen=True)
class Solution:
    """A distinct solution of a case and its sources; ``case`` is the digest its measurements have to carry."""

    case: str
    solution: str
    sources: tuple[str, ...]


@dataclass(frozen=True)
class Measured:
    """Whether the case with a digest could be measured (or counted); if not, why; and which solutions could not."""

    case: str
    reason: str
    evidence: str
    dropped: tuple[str, ...] = ()


@dataclass(frozen=True)
class Records:
    """All records on one instance; None or empty where the study has not come to them, or has no reason to.

    ``statistics`` are the instance's rows of results/tables/cases.csv, one per metric, as text.
    """

    listed: Listed
    row: Row | None = None
    reproduction: Reproduction | None = None
    probe: Probe | None = None
    verdicts: Verdicts | None = None
    solutions: tuple[Solution, ...] = ()
    measured: Measured | None = None
    counted: Measured | None = None
    statistics: tuple[Mapping[str, str], ...] = ()


def read_records(results: Path, instance_id: str) -> Records:
    """The records on an instance; raises InputError if there is no such folder or instance, or one cannot be read."""
    listed = find_listed(read_manifest(results), instance_id, results)

    def record(folder: str, parse: Callable[[bytes], T]) -> T | None:
        return _parsed(results / folder / f"{instance_id}.json", parse)

    return Records(
        listed=listed,
        row=_parsed(
            results / "instances" / f"{instance_id}.json", lambda _: read_row(instance_id, results / "instances")
        ),
        reproduction=record("reproductions", Reproduction.model_validate_json),
        probe=record("probes", Probe.model_validate_json),
        verdicts=record("grades", Verdicts.model_validate_json),
        solutions=tuple(
            Solution(one["case"], one["solution"], tuple(one["sources"]))
            for one in _table(results / "cases.parquet", ["instance_id", "case", "solution", "sources"])
            if one["instance_id"] == instance_id
        ),
        measured=record("measurements", _measured),
        counted=record("counts", _measured),
        statistics=_statistics(results / "tables" / "cases.csv", instance_id),
    )


def read_manifest(results: Path) -> list[Listed]:
    """All instances of a study; raises InputError if the folder is not that of one."""
    manifest = results / "instances.parquet"
    if not results.is_dir():
        raise InputError(f"{results}: no such folder: name a study's results with --results, or make them: snakemake")
    if not manifest.exists():
        inside = results / "results"
        hint = f"did you mean --results {inside}?" if inside.is_dir() else "snakemake makes it in a study's folder"
        raise InputError(f"{manifest}: not there (stage: instances): {hint}")
    return [Listed(**one) for one in _table(manifest, list(Listed.__dataclass_fields__))]


def find_listed(everyone: Sequence[Listed], instance_id: str, results: Path) -> Listed:
    """The instance of a name; raises InputError that suggests those with similar names."""
    for listed in everyone:
        if listed.instance_id == instance_id:
            return listed
    near = similar([listed.instance_id for listed in everyone], instance_id)
    hint = f"did you mean {' or '.join(near)}?" if near else "it lists every instance of the study"
    raise InputError(f"{instance_id}: no such instance in {results / 'instances.parquet'}: {hint}")


def similar(names: Sequence[str], wanted: str, most: int = 3) -> list[str]:
    """Names that contain what is wanted, else those that are spelt alike; the case of letters does not matter."""
    lower = {name.lower(): name for name in names}
    containing = [name for key, name in lower.items() if wanted and wanted.lower() in key]
    near = [lower[key] for key in difflib.get_close_matches(wanted.lower(), lower, n=most, cutoff=0.7)]
    return (containing or near)[:most]


def _parsed(path: Path, parse: Callable[[bytes], T]) -> T | None:
    try:
        return parse(path.read_bytes())
    except FileNotFoundError:
        return None
    except (ValueError, KeyError):
        raise InputError(_unreadable(path)) from None


def _measured(content: bytes) -> Measured:
    record: dict[str, Any] = json.loads(content)
    return Measured(record["case"], record["reason"], record["evidence"], tuple(record.get("dropped", {}).values()))


def _table(path: Path, columns: Sequence[str]) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    try:
        rows: list[dict[str, Any]] = pyarrow.parquet.ParquetFile(path).read(columns=list(columns)).to_pylist()
    except (pyarrow.ArrowException, OSError):
        raise InputError(_unreadable(path)) from None
    if rows and set(columns) - rows[0].keys():
        raise InputError(_unreadable(path))
    return rows


def _statistics(path: Path, instance_id: str) -> tuple[Mapping[str, str], ...]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return tuple(row for row in csv.DictReader(file) if row.get("instance_id") == instance_id)
    except FileNotFoundError:
        return ()


def _unreadable(path: Path) -> str:
    return (
        f"{path}: cut short, or of another version of patchperf: if no run is writing it now, delete it and run again"
    )
