"""A finished study's results to look at by hand, in a notebook or a shell: its tables, figures, findings and cases."""

from __future__ import annotations

import io
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from patchperf.errors import InputError
from patchperf.measure.records import to_frame
from patchperf.pages.case import label
from patchperf.plots.figures import FIGURES, QUALITY_FIGURES
from patchperf.plots.replicates import draw_replicates
from patchperf.plots.style import save_figure
from patchperf.quality.schema import TABLES
from patchperf.stats import schema
from patchperf.stats.samples import of_corpus
from patchperf.tables import read_table

FOLDER_VARIABLE = "PATCHPERF_RESULTS"
"""The variable that names a results folder, where it is not found from the working directory."""


@dataclass(frozen=True)
class Drawing:
    """A figure that a notebook shows as SVG, the same bytes every time."""

    figure: Figure

    def _repr_svg_(self) -> str:
        content = io.BytesIO()
        save_figure(self.figure, content, kind="svg")
        return content.getvalue().decode("utf-8")


@dataclass(frozen=True)
class Results:
    """The results folder of a study that has come to its end."""

    folder: Path

    @classmethod
    def here(cls) -> Results:
        """The study of the working directory or one above it, or that of PATCHPERF_RESULTS; raises InputError."""
        named = os.environ.get(FOLDER_VARIABLE)
        around = [Path.cwd(), *Path.cwd().parents]
        for folder in [Path(named)] if named else [place for one in around for place in (one, one / "results")]:
            if (folder / "measurements.parquet").exists():
                return cls(folder)
        raise InputError(
            f"{named or Path.cwd()}: no results of a study: set {FOLDER_VARIABLE} to a finished study's results"
        )

    def table(self, name: str) -> pd.DataFrame:
        """A table by its name, with its types; raises InputError."""
        known: schema.Schema | None = TABLES.get(name) or getattr(schema, name.upper(), None)
        path = self.folder / "tables" / f"{name}.csv"
        if not path.exists():
            known_names = ", ".join(sorted(one.stem for one in (self.folder / "tables").glob("*.csv")))
            raise InputError(f"{path}: no such table: there are {known_names or 'none yet'}")
        return pd.read_csv(path) if known is None else read_table(path, known)

    def figure(self, name: str) -> Drawing:
        """A figure by its name, drawn from its table; raises InputError."""
        figures = FIGURES | QUALITY_FIGURES
        if name not in figures:
            raise InputError(f"{name}: no such figure: there are {', '.join(sorted(figures))}")
        plot = figures[name]
        return Drawing(plot.draw(self.table(plot.table)))

    @property
    def findings(self) -> pd.DataFrame:
        """The first study's findings and whether each holds here: columns finding, statement, criterion, holds."""
        known = json.loads((self.folder / "findings.json").read_bytes())["findings"]
        words = {True: "holds", False: "does not hold", None: "this data cannot tell"}
        rows = [(name, one["statement"], one["criterion"], words[one["holds"]]) for name, one in known.items()]
        return pd.DataFrame(rows, columns=["finding", "statement", "criterion", "here"])

    @property
    def provenance(self) -> dict[str, Any]:
        """What the numbers rest on."""
        known: dict[str, Any] = json.loads((self.folder / "provenance.json").read_bytes())
        return known

    @property
    def cases(self) -> list[str]:
        """The instances of the corpus, those whose solutions lie furthest apart first."""
        table = self.table("cases").sort_values(["rsd", "instance_id"], ascending=[False, True])
        return list(dict.fromkeys(table["instance_id"]))

    def of_case(self, instance_id: str, table: str) -> pd.DataFrame:
        """A case's rows of a table; none for a name that is no case."""
        rows = self.table(table)
        return rows[rows["instance_id"] == instance_id].reset_index(drop=True)

    def replicates(self, instance_id: str) -> pd.DataFrame:
        """A case's raw replicates, void ones included, in the order they were taken; ``label`` tells the solution."""
        ledger = pd.read_parquet(self.folder / "ledger.parquet")
        rows = of_corpus(pd.read_parquet(self.folder / "measurements.parquet"), ledger)
        rows = rows if len(rows) else to_frame([])
        rows = rows[rows["instance_id"] == instance_id].sort_values(["metric", "order", "attempt"], ignore_index=True)
        labels = [label(code, list(names)) for code, names in zip(rows["solution"], rows["sources"], strict=True)]
        return rows.assign(label=labels)

    def draw_replicates(self, instance_id: str) -> Drawing:
        """A case's replicates, solution by solution."""
        return Drawing(draw_replicates(self.replicates(instance_id)))
