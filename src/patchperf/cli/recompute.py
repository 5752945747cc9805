"""``patchperf recompute``: all tables, figures and pages once more, from a study's raw records alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from patchperf.cli.errors import errors_in_one_line


def recompute(
    raw: Annotated[
        Path,
        typer.Argument(
            metavar="RAW", help="A study's results, or a folder with its raw records alone.", show_default=False
        ),
    ],
    out: Annotated[
        Path, typer.Option("--output", "-o", metavar="OUT", help="A new or empty folder.", show_default=False)
    ],
) -> None:
    """Make all tables, figures, findings and pages of cases again from raw records.

    Nothing is run: no benchmark, no container, no repository. RAW needs measurements.parquet, cases.parquet,
    ledger.parquet, outcomes.parquet, sources.parquet, patches.parquet, host.json, inputs.json, settings/study.json and,
    of the folder instances/, the files of the cases. Equal records give the same bytes as the workflow.
    """
    with errors_in_one_line():
        from patchperf.recompute import recompute as compute  # noqa: PLC0415  (seconds that others save)

        compute(raw, out)
        typer.echo(f"tables, figures, findings and pages are in {out}")
