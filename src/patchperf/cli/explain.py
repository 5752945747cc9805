"""``patchperf explain``: the whole story of one instance, from a study's results alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from patchperf.cli.errors import errors_in_one_line
from patchperf.cli.page import show
from patchperf.cli.records import read_records
from patchperf.cli.story import SHOWN_CALLS, headline, missing_stage, story
from patchperf.errors import InputError


def explain(
    instance: Annotated[
        str, typer.Argument(metavar="INSTANCE", help="The instance's id, as in the ledger.", show_default=False)
    ],
    results: Annotated[Path, typer.Option(help="The results folder of a study.")] = Path("results"),
    calls: Annotated[int, typer.Option(min=0, help="How many of the deciding system calls to show.")] = SHOWN_CALLS,
) -> None:
    """Tell the whole story of one instance.

    What was run and how it ended, why the instance was kept or excluded, what became of its candidates, and its
    numbers: all from the results, nothing is run. A study that has not come to a verdict on the instance yet is told as
    far as it has come, with exit code 1.
    """
    with errors_in_one_line():
        records = read_records(results, instance)
        show(headline(records), story(records, calls))
        if (missing := missing_stage(records)) is not None:
            raise InputError(missing)
