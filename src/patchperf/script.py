"""What every script of the workflow shares: its log, its configuration, and errors of one line."""

from __future__ import annotations

import errno
import io
import logging
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

import psutil

from patchperf.config import Config, cache_folder, load_config
from patchperf.errors import InputError, PatchperfError
from patchperf.parent import end_with_parent
from patchperf.sandbox.environments import build_environment
from patchperf.sandbox.image_spec import ImageSpec
from patchperf.sandbox.local import local_sandbox
from patchperf.sandbox.mirrors import mirror
from patchperf.sandbox.placement import ANYWHERE, Placement
from patchperf.sandbox.space import has_room, no_room
from patchperf.sandbox.trees import remove
from patchperf.scratch import scratch_root
from patchperf.study.host import HARDWARE, read_host
from patchperf.study.rows import read_row
from patchperf.study.workbench import Workbench


@contextmanager
def logged(job: Any) -> Iterator[None]:
    """Run a script's work with stderr, warnings and logging in the job's log file.

    An error ends the script with exit code 1 and stands at the end of the log, from where the run's progress display
    shows it: one line if a person can act on it, else its traceback. The console gets it only where the log cannot take
    it, because the disk is full. Ctrl-C ends the script without a word, as it ends any program.
    """
    end_with_parent()
    console = os.dup(2)
    log = -1
    try:
        log = _open_log(Path(str(job.log)))
        with _stderr_in(log):
            yield
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.raise_signal(signal.SIGINT)
    except Exception as error:
        told = _reason(error, job) or "".join(["a defect of this program:\n", *traceback.format_exception(error)])
        if log < 0 or not _append(log, f"error: {told}"):
            os.write(console, _bytes(f"error: {_job_name(job)}: {told}"))
        raise SystemExit(1) from None
    finally:
        os.close(console)
        if log >= 0:
            os.close(log)


def study(job: Any) -> Config:
    """The validated configuration of the study a job belongs to."""
    return load_config(job.config)


def folders(job: Any) -> tuple[Path, ...]:
    """Where relative paths of the configuration are looked up: the working directory, then the workflow's folder."""
    return Path.cwd(), Path(job.scriptdir).resolve().parent


def confinement(config: Config, work: Path) -> str:
    """How this machine confines patches; raises MachineError where it cannot as the configuration asks."""
    if config.sandbox.kind == "docker":
        from patchperf.sandbox.engine import connect  # noqa: PLC0415  (half a second that other studies' jobs save)

        connect().close()
        return "docker"
    return local_sandbox(config.sandbox, work).confinement


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
def workbench(job: Any, placement: Placement = ANYWHERE) -> Iterator[Workbench]:
    """The workbench of the instance that a job is for; its commands run where they are placed."""
    config = study(job)
    row = read_row(job.wildcards.instance)
    if row.environment is None:
        raise InputError(f"{row.instance.instance_id} is not run in this study: it has several F2P tests")
    in_image = isinstance(row.environment, ImageSpec)
    if in_image != (config.sandbox.kind == "docker"):
        name = row.instance.instance_id
        raise InputError(f"{name}: its row was made for another sandbox.kind: delete results/instances and run again")
    with scratch(job) as work:
        if isinstance(row.environment, ImageSpec):
            from patchperf.sandbox.container import Setup  # noqa: PLC0415  (as above)
            from patchperf.study.image_bench import image_bench, parent_of  # noqa: PLC0415

            setup = Setup(perf_events=counts_on_hardware(job), cgroup_parent=parent_of(placement), cpus=placement.cpus)
            with image_bench(row, config, folders(job), work, setup) as bench:
                yield bench
            return
        cache = cache_folder(config)
        yield Workbench(
            instance=row.instance,
            config=config,
            mirror=mirror(row.instance.repo, config.repositories, folders(job), cache),
            environment=build_environment(row.environment, cache, config.timeouts.install),
            sandbox=local_sandbox(config.sandbox, work / "sandbox", placement),
            work=work,
        )


def counts_on_hardware(job: Any) -> bool:
    """Whether a job measures (it has the record of the machine as input) with a counter of the processor's."""
    host = job.input.get("host")
    return host is not None and read_host(Path(host)).counter.backend in HARDWARE


def job_seconds() -> float:
    """The age of this job's process."""
    return time.time() - psutil.Process().create_time()


def _open_log(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o644)


@contextmanager
def _stderr_in(log: int) -> Iterator[None]:
    """Have all that this process and its children write to stderr in a file; unbuffered, so that nothing comes late."""
    sys.stderr.flush()
    console = os.dup(2)
    os.dup2(log, 2)
    unbuffered = cast(BinaryIO, io.FileIO(2, "w", closefd=False))
    stream = io.TextIOWrapper(unbuffered, "utf-8", "backslashreplace", write_through=True)
    try:
        with redirect_stderr(stream):
            logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", force=True)
            logging.captureWarnings(True)
            yield
    finally:
        os.dup2(console, 2)
        os.close(console)


def _reason(error: Exception, job: Any) -> str | None:
    """The one line about an error that a person can act on; None for any other error."""
    if isinstance(error, PatchperfError):
        return " ".join(str(error).split())
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return no_room(_full_folder(error, job))
    if isinstance(error, PermissionError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}: make it accessible to this user and run again"
    if isinstance(error, OSError) and error.errno == errno.EROFS:
        return f"{error.filename or 'a file'}: {error.strerror}: make it writable, or name another cache or --directory"
    if isinstance(error, NotADirectoryError | FileExistsError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}: give a folder in its place"
    return None


def _full_folder(error: OSError, job: Any) -> Path:
    """The folder that an error is about; where it does not say, the first full one of those that are written to."""
    if isinstance(error.filename, str | bytes):
        return Path(os.fsdecode(error.filename))
    places = [Path("results"), Path(tempfile.gettempdir())]
    with suppress(PatchperfError):
        places += [cache_folder(study(job)), scratch_root(study(job), Path.cwd()).parent]
    return next((place for place in places if not has_room(place)), places[0])


def _append(log: int, text: str) -> bool:
    """Write a text on lines of its own, or nothing."""
    size = os.fstat(log).st_size
    start = "\n" if size and os.pread(log, 1, size - 1) != b"\n" else ""
    data = _bytes(start + text)
    with suppress(OSError):
        if os.write(log, data) == len(data):
            return True
        os.ftruncate(log, size)
    return False


def _bytes(text: str) -> bytes:
    return (text.rstrip("\n") + "\n").encode("utf-8", "backslashreplace")


def _job_name(job: Any) -> str:
    return " ".join([job.rule, *map(str, job.wildcards)])
