"""Errors of the command line: one line on stderr, and exit code 1."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from patchperf.errors import PatchperfError

_FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def errors_in_one_line() -> Iterator[None]:
    """End the command with one line about an error that a person can act on.

    That is an error of this package's, or one about a file or folder that cannot be read, made or written.
    """
    try:
        yield
    except PatchperfError as error:
        told = str(error)
    except OSError as error:
        if error.filename is None and error.errno not in _FULL:
            raise
        told = _about_a_file(error)
    else:
        return
    typer.echo(f"error: {' '.join(told.split())}", err=True)
    raise typer.Exit(1)


def _about_a_file(error: OSError) -> str:
    if error.errno in _FULL:
        advice = "make room, or name a place with more of it"
    elif isinstance(error, IsADirectoryError):
        advice = "a file goes there: move the folder away, or name another place"
    elif isinstance(error, NotADirectoryError | FileExistsError):
        advice = "a folder goes there: name another place"
    else:
        advice = "name a place that this user may read and write"
    where = "a file" if error.filename is None else os.fsdecode(error.filename)
    return f"{where}: {error.strerror}: {advice}"
