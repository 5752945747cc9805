"""What the pages show, read once: tables of the analysis and raw records, by case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pandas as pd

from patchperf.analysis.files import Files
from patchperf.errors import InputError
from patchperf.stats import schema
from patchperf.stats.samples import of_corpus
from patchperf.study.instance import GROUND_TRUTH
from patchperf.study.rows import Row as CaseRow
from patchperf.study.rows import read_row
from patchperf.tables import read_table

TABLES = ("cases", "solutions", "pairs", "warmth", "outcomes", "ledger")
"""Tables that the pages need; ``OPTIONAL`` are shown where there are any."""

CONTRASTS: schema.Schema = {
    "instance_id": "str",
    "metric": "str",
    "backend": "str",
    "solution_i": "str",
    "solution_j": "str",
    "ratio": "float64",
}
"""What a table of contrasts has at least."""

OPTIONAL = {"contrasts": CONTRASTS}

Row = Mapping[str, Any]
"""A row of a table by the names of its columns."""

Rows = Sequence[Row]


@dataclass(frozen=True)
class Case:
    """A case's rows of every table, by the table's name, and its patches by source.

    ``solutions`` has the source whose patch is measured, by solution.
    """

    instance_id: str
    tables: Mapping[str, Rows]
    solutions: Mapping[str, str]
    patches: Mapping[str, str]

    def of(self, table: str, metric: str) -> list[Row]:
        """The case's rows of a table on a metric."""
        return [row for row in self.tables[table] if row["metric"] == metric]


@dataclass(frozen=True)
class Study:
    """All rows of every table, by the table's name and the instance; ``metrics`` are those measured anywhere."""

    tables: Mapping[str, Mapping[str, Rows]]
    instances: tuple[str, ...]
    metrics: tuple[str, ...]
    folder: Path

    def rows(self, table: str, instance_id: str) -> Rows:
        """An instance's rows of a table."""
        return self.tables[table].get(instance_id, ())

    def case(self, instance_id: str) -> Case:
        """One case; raises InputError if the record with its patches is missing."""
        return Case(
            instance_id,
            {name: self.rows(name, instance_id) for name in self.tables},
            {row["solution"]: row["representative"] for row in self.rows("members", instance_id)},
            _patches(instance_id, self.folder),
        )


def read_study(given: Files, columns: Sequence[str]) -> Study:
    """A study for its pages, from files by name.

    ``given`` are the tables of ``TABLES`` and ``OPTIONAL`` (CSV), the records ``records`` (the ledger), ``members``
    (cases) and ``measurements`` (Parquet; of these, ``columns``), and the folder ``rows`` with a file per instance.
    Raises InputError.
    """
    records = pd.read_parquet(given["records"])
    frames = {name: with_more(given[name], getattr(schema, name.upper())) for name in TABLES}
    frames |= {name: with_more(given[name], known) for name, known in OPTIONAL.items() if name in given}
    members = of_corpus(pd.read_parquet(given["members"]), records)
    measurements = of_corpus(pd.read_parquet(given["measurements"]), records)
    frames |= {"members": members, "measurements": measurements.reindex(columns=["instance_id", *columns])}
    tables = {name: _by_instance(frame) for name, frame in frames.items()}
    metrics = sorted(set(frames["cases"]["metric"]))
    return Study(tables, tuple(sorted(tables["members"])), tuple(metrics), Path(given["rows"]))


def with_more(path: str | Path, known: schema.Schema) -> pd.DataFrame:
    """A table with its schema's columns and types, and behind them those that the schema does not know."""
    table = read_table(path, known)
    return table.join(pd.read_csv(path, usecols=lambda name: name not in known))


def _by_instance(frame: pd.DataFrame) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in cast(list[Row], frame.to_dict("records")):
        found.setdefault(row["instance_id"], []).append(row)
    return found


def case_row(instance_id: str, folder: Path) -> CaseRow:
    """A case's record with its patches, also from a copy of a study's results; raises InputError."""
    try:
        return read_row(instance_id, folder)
    except InputError:
        raise InputError(
            f"{folder / instance_id}.json is missing or cut short: it has the patches that the page of the case shows"
        ) from None


def _patches(instance_id: str, folder: Path) -> dict[str, str]:
    row = case_row(instance_id, folder)
    return {GROUND_TRUTH: row.instance.patch} | {one.source: one.patch for one in row.candidates}
