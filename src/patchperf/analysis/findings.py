"""The findings of the study on this data."""

from __future__ import annotations

from pathlib import Path

from patchperf.analysis.files import Files
from patchperf.stats import schema
from patchperf.stats.findings import findings
from patchperf.tables import read_table

FINDINGS_TABLES = ("funnel", "outcomes", "outcome_rates", "agreement", "solutions", "cases", "speedups", "champions")
"""The tables that findings are stated from."""


def write_findings(given: Files, made: str | Path) -> None:
    """findings.json, from tables by their names."""
    tables = {name: read_table(path, getattr(schema, name.upper())) for name, path in given.items()}
    Path(made).write_text(findings(tables).model_dump_json(indent=2) + "\n", "utf-8")
