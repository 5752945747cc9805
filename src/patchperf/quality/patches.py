"""The table of patches: from any benchmark's CSV, checked and scored, to the ratings of its sources."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from patchperf.csv_rows import LINE, read_csv_rows
from patchperf.errors import InputError
from patchperf.quality.decay import Decay
from patchperf.quality.index import Ratings
from patchperf.quality.schema import PATCHES, SPEEDS
from patchperf.quality.security import SpotBugs
from patchperf.stats.layout import Floats
from patchperf.stats.schema import typed
from patchperf.study.instance import GROUND_TRUTH

REQUIRED = ("instance_id", "source", "correct")
MEASURES = {
    "maintainability": ("complexity", "complexity_reference"),
    "security": ("findings", "findings_reference"),
}
"""What a dimension's score is made of, where the table does not have the score itself."""

REPORTS = {"findings": "report", "findings_reference": "report_reference"}
NUMBERS = ("lines", "tokens_per_second", "runtime")
LARGEST = 1e15
"""No count, speed or size is larger; sums of such stay finite."""

WHOLE = ("lines",)
POSITIVE = ("tokens_per_second", "runtime", "total_parameters", "active_parameters")

_YES, _NO = {"1", "1.0", "true", "yes"}, {"0", "0.0", "false", "no"}


def read_patches(path: Path, decay: Decay, reports: SpotBugs | None = None) -> pd.DataFrame:
    """The patches in a CSV file, with their scores, by instance and source; docs/quality.md has its columns.

    ``reports`` reads the SpotBugs reports that the columns ``report`` and ``report_reference`` name, relative to the
    file. Raises InputError, with the file's line, for a column that is missing or unknown, a value that cannot be, a
    source with two patches for one instance, and a patch that compiles but lacks what a score is made of.
    """
    given = read_csv_rows(path)
    known = {*PATCHES, *REPORTS.values()}
    if unknown := [name for name in given.columns if name not in known]:
        raise InputError(f"{path}: unknown column {unknown[0]}; there are {', '.join(sorted(known))}")
    if missing := [name for name in REQUIRED if name not in given.columns]:
        raise InputError(f"{path}: no column {missing[0]}")
    table = pd.DataFrame({name: given[name] for name in ("instance_id", "source")})
    table["correct"] = _truths(path, given["correct"])
    table["compiles"] = _truths(path, given["compiles"]) if "compiles" in given else True
    for name in (*sum(MEASURES.values(), ()), *NUMBERS):
        table[name] = _numbers(path, given[name], name) if name in given else np.nan
    for name, column in REPORTS.items():
        if column in given:
            _refuse(
                str(path), table[name].notna() & (given[column] != ""), f"both {name} and {column}: leave one blank"
            )
            table[name] = [
                value if not report else len((reports or SpotBugs()).findings(path.parent / report))
                for value, report in zip(table[name], given[column], strict=True)
            ]
    for name in MEASURES:
        if name in given:
            table[name] = _numbers(path, given[name], name, most=1.0)
    table["note"] = given.get("note", "")
    return scored(table, decay, str(path))


def scored(patches: pd.DataFrame, decay: Decay, what: str) -> pd.DataFrame:
    """The patches with their scores of maintainability and security, by instance and source.

    A score that is given stays; the others are the decay's of the counts. A patch that does not compile has 0 on both,
    and is not correct. Raises InputError as ``read_patches``.
    """
    table = patches.copy()
    names = table[["instance_id", "source"]]
    _refuse(what, (names == "").any(axis=1), "no instance or no source")
    _refuse(what, (names != names.apply(lambda column: column.str.strip())).any(axis=1), "blanks around a name")
    _refuse(what, table.duplicated(["instance_id", "source"]), "a second patch of this source for this instance")
    _refuse(what, table["correct"] & ~table["compiles"], "correct, but does not compile")
    for name, (count, reference) in MEASURES.items():
        if name not in table:
            table[name] = np.nan
        counted = pd.Series(decay.score(table[count], table[reference]), index=table.index)
        table[name] = table[name].where(table[name].notna(), counted).where(table["compiles"], 0.0)
        _refuse(what, table[name].isna(), f"neither {name} nor {count} with {reference}")
    size = table["lines"]
    first = size.groupby(table["instance_id"]).transform("first")
    _refuse(what, size.notna() & (size != first), "lines differ from those of an earlier patch for this instance")
    return typed(table.sort_values(["instance_id", "source"]), PATCHES)


def read_speeds(path: Path, sources: Collection[str]) -> pd.DataFrame:
    """Speeds (tokens per second) and sizes (billions of parameters) of sources, from a CSV file; columns of SPEEDS.

    A speed is needed of each source that the file names; without the column, speeds stand with the patches. Sizes may
    be blank. Raises InputError, with the file's line, for what is missing or cannot be, and for a source that is none
    of ``sources``, which have patches.
    """
    given = read_csv_rows(path)
    if unknown := [name for name in given.columns if name not in SPEEDS]:
        raise InputError(f"{path}: unknown column {unknown[0]}; there are {', '.join(SPEEDS)}")
    if "source" not in given:
        raise InputError(f"{path}: no column source")
    if given.empty:
        raise InputError(f"{path}: no source in it: give each a row, or leave --sources out")
    _refuse(str(path), given["source"].str.strip() == "", "no source")
    _refuse(str(path), given.duplicated("source"), "a second row of this source")
    rated = sorted(set(sources) - {GROUND_TRUTH})
    strange = ~given["source"].isin(rated)
    first = next(iter(given.loc[strange, "source"]), "")
    _refuse(str(path), strange, f"{first} is no source with patches; there are {', '.join(rated)}")
    table = pd.DataFrame({"source": given["source"]})
    for name in list(SPEEDS)[1:]:
        table[name] = _numbers(path, given[name], name) if name in given else np.nan
    if "tokens_per_second" in given:
        missing = table["tokens_per_second"].isna()
        _refuse(str(path), missing, "tokens_per_second is blank: give it, or leave the source out")
    if table.isna()[list(SPEEDS)[1:]].all(axis=None):
        raise InputError(f"{path}: only names of sources: give {', '.join(list(SPEEDS)[1:])}, or leave --sources out")
    more = table["active_parameters"] > table["total_parameters"]
    _refuse(str(path), more, "more active_parameters than total_parameters")
    return typed(table, SPEEDS)


def ratings_of(patches: pd.DataFrame, speeds: Mapping[str, float] | None = None) -> Ratings:
    """The patches of ``scored`` as arrays, instances and sources by name, without the ground truth's own.

    The ground truth is what others are held against; it has 1 on all but efficiency by definition, and no rank.
    A source without a patch for an instance has 0 on correctness, maintainability and security there, as for a patch
    that does not compile: whoever answers less often must not look better for it. ``speeds`` are tokens per second of
    whole sources, in place of those of the patches. Raises InputError where both the patches and the sources have
    speeds, and where there is no patch.
    """
    instances = sorted(set(patches["instance_id"]))
    lines = patches.groupby("instance_id")["lines"].max().reindex(instances)
    patches = patches[patches["source"] != GROUND_TRUTH]
    if patches.empty:
        raise InputError("there are no patches to rate, but the ground truth's: give a table with some")
    if speeds and patches["tokens_per_second"].notna().any():
        raise InputError("tokens_per_second stands with the patches and with the sources: leave one of them out")
    sources = sorted(set(patches["source"]))

    def laid_out(column: str, missing: float) -> Floats:
        table = patches.pivot(index="instance_id", columns="source", values=column).reindex(instances, columns=sources)
        return np.asarray(table.astype("float64").fillna(missing).to_numpy(), dtype=np.float64)

    tokens = laid_out("tokens_per_second", np.nan)
    if speeds:
        tokens = np.tile([speeds.get(source, np.nan) for source in sources], (len(instances), 1))
    counts = patches.groupby("source").size()
    return Ratings(
        instances=tuple(instances),
        sources=tuple(sources),
        correct=laid_out("correct", 0.0),
        maintainability=laid_out("maintainability", 0.0),
        security=laid_out("security", 0.0),
        tokens_per_second=tokens,
        runtime=laid_out("runtime", np.nan),
        patches=np.array([counts[source] for source in sources]),
        lines=np.asarray(lines, dtype=np.float64),
    )


def _truths(path: Path, values: pd.Series) -> pd.Series:
    lower = values.str.strip().str.lower()
    _refuse(str(path), ~lower.isin(_YES | _NO), f"{values.name} is neither 1 nor 0")
    return lower.isin(_YES)


def _numbers(path: Path, values: pd.Series, name: str, most: float = LARGEST) -> pd.Series:
    """Numbers of a column, NaN where blank; what is no number from 0 to ``most`` is refused."""
    numbers = pd.to_numeric(values.replace("", np.nan), errors="coerce").astype("float64")
    right = (numbers >= 0) & (numbers <= most)
    kind = "number"
    if name in WHOLE:
        right, kind = right & (numbers == np.floor(numbers)), "whole number"
    _refuse(str(path), (values != "") & ~right, f"{name} is no {kind} from 0 to {most:g}")
    if name in POSITIVE:
        _refuse(str(path), numbers == 0, f"{name} is 0: leave it out where it is unknown")
    return numbers


def _refuse(what: str, wrong: pd.Series, why: str) -> None:
    """Raises InputError for the first row that is wrong, with its line in the file or else its place in the table."""
    places = np.flatnonzero(wrong)
    if len(places):
        row = f"line {wrong.index[places[0]]}" if wrong.index.name == LINE else f"row {places[0] + 1}"
        raise InputError(f"{what}, {row}: {why}")
