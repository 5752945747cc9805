"""The command line, put together from its subcommands."""

from __future__ import annotations

import typer

from patchperf.cli.explain import explain

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.callback()
def patchperf() -> None:
    """Runtime performance of correct patches: a study's results in words. The study itself is run by snakemake."""


app.command()(explain)
