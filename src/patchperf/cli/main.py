"""The command line, put together from its subcommands."""

from __future__ import annotations

import typer

from patchperf.cli import isolate
from patchperf.cli.explain import explain
from patchperf.cli.outcomes import outcomes
from patchperf.cli.programs import programs
from patchperf.cli.quality import quality
from patchperf.cli.recompute import recompute

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.callback()
def patchperf() -> None:
    """Runtime performance of correct patches: a study's results in words, and the machine it is measured on.

    The study itself is run by snakemake.
    """


app.command()(explain)
app.command()(outcomes)
app.command()(programs)
app.command()(quality)
app.command()(recompute)
app.add_typer(isolate.app, name="isolate")
