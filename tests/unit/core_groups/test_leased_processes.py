from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from snakemake_executor_plugin_core_groups.processes import Processes

DEAF = "trap '' INT TERM; "
STEADY = "echo $$ >pid; sleep 600 & wait; sleep 600"


@pytest.fixture
def processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Processes:
    monkeypatch.chdir(tmp_path)
    return Processes()


@pytest.fixture
def start(processes: Processes) -> Iterator[Callable[[str], Future[int]]]:
    """Starts a command that writes its process number to the file ``pid``, and waits until it has."""
    with ThreadPoolExecutor() as pool:

        def run(command: str) -> Future[int]:
            job = pool.submit(processes.run, command, {}, 0)
            while not read_pid():
                assert not job.done()
                time.sleep(0.01)
            return job

        yield run
        with suppress(ProcessLookupError):
            os.killpg(read_pid(), signal.SIGKILL)


def is_running(pid: int) -> bool:
    """Whether a process is there and not only waits for its parent to take notice of its end."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def read_pid() -> int:
    file = Path("pid")
    return int(file.read_text() or 0) if file.exists() else 0


def test_a_command_has_its_exit_code_or_the_signal_that_killed_it(processes: Processes):
    assert processes.run("exit 3", {}, 0) == 3
    assert processes.run("kill -KILL $$", {}, 0) == -signal.SIGKILL


def test_a_command_has_its_variables_its_input_and_the_other_descriptors(processes: Processes):
    Path("input").write_text("in")
    with Path("input").open() as stdin, Path("other").open("w") as other:
        command = f"read line; echo $line $WHO >/dev/fd/{other.fileno()}"
        processes.run(command, {"WHO": "me"}, stdin.fileno(), other.fileno())
    assert Path("other").read_text() == "in me\n"


def test_what_a_command_leaves_behind_is_killed(processes: Processes):
    assert processes.run("sleep 600 & echo $! >pid", {}, 0) == 0
    deadline = time.monotonic() + 60
    while is_running(read_pid()):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_cancelled_command_may_clean_up(processes: Processes, start):
    job = start(f"trap 'touch cleaned; exit 7' INT; {STEADY}")
    processes.cancel(60)
    assert job.result() == 7
    assert Path("cleaned").exists()


@pytest.mark.parametrize(
    ("trap", "number"), [("trap '' INT; ", signal.SIGTERM), (DEAF, signal.SIGKILL)], ids=["to SIGINT", "to both"]
)
def test_a_deaf_command_is_ended_after_its_grace(processes: Processes, start, trap: str, number: signal.Signals):
    job = start(trap + STEADY)
    started = time.monotonic()
    processes.cancel(0.2)
    assert job.result() == -number
    assert time.monotonic() - started >= 0.2


def test_ctrl_c_while_commands_are_ended_kills_them_at_once(processes: Processes, start):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    job = start(DEAF + STEADY)
    threading.Timer(0.5, os.kill, [os.getpid(), signal.SIGINT]).start()
    started = time.monotonic()
    try:
        processes.cancel(60)
    finally:
        signal.signal(signal.SIGINT, before)
    assert job.result() == -signal.SIGKILL
    assert time.monotonic() - started < 30


def test_nothing_starts_or_waits_after_all_was_cancelled(processes: Processes):
    processes.cancel(60)
    assert processes.cancelled
    with pytest.raises(CancelledError):
        processes.run("touch started", {}, 0)
    with pytest.raises(CancelledError):
        processes.pause(60)
    assert not Path("started").exists()


def test_a_pause_ends_as_soon_as_all_is_cancelled(processes: Processes):
    processes.pause(0.01)
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(processes.pause, 600)
        time.sleep(0.05)
        processes.cancel(60)
        with pytest.raises(CancelledError):
            waiting.result(timeout=30)
