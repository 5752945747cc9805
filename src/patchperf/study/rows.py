"""One instance with its candidates and environment, as the first stage leaves it for the jobs to come."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from patchperf.errors import InputError
from patchperf.sandbox.environments import EnvironmentSpec
from patchperf.sandbox.image_spec import ImageSpec
from patchperf.study.instance import Candidate, Instance

ROWS = Path("results/instances")


class Row(BaseModel):
    """An instance, what was predicted for it, and the environment its tests run in; None if nothing of it is run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    instance: Instance
    candidates: tuple[Candidate, ...]
    environment: EnvironmentSpec | ImageSpec | None


def row_path(instance_id: str, folder: Path = ROWS) -> Path:
    """Where an instance's row is kept."""
    return folder / f"{instance_id}.json"


def write_row(row: Row, folder: Path = ROWS) -> None:
    """Write a row; a patch that is not UTF-8 is kept as surrogates, which only plain ``json`` writes."""
    row_path(row.instance.instance_id, folder).write_text(json.dumps(row.model_dump()), "ascii")


def read_row(instance_id: str, folder: Path = ROWS) -> Row:
    """Read a row; raises InputError if it is not there or not whole."""
    path = row_path(instance_id, folder)
    try:
        return Row.model_validate(json.loads(path.read_bytes()))
    except (FileNotFoundError, ValueError):
        raise InputError(
            f"{path} is missing, cut short, or of another version: delete {folder} and run again"
        ) from None
