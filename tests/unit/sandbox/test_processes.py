"""What holds where no namespaces are granted: limits, one path for every tree, and a sure end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from patchperf.errors import MachineError
from patchperf.sandbox.processes import Processes
from patchperf.sandbox.protocol import Command, Completed, Limits

PATH = {"PATH": "/usr/bin:/bin"}


@pytest.fixture(params=["cgroup", "rlimits"])
def sandbox(request: pytest.FixtureRequest, tmp_path: Path) -> Processes:
    return Processes(tmp_path / "work", use_cgroups=request.param == "cgroup")


@pytest.fixture
def shell(sandbox: Processes, tmp_path: Path) -> Callable[..., Completed]:
    tree, out = tmp_path / "tree", tmp_path / "out"
    tree.mkdir()
    out.mkdir()

    def run(script: str, limits: Limits | None = None, timeout: float = 30) -> Completed:
        return sandbox.run(Command(("/bin/sh", "-c", script), tree, PATH, out, timeout=timeout), limits or Limits())

    return run


def running(token: str) -> list[Path]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and int(folder.name) != os.getpid():
            try:
                if token.encode() in (folder / "cmdline").read_bytes():
                    found.append(folder)
            except OSError:
                continue
    return found


def await_true(condition: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def test_the_name_of_its_confinement_promises_no_isolation(sandbox: Processes) -> None:
    assert sandbox.confinement == "processes-only"


def test_every_tree_stands_under_one_path_and_goes_back(
    sandbox: Processes, shell: Callable[..., Completed], tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    first = shell("pwd; pwd -P; echo 1 >made; env | sort")
    second = sandbox.run(Command(("/bin/sh", "-c", "pwd; pwd -P; echo 1 >made; env | sort"), other, PATH), Limits())
    work = tmp_path / "work"
    assert first.output == second.output
    assert first.output.splitlines() == [
        *[str(work / "testbed")] * 2,
        *(f"HOME={work}/home", "PATH=/usr/bin:/bin", f"PWD={work}/testbed", f"TMPDIR={work}/tmp"),
    ]
    assert (tmp_path / "tree" / "made").exists()
    assert (other / "made").exists()
    assert sorted(path.name for path in work.iterdir()) == ["lock"]


def test_out_tools_home_and_temporary_folder_are_where_the_layout_says(
    sandbox: Processes, shell: Callable[..., Completed], tmp_path: Path
) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "tool").write_text("ours")
    layout = sandbox.layout
    script = f"cat {layout.tools}/tool; ls -A $HOME $TMPDIR; touch $HOME/x $TMPDIR/x; echo left > {layout.out}/left"
    command = Command(("/bin/sh", "-c", script), tmp_path / "tree", PATH, tmp_path / "out", tmp_path / "tools")
    shell("true")
    assert [sandbox.run(command, Limits()).output for _ in range(2)] == [
        f"ours{layout.tools.removesuffix('tools')}home:\n\n{layout.tools.removesuffix('tools')}tmp:\n"
    ] * 2
    assert (tmp_path / "out" / "left").read_text() == "left\n"


def test_exit_codes_signals_and_merged_output(shell: Callable[..., Completed]) -> None:
    done = shell("echo out; echo err >&2; echo out; readlink /proc/self/fd/0; ls /proc/self/fd | wc -l; exit 3")
    assert (done.exit_code, done.ended, done.output) == (3, "exit", "out\nerr\nout\n/dev/null\n4\n")
    assert shell("kill -11 $$").exit_code == -11


def test_a_daemon_does_not_outlive_its_command(shell: Callable[..., Completed]) -> None:
    token = uuid.uuid4().hex
    script = f"trap '' TERM; sleep 300; : {token}"
    assert shell(f'(setsid sh -c "{script}" &); sleep 0.2; echo left').output == "left\n"
    assert running(token) == []


def test_a_time_out_ends_even_those_that_ignore_signals(shell: Callable[..., Completed]) -> None:
    token = uuid.uuid4().hex
    done = shell(f"trap '' TERM INT HUP; (setsid sh -c 'sleep 300; : {token}' &); sleep 300; : {token}", timeout=0.5)
    assert (done.ended, done.exit_code) == ("timeout", -9)
    assert running(token) == []


def test_a_command_that_kills_its_parent_leaves_nothing_either(shell: Callable[..., Completed]) -> None:
    token = uuid.uuid4().hex
    done = shell(f"(setsid sh -c 'sleep 300; : {token}' &); sleep 0.2; kill -9 $PPID; sleep 300; : {token}")
    assert (done.ended, done.exit_code) == ("exit", -9)
    assert done.seconds < 20
    assert running(token) == []


def test_a_driver_that_is_killed_leaves_no_process_and_the_next_one_puts_the_tree_back(tmp_path: Path) -> None:
    token = uuid.uuid4().hex
    tree, work = tmp_path / "tree", tmp_path / "work"
    tree.mkdir()
    code = f"""
        import sys
        from pathlib import Path
        from patchperf.sandbox.processes import Processes
        from patchperf.sandbox.protocol import Command, Limits
        script = "(setsid sleep 300 &); echo > up; sleep 300; : {token}"
        Processes(Path(sys.argv[1])).run(Command(("/bin/sh", "-c", script), Path(sys.argv[2])), Limits())
    """
    driver = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code), str(work), str(tree)])
    await_true((work / "testbed" / "up").exists)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    assert not tree.exists()
    Processes(work)
    assert running(token) == []
    assert (tree / "up").exists()
    assert not (work / "testbed").exists()


def test_a_tree_made_anew_after_a_crash_is_kept_and_the_shown_one_dropped(tmp_path: Path) -> None:
    tree, work = tmp_path / "tree", tmp_path / "work"
    for folder, text in ((tree, "new"), (work / "testbed", "old")):
        folder.mkdir(parents=True)
        (folder / "file").write_text(text)
    (work / "shown").write_text(str(tree))
    Processes(work)
    assert (tree / "file").read_text() == "new"
    assert not (work / "testbed").exists()


def test_output_beyond_the_limit_ends_the_command(shell: Callable[..., Completed]) -> None:
    done = shell("yes | head -c 1G", Limits(output_mb=1))
    assert (done.ended, len(done.output)) == ("output", 1024 * 1024)


def test_memory_is_bounded_in_sum(shell: Callable[..., Completed]) -> None:
    hog = "head -c 60M /dev/zero | tail -c 60M | (sleep 20; cat) >/dev/null"
    done = shell(f"for i in 1 2 3 4; do ({hog}) & done; wait", Limits(memory_mb=150))
    assert done.ended == "memory"
    assert done.seconds < 20


def test_too_many_processes_end_the_command(shell: Callable[..., Completed]) -> None:
    done = shell("i=0; while [ $i -lt 60 ]; do sleep 60 & i=$((i+1)); done; wait", Limits(processes=40))
    assert done.ended == "processes"


def test_a_file_cannot_grow_beyond_its_limit(shell: Callable[..., Completed]) -> None:
    assert not shell("head -c 5M /dev/zero >big", Limits(file_mb=2)).ok
    assert shell("wc -c <big; ulimit -c").output.split() == [str(2 << 20), "0"]


def test_a_missing_program_or_tree_is_one_clear_line(sandbox: Processes, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    with pytest.raises(MachineError, match=r"^no-such-program: cannot be started: No such file or directory$"):
        sandbox.run(Command(("no-such-program",), tree, PATH), Limits())
    with pytest.raises(MachineError, match=r"absent: cannot be shown as .*: No such file or directory$"):
        sandbox.run(Command(("/bin/true",), tmp_path / "absent"), Limits())
    assert tree.exists()
