"""The images that a study's cases were measured in, by the digests under which they were first found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import BaseModel, ConfigDict

from patchperf.errors import InputError
from patchperf.pages.study import case_row
from patchperf.sandbox.image_spec import ImageSpec
from patchperf.stats.samples import of_corpus

ENVIRONMENTS = "environments"


class CaseImage(BaseModel):
    """An image: its name in the dataset, the id of its content, its name by digest where it was pulled, and its cases.

    The id is the one by which every command was run; the digest is that of the registry's manifest.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    reference: str
    id: str
    repo_digest: str | None
    cases: tuple[str, ...]


def case_images(results: Path) -> tuple[CaseImage, ...]:
    """The images of all cases, by name; none where cases ran in environments of this machine.

    Raises InputError for a case whose image has no record in ``environments``.
    """
    users: dict[str, list[str]] = {}
    members, ledger = (pd.read_parquet(results / f"{name}.parquet") for name in ("cases", "ledger"))
    for instance in sorted(set(of_corpus(members, ledger)["instance_id"])):
        spec = case_row(instance, results / "instances").environment
        if isinstance(spec, ImageSpec):
            users.setdefault(spec.image, []).append(instance)
    found = _found(results / ENVIRONMENTS) if users else {}
    if missing := sorted(set(users).difference(found)):
        raise InputError(
            f"{results / ENVIRONMENTS}: no record of image {missing[0]}: in a study delete the folder and run again, "
            "into a copy of its results copy it as well"
        )
    return tuple(_image(found[name], users[name]) for name in sorted(users))


def _image(told: dict[str, Any], cases: list[str]) -> CaseImage:
    return CaseImage(reference=told["reference"], id=told["id"], repo_digest=told["repo_digest"], cases=tuple(cases))


def _found(folder: Path) -> dict[str, dict[str, Any]]:
    """What ``results/environments`` tells of each image, by its name."""
    found = {}
    for file in sorted(folder.glob("*.json")):
        try:
            image = json.loads(file.read_bytes()).get("image")
            if image:
                found[str(image["reference"])] = {name: image[name] for name in ("reference", "id", "repo_digest")}
        except (ValueError, KeyError, AttributeError, TypeError):
            raise InputError(f"{file}: cut short, or of another version: delete it and run again") from None
    return found
