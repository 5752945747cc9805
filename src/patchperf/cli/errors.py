"""Errors of the command line: one line on stderr, and exit code 1."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from patchperf.errors import PatchperfError


@contextmanager
def errors_in_one_line() -> Iterator[None]:
    """End the command with one line about an error that a person can act on."""
    try:
        yield
    except PatchperfError as error:
        typer.echo(f"error: {' '.join(str(error).split())}", err=True)
        raise typer.Exit(1) from None
