"""Outcomes that were found elsewhere: harnesses' reports, other studies' records, tables of any origin."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from patchperf.csv_rows import read_csv_rows
from patchperf.errors import InputError
from patchperf.quality.outcomes import CELLS, ORDER, level, outcome
from patchperf.stats.outcome_rates import ALL
from patchperf.stats.schema import OUTCOMES, typed
from patchperf.study.instance import INSTANCE_ID, Instance
from patchperf.study.official_reports import read_reports

COUNTS = ("f2p_passed", "f2p_total", "p2p_passed", "p2p_total")
BLANK = ("repo", "dialect", "solution", "link", "note", "f2p", "p2p", "other_dialect", "other_outcome")
_YES, _NO = ("true", "1", "yes"), ("false", "0", "no")


def read_given(arguments: Sequence[str], instances: Mapping[str, Instance]) -> pd.DataFrame:
    """All candidates of some ``PATH`` or ``NAME=PATH``, with the columns of ``OUTCOMES``.

    A folder, or a JSON file, holds reports of a harness; a Parquet or CSV file is a table of outcomes. ``NAME`` is the
    source, in place of the model's folder or of the one source of a table. Raises InputError, one line with the file,
    for what cannot be read, and for two outcomes of a source for one instance.
    """
    tables = []
    for argument in arguments:
        name, path = _split(argument)
        table = (
            read_table(path)
            if path.suffix.lower() in (".csv", ".parquet") and path.is_file()
            else _reports(path, instances)
        )
        sources = sorted(set(table["source"]))
        for source in [name] if name else sources:
            _check_source(source)
        if name and len(sources) > 1:
            raise InputError(f"{argument}: has several sources ({', '.join(sources[:3])}…): leave {name}= out")
        tables.append(table.assign(source=name) if name else table)
    given = pd.concat(tables, ignore_index=True)
    if given.empty:
        raise InputError(f"{', '.join(arguments)}: no outcome in it")
    twice = given[given.duplicated(["instance_id", "source"])]
    if len(twice):
        first = twice.iloc[0]
        raise InputError(
            f"two outcomes of {first['source']} for {first['instance_id']}: of two runs, give each a name of its own "
            "(NAME=PATH)"
        )
    return typed(given.assign(repo=_repositories(given, instances)), OUTCOMES)


def path_of(argument: str) -> Path:
    """The path of an argument of ``read_given``."""
    return _split(argument)[1]


def _repositories(given: pd.DataFrame, instances: Mapping[str, Instance]) -> pd.Series:
    """Each row's repository: the dataset's, else the one that is given for the instance, else what its id names."""
    named = given.loc[given["repo"] != "", ["instance_id", "repo"]].drop_duplicates()
    if len(twice := named[named.duplicated("instance_id")]):
        raise InputError(f"two repositories for {twice['instance_id'].iloc[0]}: {twice['repo'].iloc[0]} is one of them")
    if (named["repo"] == ALL).any():
        raise InputError(f"{ALL} is no name for a repository: it stands for all of them")
    known = dict(named.itertuples(index=False, name=None)) | {name: one.repo for name, one in instances.items()}
    return given["instance_id"].map(lambda name: known.get(name) or _repository(name))


def read_table(path: Path) -> pd.DataFrame:
    """A table of outcomes from a CSV or Parquet file: instance_id, source, and outcome or the four counts of tests.

    Other columns of ``OUTCOMES`` may be there, and none besides: a misspelt one would be left out. The counts make the
    outcome of a candidate that has none, and have to agree with that of one of the six cells. Raises InputError with
    the file and, for a wrong row, its line.
    """
    given = _read(path)
    if missing := [name for name in ("instance_id", "source") if name not in given.columns]:
        raise InputError(f"{path}: no column {missing[0]}")
    if unknown := sorted(set(map(str, given.columns)).difference(OUTCOMES)):
        raise InputError(f"{path}: unknown column {unknown[0]}; there are {', '.join(OUTCOMES)}")
    if "outcome" not in given and any(name not in given for name in COUNTS):
        raise InputError(f"{path}: neither a column outcome nor the columns {', '.join(COUNTS)}")
    given = given.reindex(columns=list(OUTCOMES)).astype("object").fillna("")
    rows = []
    for line, row in zip(given.index, given.to_dict("records"), strict=True):
        try:
            rows.append(_row({str(name): str(value) for name, value in row.items()}))
        except InputError as error:
            raise InputError(f"{path}, line {line}: {error}") from None
    return typed(pd.DataFrame(rows, columns=list(OUTCOMES)), OUTCOMES)


def _row(given: Mapping[str, str]) -> dict[str, object]:
    if not given["instance_id"] or not given["source"]:
        raise InputError("no instance or no source")
    if re.fullmatch(INSTANCE_ID, given["instance_id"]) is None:
        raise InputError(f"{given['instance_id']!r} is no instance id")
    _check_source(given["source"])
    told = given["outcome"]
    if told and told not in ORDER:
        raise InputError(f"outcome {told!r} is none of {', '.join(ORDER)}")
    counts = [_count(name, given[name]) for name in COUNTS]
    f2p_passed, f2p_total, p2p_passed, p2p_total = counts
    row: dict[str, object] = {**given, **dict(zip(COUNTS, counts, strict=True))}
    row["reported_resolved"] = _truth(given["reported_resolved"])
    whole = None not in counts and (not told or told in CELLS)
    for kind, passed, total in () if whole else (("F2P", f2p_passed, f2p_total), ("P2P", p2p_passed, p2p_total)):
        if passed is not None and total is not None and passed > total:
            raise InputError(f"{passed} of {total} {kind} tests passed")
        if told == "Resolved" and passed is not None and total is not None and passed < total:
            raise InputError(f"outcome {told}, but {passed} of {total} {kind} tests passed")
    if f2p_passed is None or f2p_total is None or p2p_passed is None or p2p_total is None:
        if not told:
            raise InputError("neither an outcome nor all four counts of tests")
        return row
    if told and told not in CELLS:
        return row
    found = outcome(f2p_passed, f2p_total, p2p_passed, p2p_total)
    if told and told != found:
        raise InputError(f"outcome {told}, but its counts of tests make it {found}")
    return row | {"outcome": found, "f2p": level(f2p_passed, f2p_total), "p2p": level(p2p_passed, p2p_total)}


def _check_source(name: str) -> None:
    if not name or not name.isprintable() or name != name.strip():
        raise InputError(f"source {name!r}: a name has no blanks around it, and can be printed: write NAME=PATH")


def _count(name: str, text: str) -> int | None:
    if not text:
        return None
    if re.fullmatch(r"[0-9]{1,9}(?:\.0*)?", text) is None:
        raise InputError(f"{name} = {text} is no number of tests")
    return int(text.partition(".")[0])


def _truth(text: str) -> bool | None:
    if text.lower() not in (*_YES, *_NO, ""):
        raise InputError(f"reported_resolved = {text} is neither true nor false")
    return text.lower() in _YES if text else None


def _read(path: Path) -> pd.DataFrame:
    """The rows of a file as text, with their lines (of Parquet, their numbers) as index."""
    if path.suffix.lower() == ".csv":
        return read_csv_rows(path)
    try:
        table = pd.read_parquet(path).astype("object")
        table = table.map(lambda value: "" if pd.api.types.is_scalar(value) and pd.isna(value) else str(value))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: no Parquet table: {str(error).splitlines()[0]}") from None
    return table.set_axis(range(1, len(table) + 1))


def _reports(path: Path, instances: Mapping[str, Instance]) -> pd.DataFrame:
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    if path.is_file() and path.suffix.lower() != ".json":
        raise InputError(f"{path}: neither a folder nor a file of .json, .csv or .parquet")
    rows = [one.row(source, "") for source, found in read_reports(path, instances).items() for one in found]
    table = pd.DataFrame(rows).reindex(columns=list(OUTCOMES)).astype("object")
    return typed(table.fillna(dict.fromkeys(BLANK, "")), OUTCOMES)


def _split(argument: str) -> tuple[str, Path]:
    """The name and the path of an argument; a path that is there is never taken apart."""
    name, equals, rest = argument.partition("=")
    if equals and not Path(argument).exists() and name and "/" not in name:
        return name, Path(rest)
    return "", Path(argument)


def _repository(instance_id: str) -> str:
    """The repository that an instance id names as both benchmarks do (owner__name-1), else empty."""
    named = re.fullmatch(r"(.+?)__(.+)-\d+", instance_id)
    return f"{named[1]}/{named[2]}" if named else ""
