"""The raw records of a study: all that its tables, figures, findings and pages are made from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import numpy as np
import pandas as pd
import pyarrow  # type: ignore[import-untyped]
import pyarrow.parquet  # type: ignore[import-untyped]
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from patchperf.config import Quality
from patchperf.errors import InputError
from patchperf.quality.outcomes import ORDER
from patchperf.quality.schema import COUNTS
from patchperf.stats.schema import CALLS, LEDGER, MEASUREMENTS, MEMBERS, OUTCOMES, SOURCES, Schema, typed
from patchperf.study.host import Host
from patchperf.study.instance import INSTANCE_ID
from patchperf.study.origins import Origins

TABLES: dict[str, Schema] = {
    "measurements": {**MEASUREMENTS, **CALLS},
    "cases": MEMBERS,
    "ledger": LEDGER,
    "outcomes": OUTCOMES,
    "sources": SOURCES,
    "patches": COUNTS,
}
"""Tables (``NAME.parquet``), each with the columns that it has to have if it has rows."""

KEYS: Mapping[str, tuple[str, ...]] = {
    "cases": ("instance_id", "solution"),
    "outcomes": ("instance_id", "source"),
    "sources": ("source",),
    "patches": ("instance_id", "source"),
}
"""The columns that tell a table's rows apart."""

NEVER_BLANK = ("instance_id", "metric", "backend", "not_covered")
NUMBERS_OF_THINGS = ("complexity", "complexity_reference", "findings", "findings_reference", "lines")

_RECORDS: Mapping[str, type[BaseModel]] = {"host.json": Host, "inputs.json": Origins}

FILES = tuple(_RECORDS)
"""The record of the machine, and that of what the study was given."""

SETTINGS_FILE = "settings/study.json"
"""The settings of the study, but for where it keeps what it works with."""


Record = TypeVar("Record", bound=BaseModel)


class SourceSettings(BaseModel):
    """What the analysis has to know of a source."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    name: str
    previous: str | None = None


class Settings(BaseModel):
    """The settings that the analysis depends on."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    alpha: float = Field(gt=0, lt=1)
    collapse: float = Field(gt=0, lt=1)
    practical_threshold: float = Field(ge=0)
    quality: Quality
    seed: int = Field(ge=0)
    sources: tuple[SourceSettings, ...] = ()

    @property
    def previous(self) -> dict[str, str]:
        """The source of the run before, by the name of each that has one."""
        return {source.name: source.previous for source in self.sources if source.previous is not None}


def check_records(raw: Path) -> None:
    """Raise InputError, one line that names the file, unless all tables and files of a study are there and readable.

    Instance ids have to look as ids do, for they become names of files; outcomes are words of ``ORDER``; and the rows
    of a table differ in their ``KEYS``.
    """
    if not raw.is_dir():
        raise InputError(f"{raw}: no such folder: name a study's results, or a copy with its raw records")
    if not (raw / "measurements.parquet").exists() and (raw / "results").is_dir():
        raise InputError(f"{raw}: holds no records: did you mean {raw / 'results'}?")
    needed = [*(f"{table}.parquet" for table in TABLES), *FILES, SETTINGS_FILE, "instances"]
    missing = [name for name in needed if not (raw / name).exists()]
    if missing:
        raise InputError(
            f"{raw}: not there: {', '.join(missing)}: give a finished study's results, or copy it from there"
        )
    tables = {name: _read_table(raw / f"{name}.parquet", schema) for name, schema in TABLES.items()}
    for name, table in tables.items():
        _check_rows(raw / f"{name}.parquet", table, KEYS.get(name, ()))
    for name in ("cases", "measurements"):
        if strange := sorted(set(tables[name]["instance_id"]).difference(tables["ledger"]["instance_id"])):
            raise InputError(
                f"{raw / 'ledger.parquet'}: no row for {strange[0]}, which {name}.parquet has: copy it from the study, "
                f"with {name}.parquet"
            )
    for name, record in _RECORDS.items():
        _read_record(raw / name, record)
    read_settings(raw)


def read_settings(raw: Path) -> Settings:
    """The settings that the study was analysed with; raises InputError that names the file or the setting."""
    return _read_record(raw / SETTINGS_FILE, Settings)


def _read_record(file: Path, record: type[Record]) -> Record:
    try:
        return record.model_validate_json(file.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        told = (
            ".".join(map(str, first["loc"])) + f": {first['msg']}" if first["loc"] else "cut short, or no such record"
        )
    except OSError as error:
        told = str(error.strerror)
    raise InputError(f"{file}: {told}: copy it from the study once more")


def _read_table(path: Path, schema: Schema) -> pd.DataFrame:
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            missing = [column for column in schema if column not in file.schema_arrow.names]
            flags = [column for column, kind in schema.items() if kind == "bool" and column not in missing]
            odd = [column for column in flags if not pyarrow.types.is_boolean(file.schema_arrow.field(column).type)]
            odd += [column for column in flags if column not in odd and file.read([column])[column].null_count]
            rows = file.metadata.num_rows
        if missing and rows:
            raise InputError(f"{path}: no column {', '.join(missing)}: it is of another version of patchperf")
        if odd and rows:
            raise InputError(f"{path}: {odd[0]} is not true or false everywhere: copy it from the study once more")
        return typed([], schema) if missing else typed(pd.read_parquet(path, columns=list(schema)), schema)
    except (pyarrow.ArrowException, OSError):
        raise InputError(f"{path}: cut short, or no Parquet file: copy it from the study once more") from None
    except (TypeError, ValueError) as error:
        told = str(error).splitlines()[0]
        raise InputError(f"{path}: {told}: copy it from the study once more") from None


def _check_rows(path: Path, table: pd.DataFrame, key: tuple[str, ...]) -> None:
    problem = next(_problems(table, key), None)
    if problem is not None:
        raise InputError(f"{path}: {problem}: copy it from the study once more")


def _problems(table: pd.DataFrame, key: tuple[str, ...]) -> Iterator[str]:
    """What no study writes: names that are none, blanks, counts below 0, replicates without a value, rows twice."""
    known = {name: set(table[name]) for name in ("instance_id", "outcome", "other_outcome") if name in table}
    for name in sorted(map(str, known.get("instance_id", ()))):
        if not re.fullmatch(INSTANCE_ID, name):
            yield f"{name!r} is no instance_id"
    words = {*known.get("outcome", ()), *known.get("other_outcome", ())} - {""}
    if strange := sorted(map(str, words.difference(ORDER))):
        yield f"outcome {strange[0]!r} is none of {', '.join(ORDER)}"
    needed = {*key, *NEVER_BLANK, *(("solution",) if "value" in table else ())}
    for name in [column for column in table.columns if column in needed]:
        if (blank := table[name].isna()).any():
            yield f"row {int(blank.to_numpy().argmax()) + 1}: no {name}"
    if "sources" in table and not table["sources"].map(lambda one: isinstance(one, list | np.ndarray)).all():
        yield "sources is no list everywhere"
    for name in [column for column in table.columns if column in NUMBERS_OF_THINGS]:
        if (wrong := (table[name] < 0) | np.isinf(table[name])).any():
            yield f"{name} of {table.loc[wrong, 'instance_id'].iloc[0]} is no count"
    if "value" in table:
        yield from _problems_of_values(table)
    if key and (twice := table.duplicated(list(key))).any():
        yield f"two rows for {' of '.join(str(table.loc[twice, name].iloc[0]) for name in reversed(key))}"


def _problems_of_values(table: pd.DataFrame) -> Iterator[str]:
    """A value is missing only where a void replicate gave none (``Record`` in patchperf.measure.records)."""
    valid = ~table["void"]
    for what, wrong in (
        ("value", valid & table["value"].isna()),
        ("repetitions", valid & (table["repetitions"] < 1)),
    ):
        if wrong.any():
            row = table[wrong].iloc[0]
            named = (
                f"replicate {row['replicate']} of solution {row['solution']} of {row['instance_id']}, {row['metric']},"
            )
            yield f"{int(wrong.sum())} of {len(table)} rows: {named} is not void, but has no {what}"
