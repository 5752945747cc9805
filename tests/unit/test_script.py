"""What a script's errors look like in its log, from where the run's display shows them, and on the console."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

SCRIPT = """
import errno, logging, os, subprocess, sys, warnings
from pathlib import Path
from types import SimpleNamespace
from patchperf import script
from patchperf.errors import InputError, MachineError

cache = str(Path(sys.argv[1]).parent / "cache")
config = {{"datasets": [{{"name": "d", "path": "d"}}], "repositories": {{"trees": "t"}}, "cache": cache}}
job = SimpleNamespace(rule="measure", log=sys.argv[1], wildcards=["a__b-1"], config=config)
with script.logged(job):
    {body}
"""


@dataclass(frozen=True)
class Ended:
    code: int
    console: str
    log: Path

    @property
    def lines(self) -> list[str]:
        return self.log.read_text("utf-8").splitlines()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "logs" / "measure" / "a__b-1.log"


def run(log: Path, *body: str) -> Ended:
    code = SCRIPT.format(body="\n    ".join(body))
    done = subprocess.run(
        [sys.executable, "-c", code, str(log)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return Ended(done.returncode, done.stdout, log)


def test_all_that_is_told_while_working_is_in_the_log(log: Path) -> None:
    ended = run(
        log,
        "logging.info('one')",
        "warnings.warn('two')",
        "print('three \\udcff', file=sys.stderr)",
        "subprocess.run(['sh', '-c', 'echo four >&2'])",
    )
    assert (ended.code, ended.console) == (0, "")
    text = log.read_text("utf-8")
    places = [text.index(word) for word in (" one\n", "UserWarning: two", "three \\udcff\n", "four\n")]
    assert places == sorted(places)


def test_after_the_work_the_console_is_as_it_was(log: Path) -> None:
    ended = run(log, "pass\nprint('back', file=sys.stderr)")
    assert (ended.code, ended.console) == (0, "back\n")


def test_an_error_that_a_person_can_act_on_is_the_last_line_of_the_log(log: Path) -> None:
    ended = run(log, "sys.stderr.write('half a line')", "raise InputError('rows.json: no\\n  such row; add it')")
    assert (ended.code, ended.console) == (1, "")
    assert ended.lines == ["half a line", "error: rows.json: no such row; add it"]


def test_another_error_keeps_its_traceback_in_the_log(log: Path) -> None:
    ended = run(log, "{}['key']")
    assert (ended.code, ended.console) == (1, "")
    assert ended.lines[0] == "error: a defect of this program:"
    assert ended.lines[1] == "Traceback (most recent call last):"
    assert ended.lines[-1] == "KeyError: 'key'"


def test_a_file_that_may_not_be_touched_is_one_line(log: Path) -> None:
    ended = run(log, "raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), '/study/rows.json')")
    assert ended.lines == ["error: /study/rows.json: Permission denied: make it accessible to this user and run again"]


def test_a_full_disk_is_one_line_that_names_it(log: Path) -> None:
    ended = run(log, "raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), '/proc/self/rows.json')")
    assert ended.lines == [
        "error: no space left on /proc: free some and run the same command again, what is measured is kept"
    ]


def test_a_full_disk_that_the_error_does_not_name_is_found(log: Path) -> None:
    ended = run(log, "raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))")
    (line,) = ended.lines
    assert line.startswith("error: no space left on /")


def test_a_full_cache_that_the_error_does_not_name_is_found(log: Path, request: pytest.FixtureRequest) -> None:
    """A file system of 4 MiB counts as full."""
    cache = log.parent / "cache"
    cache.mkdir(parents=True)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "cache", cache], check=False).returncode:
        pytest.skip("a small disk is a mount, which this user may not make")
    request.addfinalizer(lambda: subprocess.run(["umount", cache], check=True))
    (line,) = run(log, "raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))").lines
    assert line.startswith(f"error: no space left on {cache}: ")


def test_where_the_log_has_no_room_the_console_is_told() -> None:
    ended = run(
        Path("/dev/full"), "logging.info('lost')", "subprocess.run(['sh', '-c', 'echo lost >&2'])",
        "raise MachineError('the disk is full')",
    )  # fmt: skip
    assert (ended.code, ended.console.splitlines()[-1]) == (1, "error: measure a__b-1: the disk is full")
    assert "lost" not in ended.console


def test_where_there_can_be_no_log_the_console_is_told(tmp_path: Path) -> None:
    (tmp_path / "logs").touch()
    ended = run(tmp_path / "logs" / "a.log", "pass")
    assert ended.code == 1
    assert ended.console.startswith("error: measure a__b-1: ")


def test_a_script_ends_with_the_workflow_that_started_it(log: Path) -> None:
    code = SCRIPT.format(body="print(os.getpid(), flush=True)\n    import time; time.sleep(60)")
    parent = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1], sys.argv[2]])"
    with subprocess.Popen(
        [sys.executable, "-c", parent, code, str(log)], stdout=subprocess.PIPE, text=True
    ) as workflow:
        assert workflow.stdout is not None
        script = int(workflow.stdout.readline())
        handle = os.pidfd_open(script)
        workflow.kill()
        assert wait_for(handle, 30), "the script is still there"


def wait_for(handle: int, seconds: float) -> bool:
    """Whether the process behind a pidfd ends in time."""
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    try:
        return bool(poll.poll(1000 * seconds))
    finally:
        os.close(handle)
