"""Where a study's inputs come from, and digests of what they were: the record ``results/inputs.json``."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from patchperf.config import Config, resolve_path
from patchperf.software import software
from patchperf.study.inputs import Folders, Inputs
from patchperf.study.instance import content_digest


class DatasetOrigin(BaseModel):
    """A dataset: file or hub id, and digests of its file and of the rows taken from it.

    ``revision`` is what the configuration asked for. ``file`` is empty for a hub; ``rows`` covers all that can change a
    verdict, whatever file the rows stood in.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    origin: str
    split: str
    revision: str
    instances: int
    rows: str
    file: str


class SourceOrigin(BaseModel):
    """A source: its predictions, and digests of their file or folder and of the candidates taken from it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    predictions: str
    candidates: int
    patches: str
    file: str


class Origins(BaseModel):
    """What a study was given, and the software that read it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    datasets: tuple[DatasetOrigin, ...]
    sources: tuple[SourceOrigin, ...]
    software: dict[str, str]


def origins(inputs: Inputs, config: Config, folders: Folders) -> Origins:
    """The origins of inputs that were loaded by a configuration."""
    datasets = []
    for dataset in config.datasets:
        rows = [instance for instance in inputs.instances if instance.dataset == dataset.name]
        datasets.append(
            DatasetOrigin(
                name=dataset.name,
                origin=dataset.path or dataset.hub or "",
                split="" if dataset.path else dataset.split,
                revision=dataset.revision or "",
                instances=len(rows),
                rows=content_digest(sorted(instance.digest for instance in rows)),
                file=path_digest(resolve_path(dataset.path, folders)) if dataset.path else "",
            )
        )
    sources = []
    for source in config.sources:
        given = [one for some in inputs.candidates.values() for one in some if one.source == source.name]
        sources.append(
            SourceOrigin(
                name=source.name,
                predictions=source.predictions,
                candidates=len(given),
                patches=content_digest(sorted((one.instance_id, one.digest) for one in given)),
                file=path_digest(resolve_path(source.predictions, folders)),
            )
        )
    return Origins(datasets=tuple(datasets), sources=tuple(sources), software=software())


def path_digest(path: Path) -> str:
    """SHA-256 (hex) of a file as it is; of a folder, over the names and digests of its files."""
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    return content_digest([(str(one.relative_to(path)), path_digest(one)) for one in _files(path)])


def _files(folder: Path) -> Iterable[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())
