"""Commands that try to break out, to hang on, and to take more than they may."""

from __future__ import annotations

import multiprocessing
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from patchperf.errors import MachineError
from patchperf.sandbox import namespaces
from patchperf.sandbox.namespaces import Namespaces
from patchperf.sandbox.protocol import Command, Completed, Limits

PYTHON = (Path(sys.prefix), Path(sys.base_prefix))
PATH = {"PATH": "/usr/bin:/bin"}
BOTH = pytest.mark.parametrize("sandbox", ["cgroup", "rlimits"], indirect=True)


@pytest.fixture(scope="module")
def sandboxes() -> dict[str, Namespaces]:
    return {"cgroup": Namespaces(), "rlimits": Namespaces(use_cgroups=False)}


@pytest.fixture
def sandbox(request: pytest.FixtureRequest, sandboxes: dict[str, Namespaces]) -> Namespaces:
    return sandboxes[getattr(request, "param", "cgroup")]


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    tree, out = tmp_path / "tree", tmp_path / "out"
    tree.mkdir()
    out.mkdir()
    yield tree, out


@pytest.fixture
def shell(sandbox: Namespaces, folders: tuple[Path, Path]) -> Callable[..., Completed]:
    def run(script: str, limits: Limits | None = None, timeout: float = 30) -> Completed:
        tree, out = folders
        return sandbox.run(Command(("/bin/sh", "-c", script), tree, PATH, out, timeout=timeout), limits or Limits())

    return run


@pytest.fixture
def python(sandbox: Namespaces, folders: tuple[Path, Path]) -> Callable[..., Completed]:
    def run(code: str, limits: Limits | None = None, timeout: float = 30) -> Completed:
        tree, out = folders
        argv = (sys.executable, "-I", "-S", "-c", textwrap.dedent(code))
        return sandbox.run(Command(argv, tree, PATH, out, readable=PYTHON, timeout=timeout), limits or Limits())

    return run


def running(token: str) -> list[str]:
    """Command lines of this machine's processes that have the token in them, zombies aside."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and int(folder.name) != os.getpid():
            try:
                line = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if token.encode() in line:
                found.append(line.decode(errors="replace"))
    return found


# ---- what a command is given


@BOTH
def test_the_environment_is_the_commands_own_and_nothing_else(
    sandbox: Namespaces, folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "inherited")
    done = sandbox.run(Command(("/usr/bin/env",), folders[0], {"B": "2 x\n3", "A-b.c": "ü"}), Limits())
    assert done.output == "A-b.c=ü\nB=2 x\n3\nHOME=/patchperf/home\nPWD=/testbed\nTMPDIR=/tmp\n"


def test_no_process_inside_shows_the_drivers_environment(
    shell: Callable[..., Completed], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "inherited")
    done = shell("cat /proc/*/environ; echo; ls /proc | grep -c '^[0-9]'")
    assert "inherited" not in done.output
    assert int(done.output.split()[-1]) <= 5


def test_standard_input_is_empty_and_no_descriptor_of_ours_is_open(shell: Callable[..., Completed]) -> None:
    done = shell("readlink /proc/self/fd/0; cat; ls /proc/self/fd | wc -l")
    assert done.output.split() == ["/dev/null", "4"]


def test_the_user_and_the_host_name_are_the_same_everywhere(shell: Callable[..., Completed]) -> None:
    assert shell("id -un; id -u; hostname; pwd").output.split() == ["testbed", "1000", "localhost", "/testbed"]


def test_the_tree_is_writable_and_is_the_hosts_folder(
    shell: Callable[..., Completed], folders: tuple[Path, Path]
) -> None:
    (folders[0] / "given").write_text("from the host")
    assert shell("cat given; echo made > made; echo left > /patchperf/out/left").output == "from the host"
    assert (folders[0] / "made").read_text() == "made\n"
    assert (folders[1] / "left").read_text() == "left\n"


def test_home_and_temporary_folder_are_private_and_empty_each_time(shell: Callable[..., Completed]) -> None:
    script = "ls -A $HOME $TMPDIR /dev/shm | grep -c x; touch $HOME/x $TMPDIR/x /dev/shm/x && echo written"
    assert [shell(script).output.split() for _ in range(2)] == [["0", "written"]] * 2


def test_an_interpreter_under_a_home_folder_can_be_shown_without_the_home_folder(
    sandbox: Namespaces, folders: tuple[Path, Path], tmp_path: Path
) -> None:
    home = tmp_path / "home"
    (home / "pythons" / "bin").mkdir(parents=True)
    (home / "secret").write_text("s")
    program = home / "pythons" / "bin" / "program"
    program.write_text("#!/bin/sh\nls -A $(dirname $(dirname $(dirname $0)))\n")
    program.chmod(0o755)
    done = sandbox.run(Command((str(program),), folders[0], PATH, readable=(home / "pythons",)), Limits())
    assert done.output == "pythons\n"


def test_a_readable_folder_behind_a_link_has_both_its_names(
    sandbox: Namespaces, folders: tuple[Path, Path], tmp_path: Path
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "file").write_text("seen ")
    (tmp_path / "link").symlink_to("real")
    names = (str(tmp_path / "link" / "file"), str(tmp_path / "real" / "file"))
    done = sandbox.run(Command(("/bin/cat", *names), folders[0], readable=(tmp_path / "link",)), Limits())
    assert done.output == "seen seen "


def test_output_comes_in_the_order_written_and_with_bad_bytes_replaced(shell: Callable[..., Completed]) -> None:
    done = shell(r"for i in 1 2 3; do echo out$i; echo err$i >&2; done; printf '\377\n'")
    assert done.output == "out1\nerr1\nout2\nerr2\nout3\nerr3\n\N{REPLACEMENT CHARACTER}\n"


def test_exit_codes_and_signals_are_told_apart(shell: Callable[..., Completed]) -> None:
    assert [shell(f"exit {code}").exit_code for code in (0, 3, 127)] == [0, 3, 127]
    assert [shell(f"kill -{number} $$").exit_code for number in (9, 11, 15)] == [-9, -11, -15]
    assert shell("true").ok
    assert not shell("false").ok


def test_strace_works_inside(shell: Callable[..., Completed], folders: tuple[Path, Path]) -> None:
    done = shell("strace -f -o /patchperf/out/trace sh -c 'cat /etc/hostname >/dev/null; (exec true)'")
    assert done.ok, done.output
    assert '"/etc/hostname"' in (folders[1] / "trace").read_text()


def test_a_command_can_count_its_own_events_with_perf(python: Callable[..., Completed]) -> None:
    done = python(
        """
        import ctypes, os, struct
        software, task_clock, exclude_kernel_and_hv = 1, 1, 0b11 << 5
        attributes = struct.pack("=IIQQQQQ", software, 112, task_clock, 0, 0, 0, exclude_kernel_and_hv) + bytes(64)
        fd = ctypes.CDLL(None, use_errno=True).syscall(298, attributes, 0, -1, -1, 0)
        if fd < 0: raise SystemExit(os.strerror(ctypes.get_errno()))
        sum(range(1000000))
        print(struct.unpack("=Q", os.read(fd, 8))[0] > 100000)
        """
    )
    assert done.output == "True\n"


def test_commands_of_two_threads_run_side_by_side(sandbox: Namespaces, tmp_path: Path) -> None:
    outputs: dict[int, str] = {}

    def one(number: int) -> None:
        tree = tmp_path / str(number)
        tree.mkdir()
        script = f"echo {number} >file; sleep 0.3; cat file; set -- /proc/[0-9]*; echo $#"
        outputs[number] = sandbox.run(Command(("/bin/sh", "-c", script), tree, PATH), Limits()).output

    threads = [threading.Thread(target=one, args=(number,)) for number in range(4)]
    begun = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {number: text.split()[0] for number, text in outputs.items()} == {n: str(n) for n in range(4)}
    assert len({text.split()[1] for text in outputs.values()}) == 1
    assert time.monotonic() - begun < 60


# ---- what it cannot reach


@BOTH
def test_a_listening_port_of_the_host_cannot_be_reached(python: Callable[..., Completed]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as abstract:
        name = f"patchperf-{uuid.uuid4().hex}"
        abstract.bind(f"\0{name}")
        abstract.listen()
        done = python(
            f"""
            import socket
            for family, address in ((socket.AF_INET, ("127.0.0.1", {server.getsockname()[1]})),
                                    (socket.AF_UNIX, "\\0{name}")):
                try:
                    socket.socket(family).connect(address)
                    print("reached")
                except OSError as error:
                    print(type(error).__name__)
            """
        )
    assert done.output == "ConnectionRefusedError\n" * 2


def test_no_host_name_resolves_and_no_address_is_routed(python: Callable[..., Completed]) -> None:
    done = python(
        """
        import socket
        try:
            print(socket.getaddrinfo("example.org", 80))
        except socket.gaierror:
            print("unknown")
        for address in ("192.0.2.1", "8.8.8.8"):
            try:
                socket.create_connection((address, 53), 5)
                print("reached")
            except OSError as error:
                print(error.strerror)
        """
    )
    assert done.output == "unknown\nNetwork is unreachable\nNetwork is unreachable\n"


def test_a_loopback_of_its_own_works(python: Callable[..., Completed]) -> None:
    done = python(
        """
        import socket
        server = socket.create_server(("127.0.0.1", 0))
        socket.create_connection(server.getsockname())
        print("connected", socket.gethostbyname(socket.gethostname()))
        """
    )
    assert done.output == "connected 127.0.0.1\n"


def test_the_users_files_and_other_trees_are_not_there(
    shell: Callable[..., Completed], tmp_path: Path, folders: tuple[Path, Path]
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("top")
    home = Path.home()
    done = shell(f"cat {secret}; ls -A {home} {tmp_path} /var /run /home /srv /mnt /sys 2>&1 | grep -v 'cannot access'")
    assert done.output == f"cat: {secret}: No such file or directory\n"


def test_the_top_folder_holds_only_what_is_allowed(shell: Callable[..., Completed]) -> None:
    allowed = {"bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "opt", "patchperf", "proc", "sbin", "testbed"}
    assert set(shell("ls -A /").output.split()) <= allowed | {"tmp", "usr"}


def test_files_that_only_the_driver_may_read_are_hidden_among_the_systems(shell: Callable[..., Completed]) -> None:
    private = [path for path in Path("/etc").glob("*") if path.is_file() and not path.stat().st_mode & 0o004]
    assert Path("/etc/shadow") in private
    done = shell("; ".join(f"cat {path} 2>/dev/null" for path in private))
    assert done.output == ""


def test_a_lock_file_that_vanishes_while_the_sandbox_is_made_costs_another_look(
    shell: Callable[..., Completed], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = namespaces._System.now
    looks = iter([namespaces._System(now().folders, (Path("/etc/passwd.lock"),))])
    monkeypatch.setattr(namespaces._System, "now", lambda: next(looks, None) or now())
    assert shell("echo ran; cat /etc/shadow 2>/dev/null").output == "ran\n"


def test_the_search_for_private_files_goes_on_past_one_that_vanishes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "c"):
        (tmp_path / name).touch(0o600)
    listed = namespaces._listed
    monkeypatch.setattr(namespaces, "_listed", lambda folder: [tmp_path / "b", *listed(folder)])
    found = list(namespaces._private(tmp_path, deep=True))
    assert found == [tmp_path / "a", tmp_path / "c"]


@BOTH
def test_nothing_outside_tree_out_home_and_temporary_folder_can_be_written(
    python: Callable[..., Completed], folders: tuple[Path, Path]
) -> None:
    done = python(
        f"""
        import os
        ours = [{str(PYTHON[0])!r}, {str(folders[0].parent)!r}]
        for place in ["/", "/usr", "/etc", "/opt", "/dev", "/patchperf", *ours]:
            try:
                os.close(os.open(os.path.join(place, "x"), os.O_WRONLY | os.O_CREAT))
                print(place)
            except OSError:
                pass
        """
    )
    assert done.output == ""
    assert done.ok


@BOTH
def test_no_setting_of_the_kernel_can_be_opened_for_writing(python: Callable[..., Completed]) -> None:
    done = python(
        """
        import os
        tried = 0
        for folder, folders, files in os.walk("/proc"):
            if folder == "/proc":
                folders[:] = [name for name in folders if not name.isdecimal()]
            for name in files:
                tried += 1
                try:
                    os.close(os.open(os.path.join(folder, name), os.O_WRONLY | os.O_NONBLOCK))
                    print(folder, name)
                except OSError:
                    pass
        print(tried > 300)
        """
    )
    assert done.output == "True\n"


def test_tools_are_read_only(sandbox: Namespaces, folders: tuple[Path, Path], tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "tool").write_text("ours")
    script = (
        "cat /patchperf/tools/tool; for do in 1; do echo x >/patchperf/tools/tool; rm -f /patchperf/tools/tool; done"
    )
    done = sandbox.run(Command(("/bin/sh", "-c", script), folders[0], PATH, tools=tools), Limits())
    assert done.output.startswith("ours")
    assert (tools / "tool").read_text() == "ours"


def test_mounts_cannot_be_changed_and_no_new_user_namespace_helps(shell: Callable[..., Completed]) -> None:
    done = shell(
        "umount /etc/shadow; mount -o remount,rw /usr; mount -t tmpfs none /mnt; unshare -Ur true && echo got; id -u;"
        "grep -E 'Cap(Eff|Prm|Bnd)|NoNewPrivs' /proc/self/status"
    )
    assert "got" not in done.output.split()
    assert re.findall(r"(\w+):\s+(\S+)", done.output)[-4:] == [
        ("CapPrm", "0" * 16),
        ("CapEff", "0" * 16),
        ("CapBnd", "0" * 16),
        ("NoNewPrivs", "1"),
    ]


def test_links_and_pipes_left_for_us_are_removed(
    shell: Callable[..., Completed], folders: tuple[Path, Path], tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("top")
    shell(f"cd /patchperf/out; mkdir -m 0 d; ln -s {tmp_path}/secret record; mkfifo pipe; echo x >plain; ln plain hard")
    assert sorted(path.name for path in folders[1].iterdir()) == ["d", "hard", "plain"]


# ---- what it cannot outlast


@BOTH
def test_a_daemon_does_not_outlive_its_command(python: Callable[..., Completed]) -> None:
    token = uuid.uuid4().hex
    done = python(
        f"""
        import os, signal, sys
        if os.fork() == 0:
            os.setsid()
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            if os.fork() == 0:
                os.execl(sys.executable, "daemon {token}", "-I", "-S", "-c", "import time; time.sleep(300)")
            os._exit(0)
        os.wait()
        print("left")
        """
    )
    assert (done.output, done.ok) == ("left\n", True)
    assert running(token) == []


@BOTH
def test_a_time_out_ends_even_those_that_ignore_signals(shell: Callable[..., Completed]) -> None:
    token = uuid.uuid4().hex
    begun = time.monotonic()
    done = shell(
        f"trap '' TERM INT HUP; (setsid sh -c 'sleep 300; : {token}' &) ; echo up; sleep 300; : {token}", timeout=1
    )
    assert (done.ended, done.output, done.exit_code) == ("timeout", "up\n", -9)
    assert 1 <= done.seconds < 10
    assert time.monotonic() - begun < 20
    assert running(token) == []


def test_killing_its_parents_only_ends_the_command(shell: Callable[..., Completed]) -> None:
    assert shell("kill -9 $PPID; kill -9 1; kill -9 0 || echo no").exit_code == -9
    assert shell("kill -9 $PPID 1; echo still here").output == "still here\n"
    done = shell("kill -9 -1; echo still here", timeout=10)
    assert done.ended == "exit"


def test_a_driver_that_is_killed_leaves_no_process_and_its_control_groups_are_cleaned_up(tmp_path: Path) -> None:
    token = uuid.uuid4().hex
    code = f"""
        import sys
        from pathlib import Path
        from patchperf.sandbox.namespaces import Namespaces
        from patchperf.sandbox.protocol import Command, Limits
        script = "(setsid sleep 300 &); echo > up; exec sh -c 'while true; do sleep 300; done; : {token}'"
        Namespaces().run(Command(("/bin/sh", "-c", script), Path(sys.argv[1]), {{"PATH": "/usr/bin:/bin"}}), Limits())
    """
    driver = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code), str(tmp_path)])
    await_true(lambda: (tmp_path / "up").exists() and bool(running(token)))
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    await_true(lambda: not running(token))
    groups = f"patchperf-*-{driver.pid}-*"
    left = [folder for root in Path("/sys/fs/cgroup").glob("*") for folder in root.rglob(groups)]
    if Namespaces().confinement == "namespaces+cgroup":
        assert left
    await_true(lambda: not any(folder.exists() for folder in left if Namespaces()))


def test_a_driver_that_is_killed_while_the_sandbox_starts_never_starts_the_command(tmp_path: Path) -> None:
    code = """
        import os, signal, sys
        from pathlib import Path
        from patchperf.sandbox import namespaces
        from patchperf.sandbox.protocol import Command, Limits
        namespaces.children = lambda pid: os.kill(os.getpid(), signal.SIGKILL)
        command = Command(("/bin/sh", "-c", "echo > started"), Path(sys.argv[1]))
        namespaces.Namespaces().run(command, Limits())
    """
    assert subprocess.run([sys.executable, "-c", textwrap.dedent(code), str(tmp_path)], check=False).returncode == -9
    await_true(lambda: not running(str(tmp_path)))
    assert list(tmp_path.iterdir()) == []


# ---- what it cannot use up


@BOTH
def test_output_beyond_the_limit_ends_the_command_and_fills_no_memory(shell: Callable[..., Completed]) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    done = shell("yes 0123456789abcdef | head -c 1G", Limits(output_mb=2))
    assert (done.ended, len(done.output)) == ("output", 2 * 1024 * 1024)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50 * 1024


def test_output_of_just_the_limit_is_kept(shell: Callable[..., Completed]) -> None:
    done = shell("head -c 1M /dev/zero", Limits(output_mb=1))
    assert (done.ended, len(done.output)) == ("exit", 1024 * 1024)
    assert shell("head -c 1048577 /dev/zero", Limits(output_mb=1)).ended == "output"


def test_one_memory_hog_is_killed(python: Callable[..., Completed]) -> None:
    done = python("b'x' * (300 << 20); print('survived')", Limits(memory_mb=100))
    assert (done.ended, done.output) == ("memory", "")
    assert done.peak_memory_mb is not None
    assert done.peak_memory_mb <= 100


@pytest.mark.parametrize("sandbox", ["rlimits"], indirect=True)
def test_without_control_groups_one_memory_hog_gets_no_more_memory(python: Callable[..., Completed]) -> None:
    done = python("b'x' * (300 << 20); print('survived')", Limits(memory_mb=100))
    assert not done.ok
    assert "survived" not in done.output


HOGS = """
import os, time
for _ in range(4):
    if os.fork() == 0:
        block = bytearray(os.urandom(1 << 20)) * 60
        time.sleep(60)
        os._exit(0)
time.sleep(60)
print("survived")
"""


@BOTH
def test_memory_is_bounded_in_sum(python: Callable[..., Completed]) -> None:
    done = python(HOGS, Limits(memory_mb=150), timeout=30)
    assert (done.ended, done.output) == ("memory", "")
    assert done.seconds < 20


@BOTH
def test_memory_that_processes_share_counts_once(python: Callable[..., Completed]) -> None:
    done = python(
        """
        import os, time
        block = bytearray(os.urandom(1 << 20)) * 60
        for _ in range(4):
            if os.fork() == 0:
                time.sleep(1.5)
                os._exit(0)
        while True:
            try: os.wait()
            except ChildProcessError: break
        print("survived")
        """,
        Limits(memory_mb=150),
    )
    assert (done.ended, done.output) == ("exit", "survived\n")
    assert done.peak_memory_mb is not None
    assert 60 < done.peak_memory_mb < 150


@BOTH
def test_private_folders_do_not_hold_more_than_the_memory_limit(shell: Callable[..., Completed]) -> None:
    folders = "$TMPDIR $HOME /dev/shm"
    script = f"for d in {folders}; do head -c 200M /dev/zero > $d/f; done; du -cm {folders} | tail -1"
    done = shell(script, Limits(memory_mb=128))
    assert done.ended == "memory" or int(done.output.split()[-2]) <= 128


@BOTH
def test_a_fork_bomb_is_ended(python: Callable[..., Completed]) -> None:
    token = uuid.uuid4().hex
    done = python(
        f"""
        import os, time
        # {token}
        for _ in range(300):
            try:
                if os.fork() == 0:
                    time.sleep(60)
                    os._exit(0)
            except BlockingIOError:
                pass
        time.sleep(60)
        """,
        Limits(processes=50),
    )
    assert done.ended == "processes"
    assert done.seconds < 30
    assert running(token) == []


def test_a_wild_fork_bomb_is_ended(shell: Callable[..., Completed]) -> None:
    done = shell("bomb() { bomb | bomb & }; bomb; sleep 60", Limits(processes=40))
    assert done.ended == "processes"


def test_as_many_processes_as_the_limit_says_are_granted(python: Callable[..., Completed]) -> None:
    code = """
        import os, time
        for _ in range({}):
            if os.fork() == 0:
                time.sleep(0.5)
                os._exit(0)
        print("all")
        """
    assert python(code.format(19), Limits(processes=20)).ended == "exit"
    assert python(code.format(20), Limits(processes=20)).ended == "processes"


@BOTH
def test_a_file_cannot_grow_beyond_its_limit(shell: Callable[..., Completed], folders: tuple[Path, Path]) -> None:
    assert not shell("head -c 5M /dev/zero >/patchperf/out/big", Limits(file_mb=2)).ok
    assert (folders[1] / "big").stat().st_size == 2 << 20


def test_no_core_file_is_written(shell: Callable[..., Completed]) -> None:
    assert shell("ulimit -c; ulimit -Hc").output.split() == ["0", "0"]


# ---- as an ordinary user, and when it cannot start


def test_an_ordinary_user_gets_the_same_confinement_with_limits_per_process() -> None:
    context = multiprocessing.get_context("fork")
    parent, child = context.Pipe()

    def be_ordinary() -> None:
        if os.getuid() == 0:
            os.setgroups([])
            os.setresgid(65534, 65534, 65534)
            os.setresuid(65534, 65534, 65534)
        with tempfile.TemporaryDirectory() as tree:
            sandbox = Namespaces()
            limits = Limits(memory_mb=150, processes=20)
            scripts = (
                "id -u; cat /proc/sys/net/ipv4/ip_forward; ls /proc | grep -c '^[0-9]'; ls -A /root; touch x && echo y",
                "i=0; while [ $i -lt 30 ]; do sleep 60 & i=$((i+1)); done; wait",
                "bomb() { bomb | bomb & }; bomb; sleep 2",
            )
            runs = [
                sandbox.run(Command(("/bin/sh", "-c", script), Path(tree), PATH, timeout=20), limits)
                for script in scripts
            ]
            child.send((sandbox.confinement, [(done.ended, done.output) for done in runs]))

    process = context.Process(target=be_ordinary)
    process.start()
    assert parent.poll(60)
    confinement, (plain, sleepers, bomb) = parent.recv()
    process.join()
    assert confinement == "namespaces+rlimits"
    assert plain[1].split()[0] == "1000"
    assert plain[1].split()[-1] == "y"
    assert sleepers[0] == "processes"
    assert bomb[0] in {"exit", "processes"}


def test_a_missing_program_or_tree_is_one_clear_line(sandbox: Namespaces, folders: tuple[Path, Path]) -> None:
    tree, _ = folders
    absent = tree / "absent"
    cases = {
        "no-such-program": Command(("no-such-program",), tree, PATH),
        str(absent / "program"): Command((str(absent / "program"),), tree, PATH),
        str(absent): Command(("/bin/true",), absent, PATH),
        "/bin/cat": Command(("/bin/cat",), tree, PATH, readable=(absent,)),
    }
    for named, command in cases.items():
        with pytest.raises(MachineError) as raised:
            sandbox.run(command, Limits())
        assert named in str(raised.value)
        assert "\n" not in str(raised.value)


def await_true(condition: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)
