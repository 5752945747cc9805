"""What every script of the workflow shares: its log, its configuration, and errors of one line."""

from __future__ import annotations

import ctypes
import errno
import logging
import os
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from patchperf.config import Config, load_config
from patchperf.errors import PatchperfError
from patchperf.sandbox.environments import build_environment
from patchperf.sandbox.local import local_sandbox
from patchperf.sandbox.mirrors import mirror
from patchperf.sandbox.trees import remove
from patchperf.scratch import scratch_root
from patchperf.study.inputs import cache_folder
from patchperf.study.rows import read_row
from patchperf.study.workbench import Workbench

PR_SET_PDEATHSIG = 1


@contextmanager
def logged(job: Any) -> Iterator[None]:
    """Run a script's work with stderr, warnings and logging in the job's log file.

    An error that a person can act on ends the script with exit code 1 and one line, in the log and on the console; any
    other keeps its traceback in both.
    """
    _end_with_parent()
    console = os.dup(2)
    path = Path(str(job.log))
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", buffering=1, encoding="utf-8", errors="backslashreplace") as log:
        sys.stderr.flush()
        os.dup2(log.fileno(), 2)
        logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", force=True)
        logging.captureWarnings(True)
        try:
            yield
        except (PatchperfError, OSError) as error:
            line = _one_line(error)
            if line is None:
                raise
            _say(console, f"error: {job.rule}{_wildcards(job)}: {line}")
            print(f"error: {line}", file=sys.stderr)
            raise SystemExit(1) from None
        except Exception:
            _say(console, traceback.format_exc())
            raise
        finally:
            sys.stderr.flush()
            os.dup2(console, 2)
            os.close(console)


def study(job: Any) -> Config:
    """The validated configuration of the study a job belongs to."""
    return load_config(job.config)


def folders(job: Any) -> tuple[Path, ...]:
    """Where relative paths of the configuration are looked up: the working directory, then the workflow's folder."""
    return Path.cwd(), Path(job.scriptdir).parent


@contextmanager
def scratch(job: Any) -> Iterator[Path]:
    """A scratch folder of this job alone; what a killed run left there is removed first, and it is gone afterwards."""
    work = scratch_root(study(job), Path.cwd()).joinpath(job.rule, *map(str, job.wildcards))
    remove(work)
    work.mkdir(parents=True)
    try:
        yield work
    finally:
        remove(work)


@contextmanager
def workbench(job: Any) -> Iterator[Workbench]:
    """The workbench of the instance that a job is for."""
    config = study(job)
    row = read_row(job.wildcards.instance)
    cache = cache_folder(config)
    with scratch(job) as work:
        yield Workbench(
            instance=row.instance,
            config=config,
            mirror=mirror(row.instance.repo, config.repositories, folders(job), cache),
            environment=build_environment(row.environment, cache, config.timeouts.install),
            sandbox=local_sandbox(config.sandbox, work / "sandbox"),
            work=work,
        )


def _end_with_parent() -> None:
    """Have the kernel kill this script when Snakemake dies, so that the next run never works beside it."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() == 1:
        raise SystemExit("error: the workflow that started this script is gone")


def _one_line(error: Exception) -> str | None:
    if isinstance(error, PatchperfError):
        return str(error)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        where = error.filename or "results or cache folder"
        return f"{where}: no space left; free some and run the same command again, what is measured is kept"
    return None


def _wildcards(job: Any) -> str:
    values = [str(value) for value in job.wildcards]
    return f" {' '.join(values)}" if values else ""


def _say(console: int, text: str) -> None:
    os.write(console, (text.rstrip("\n") + "\n").encode("utf-8", "backslashreplace"))
