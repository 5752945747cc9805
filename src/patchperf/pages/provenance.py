"""What a study's numbers rest on, from what its runs recorded: ``provenance.json``, and the same for people."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
from pydantic import BaseModel, ConfigDict

from patchperf.analysis.records import SETTINGS_FILE
from patchperf.errors import InputError
from patchperf.pages.images import CaseImage, case_images
from patchperf.software import software
from patchperf.study.host import Host
from patchperf.study.origins import Origins

T = TypeVar("T")


class Measuring(BaseModel):
    """What the rows of measurements say of the conditions they were taken under; sorted distinct values."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rows: int
    void: int
    first: str | None
    last: str | None
    backends: dict[str, list[str]]
    isolation: list[str]
    confinement: list[str]
    hosts: list[str]
    pythons: list[str]
    hash_seeds: list[int]
    layouts: list[int]
    garbage_collectors: list[str]
    emulators: list[str]


class Provenance(BaseModel):
    """All of provenance.json; ``analysis`` is the software that made the tables, not the one that measured."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    inputs: Origins
    settings: dict[str, Any]
    host: Host
    images: tuple[CaseImage, ...]
    measuring: Measuring
    analysis: dict[str, str]


def provenance(results: Path) -> Provenance:
    """The provenance of a study from its raw records; raises InputError for one that cannot be read."""
    inputs = _read(results / "inputs.json", Origins.model_validate_json)
    host = _read(results / "host.json", Host.model_validate_json)
    settings = _read(results / SETTINGS_FILE, json.loads)
    measurements = pd.read_parquet(results / "measurements.parquet")
    return Provenance(
        inputs=inputs,
        settings=settings,
        host=host,
        images=case_images(results),
        measuring=measuring(measurements),
        analysis=software(),
    )


def measuring(rows: pd.DataFrame) -> Measuring:
    """The conditions that measurements tell; all empty for a table without rows."""

    def distinct(column: str) -> list[Any]:
        return sorted(rows[column].dropna().unique().tolist()) if column in rows else []

    started = rows["started_at"] if len(rows) else pd.Series(dtype="datetime64[us, UTC]")
    backends = {metric: sorted(set(some["backend"])) for metric, some in rows.groupby("metric")} if len(rows) else {}
    return Measuring(
        rows=len(rows),
        void=int(rows["void"].sum()) if len(rows) else 0,
        first=started.min().isoformat() if len(rows) else None,
        last=started.max().isoformat() if len(rows) else None,
        backends={str(metric): names for metric, names in backends.items()},
        isolation=distinct("isolation"),
        confinement=distinct("confinement"),
        hosts=distinct("host"),
        pythons=distinct("python"),
        hash_seeds=distinct("hash_seed"),
        layouts=distinct("layout"),
        garbage_collectors=distinct("garbage_collector"),
        emulators=distinct("emulator"),
    )


def sections(known: Provenance) -> dict[str, list[tuple[str, str]]]:
    """The provenance in titled lists of what and how, for people."""
    told = [(one.reference, _parts(one.model_dump(mode="json", exclude={"reference"}))) for one in known.images]
    images = {"Images of the cases": told} if told else {}
    return {
        "Datasets": [(one.name, _parts(one.model_dump(exclude={"name"}))) for one in known.inputs.datasets],
        "Sources": [(one.name, _parts(one.model_dump(exclude={"name"}))) for one in known.inputs.sources],
        "Machine and counter": list(_machine(known)),
        **images,
        "Measurements": [(name.replace("_", " "), _value(value)) for name, value in known.measuring],
        "Settings": [(name, _value(value)) for name, value in known.settings.items()],
        "Software that read the inputs": list(known.inputs.software.items()),
        "Software that measured": list(known.host.software.items()) or [("not recorded", "")],
        "Software that made the tables": list(known.analysis.items()),
    }


def _read(path: Path, parse: Callable[[bytes], T]) -> T:
    try:
        return parse(path.read_bytes())
    except (OSError, ValueError):
        raise InputError(f"{path}: missing, cut short, or of another version: delete it and run again") from None


def _machine(known: Provenance) -> Iterator[tuple[str, str]]:
    host = known.host
    yield "machine", host.host
    yield "kernel", host.kernel or "not recorded"
    yield "counter backend", f"{host.counter.backend}: {host.counter.reason}"
    yield from ((f"tried: {name}", told) for name, told in host.counter.tried.items())
    if host.emulation is not None:
        yield "emulation", _parts(host.emulation.model_dump(mode="json"))
    yield "confinement", ": ".join(filter(None, (host.confinement, host.warning)))
    yield "variables of every command", _parts(host.environment)


def _parts(values: Mapping[str, Any]) -> str:
    return "; ".join(f"{name}: {_value(value)}" for name, value in values.items() if value not in ("", None, [], {}))


def _value(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(one, str | int) for one in value):
        return ", ".join(map(str, value)) or "none"
    return json.dumps(value, ensure_ascii=False)
