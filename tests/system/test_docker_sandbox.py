"""The Docker sandbox against a real engine: what a command gets, what it cannot do, and that nothing of it stays."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import docker
import pytest
from docker_engine import own_group

from patchperf.errors import InputError, MachineError
from patchperf.measure.identity import awaited_caller
from patchperf.sandbox import engine, trees
from patchperf.sandbox.container import LAYOUT, DockerSandbox, Setup
from patchperf.sandbox.protocol import Command, Completed, Limits

STUDY = "0123456789abcdef"
PYTHON = "/usr/bin/python3"
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
SMALL = Limits(memory_mb=256, processes=64, output_mb=1, file_mb=64, disk_mb=128)
PERF_EVENT_OPEN = """
import ctypes, os, struct
attributes = ctypes.create_string_buffer(struct.pack("IIQQQQQ", 1, 112, 0, 0, 0, 0, 0x61), 112)
library = ctypes.CDLL(None, use_errno=True)
print(library.syscall(298, attributes, 0, -1, -1, 0) >= 0 or os.strerror(ctypes.get_errno()))
"""
"""Opens a software event of its own process, in user mode."""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "module.py").write_text("print('here')\n")
    return folder


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


@pytest.fixture
def new_sandbox(client: docker.DockerClient, old_image: str, tmp_path: Path) -> Iterator[Callable[..., DockerSandbox]]:
    with contextlib.ExitStack() as stack:

        def make(**setup: Any) -> DockerSandbox:
            return stack.enter_context(DockerSandbox(client, old_image, tmp_path / "sandbox", STUDY, Setup(**setup)))

        yield make


@pytest.fixture
def sandbox(new_sandbox: Callable[..., DockerSandbox]) -> DockerSandbox:
    return new_sandbox()


@pytest.fixture
def run(sandbox: DockerSandbox, tree: Path, out: Path) -> Callable[..., Completed]:
    """Runs Python code (or, as ``argv``, any command) in the sandbox."""

    def run(code: str = "", *, argv: tuple[str, ...] = (), limits: Limits = SMALL, **more: Any) -> Completed:
        command = {"tree": tree, "out": out, "environment": ENVIRONMENT, "timeout": 120.0, **more}
        return sandbox.run(Command(argv or (PYTHON, "-c", code), **command), limits)

    return run


@pytest.fixture
def parent_group() -> Iterator[str]:
    with own_group() as name:
        yield name


def ours(client: docker.DockerClient) -> list[Any]:
    return client.containers.list(all=True, filters={"label": engine.OWNER})


# ---- what a command gets


def test_a_command_has_its_tree_its_environment_and_the_images_python(run):
    done = run("import os, sys; print(sys.version_info[:2], os.getcwd(), sorted(os.environ), os.listdir())")
    assert (done.exit_code, done.ended) == (0, "exit")
    names = ["HOME", "LC_ALL", "PATH", "PWD", "TMPDIR"]
    assert done.output == f"(3, 9) /testbed {names} ['module.py']\n"
    assert done.peak_memory_mb is not None and 1 < done.peak_memory_mb < 256
    assert done.seconds > 0.005


def test_equal_commands_leave_one_container_and_no_trace_of_each_other(run, client, tree):
    leave = """
import os
for place in ("/tmp/x", "/dev/shm/x", os.environ["HOME"] + "/x", "/testbed/x"):
    print(os.path.exists(place))
    open(place, "w").close()
"""
    assert run(leave).output == "False\n" * 4
    (first,) = ours(client)
    assert run(leave).output == "False\n" * 3 + "True\n"
    (second,) = ours(client)
    assert first.id == second.id
    assert sorted(path.name for path in tree.iterdir()) == ["module.py", "x"]


def test_exit_codes_and_signals_come_back_and_no_shell_adds_a_word(run):
    assert run("raise SystemExit(7)").exit_code == 7
    killed = run("import os; os.kill(os.getpid(), 9)")
    assert (killed.exit_code, killed.ended, killed.output) == (-9, "exit", "")


def test_output_of_both_streams_comes_in_the_order_written_and_is_decoded(run):
    done = run("import os; [os.write(1 + n % 2, b'%d\\xff\\n' % n) for n in range(4)]")
    assert done.output == "".join(f"{n}�\n" for n in range(4))


def test_odd_words_reach_the_command_as_they_are(run):
    words = ("", "a b", "$HOME `id`", "line\nline", "'\"", "ä")
    done = run(argv=(PYTHON, "-c", "import sys; print(ascii(sys.argv[1:]))", *words))
    assert done.output.strip() == ascii(list(words))


def test_tools_are_read_only_and_out_comes_back_as_plain_files(run, tmp_path, out):
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "tool.py").write_text("answer = 42\n")
    code = f"""
import os, sys
sys.path.insert(0, "{LAYOUT.tools}")
sys.dont_write_bytecode = True
import tool
print(tool.answer)
for name in ("new", "tool.py"):
    try: open("{LAYOUT.tools}/" + name, "w")
    except OSError as error: print(error.strerror)
os.mkdir("{LAYOUT.out}/d")
open("{LAYOUT.out}/d/result", "w").write("done")
os.symlink("/etc/passwd", "{LAYOUT.out}/link")
os.mkfifo("{LAYOUT.out}/pipe")
os.chmod("{LAYOUT.out}/d", 0)
"""
    assert run(code, tools=tools).output == "42\nRead-only file system\nRead-only file system\n"
    assert [path.name for path in out.iterdir()] == ["d"]
    assert (out / "d" / "result").read_text() == "done"
    assert [path.name for path in tools.iterdir()] == ["tool.py"]


def test_folders_that_a_command_needs_are_shown_read_only_under_their_names(run, tmp_path):
    folder = tmp_path / "bundle"
    folder.mkdir()
    (folder / "file").write_text("shown")
    done = run(f"p='{folder}/file'; print(open(p).read()); open(p, 'w')", readable=(folder,))
    assert done.output.endswith("shown\n")
    assert "Read-only file system" in done.output


def test_the_process_that_reports_is_known_by_this_machines_number(run, out):
    code = f"""
import os, socket
print(os.getpid() < 100)
s = socket.socket(socket.AF_UNIX); s.connect("{LAYOUT.out}/process.sock")
"""
    with awaited_caller(out) as caller:
        assert run(code).output == "True\n"
        assert (caller.pid() or 0) > 100


def test_a_missing_program_is_said(run):
    with pytest.raises(MachineError, match=r"^no-such: not an executable inside the container$"):
        run(argv=("no-such",))


def test_a_tree_on_another_file_system_is_refused_and_stays_whole(run, tmp_path):
    elsewhere = Path(f"/dev/shm/patchperf-test-{os.getpid()}")
    elsewhere.mkdir()
    try:
        (elsewhere / "file").write_text("")
        with pytest.raises(MachineError, match="not on the file system"):
            run("", tree=elsewhere)
        assert [path.name for path in elsewhere.iterdir()] == ["file"]
    finally:
        (elsewhere / "file").unlink()
        elsewhere.rmdir()


def test_strace_from_a_bundle_works_under_the_default_profile(run, tmp_path):
    from patchperf.counters.bundle import bundle, starting  # noqa: PLC0415

    folder = bundle(tmp_path, "strace", [Path("/usr/bin/strace")])
    words = (*starting(folder, "strace"), "-f", "-o", f"{LAYOUT.out}/trace", "-e", "trace=openat")
    done = run(argv=(*words, PYTHON, "-c", "open('/etc/debian_version')"), readable=(folder,))
    assert (done.exit_code, done.output) == (0, "")
    assert "/etc/debian_version" in (tmp_path / "out" / "trace").read_text()


def test_performance_events_are_let_through_only_where_asked(run, new_sandbox, client, tree):
    assert run(PERF_EVENT_OPEN).output == "Operation not permitted\n"
    command = Command((PYTHON, "-c", PERF_EVENT_OPEN), tree, ENVIRONMENT)
    profile = json.dumps({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": []})
    assert new_sandbox(perf_events=True, seccomp=profile).run(command, SMALL).output == "True\n"
    major = int(client.version()["Version"].split(".")[0])
    if major < 23:
        with pytest.raises(MachineError, match=r"PERFMON.*sandbox\.seccomp"):
            new_sandbox(perf_events=True).run(command, SMALL)
    else:
        assert new_sandbox(perf_events=True).run(command, SMALL).output == "True\n"


def test_the_hook_comes_before_the_command_and_the_container_starts_below_the_parent(
    new_sandbox, parent_group, tree, out
):
    seen: list[tuple[str, list[Path]]] = []
    sandbox = new_sandbox(
        cgroup_parent=f"/{parent_group}", started=lambda name: seen.append((name, list(out.parent.glob("*/out/begun"))))
    )
    code = f"open('{LAYOUT.out}/begun', 'w'); print(open('/proc/self/cgroup').read())"
    command = Command((PYTHON, "-c", code), tree, ENVIRONMENT, out=out)
    done = sandbox.run(command, SMALL)
    ((name, begun),) = seen
    assert begun == []
    assert f"/{parent_group}/{name}" in done.output or "0::/\n" in done.output
    sandbox.run(command, SMALL)
    assert [one for one, _ in seen] == [name, name]


# ---- limits


def test_a_timeout_ends_everything(run, tree):
    code = "import subprocess, time; subprocess.Popen(['setsid', 'sleep', '987654']); time.sleep(1000)"
    done = run(code, timeout=2)
    assert (done.ended, done.exit_code) == ("timeout", -9)
    assert 2 <= done.seconds < 60
    assert processes("987654") == []


def processes(word: str) -> list[str]:
    told = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return [line for line in told.splitlines() if word in line and "ps -eo" not in line]


def test_ten_gigabytes_of_memory_end_a_command_and_that_is_told_from_a_plain_kill(run):
    done = run("x = [b'x' * 10**7 for _ in range(1000)]")
    assert (done.ended, done.exit_code) == ("memory", -9)
    assert done.peak_memory_mb == pytest.approx(256, abs=8)
    assert run("import os; os.kill(os.getpid(), 9)").ended == "exit"


def test_memory_in_temporary_files_counts(run):
    code = """
for place in ("/tmp", "/dev/shm", "/patchperf/home"):
    for n in range(4):
        try: open(place + "/%d" % n, "wb").write(bytes(60 * 2**20))
        except OSError as error: print(error.strerror)
"""
    done = run(code)
    assert done.ended == "memory" or "No space left on device" in done.output


def test_a_fork_bomb_ends_a_command(run):
    done = run("import os\nwhile True: os.fork()")
    assert (done.ended, done.exit_code) == ("processes", -9)
    assert run("print('fine')").output == "fine\n"


def test_ten_gigabytes_of_output_end_a_command(run):
    done = run("import os\nfor _ in range(10 * 1024): os.write(1, b'x' * 2**20)")
    assert (done.ended, len(done.output)) == ("output", 2**20)


def test_ten_gigabytes_on_disk_end_a_command(run, tree):
    several = """
for n in range(200):
    with open("big%d" % n, "wb") as file: file.write(bytes(50 * 2**20))
"""
    assert run(several).ended == "disk"
    assert sum(path.stat().st_size for path in tree.glob("big*")) < 2000 * 2**20
    for path in tree.glob("big*"):
        path.unlink()
    one = run("with open('big', 'wb') as f: f.write(bytes(100 * 2**20))")
    assert "File too large" in one.output


def test_nameless_files_on_disk_end_a_command(run):
    code = """
import os
kept = []
for n in range(200):
    kept.append(open("big%d" % n, "wb")); os.unlink("big%d" % n); kept[-1].write(bytes(50 * 2**20)); kept[-1].flush()
"""
    assert run(code).ended == "disk"


def test_a_full_limit_says_nothing_of_the_next_command(run):
    run("x = [b'x' * 10**7 for _ in range(1000)]")
    done = run("print('fine')")
    assert (done.ended, done.output) == ("exit", "fine\n")


# ---- what a command cannot do


def test_there_is_no_network_but_a_loopback(run):
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port = listening.getsockname()[1]
        code = f"""
import os, socket
print(os.listdir("/sys/class/net"))
for address in (("127.0.0.1", {port}), ("192.0.2.1", 80)):
    try: socket.create_connection(address, 5)
    except OSError as error: print(error.strerror)
server = socket.create_server(("127.0.0.1", 0)); socket.create_connection(server.getsockname(), 5); print("own")
"""
        told = run(code).output.splitlines()
    assert told == ["['lo']", "Connection refused", "Network is unreachable", "own"]


def test_no_file_of_the_host_and_no_socket_of_the_engine_can_be_seen(run, tmp_path, engine_address):
    secret = tmp_path / "secret"
    secret.write_text("secret")
    places = (str(secret), engine_address.removeprefix("unix://"), "/var/run/docker.sock", f"/proc/1/root{secret}")
    code = f"import os; print([os.path.exists(place) for place in {places!r}])"
    assert run(code).output == "[False, False, False, False]\n"


def test_the_image_and_what_is_ours_cannot_be_written(run):
    code = """
import os
for path in ("/x", "/usr/bin/python3", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf", "/patchperf/x",
             "/patchperf/control/x", "/patchperf/control/launch", "/proc/sys/kernel/core_pattern",
             "/proc/sysrq-trigger", "/sys/fs/cgroup/x", "/sys/kernel/uevent_helper"):
    try:
        open(path, "a").close()
        print("WRITTEN", path)
    except OSError: pass
"""
    assert run(code).output == ""


def test_no_privilege_can_be_had(run):
    code = """
import ctypes, os
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print({status[name].strip() for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")})
print(status["NoNewPrivs"].strip(), status["Seccomp"].strip())
library = ctypes.CDLL(None, use_errno=True)
print(library.mount(b"x", b"/tmp", b"tmpfs", 0, None), library.unshare(0x10000000), library.setuid(1))
for device in ("mem", "kmsg", "vda", "sda"):
    print(os.path.exists("/dev/" + device))
try: os.mknod("/tmp/disk", 0o60600, os.makedev(254, 0))
except OSError as error: print(error.strerror)
"""
    told = run(code).output.splitlines()
    assert told[0] == "{'0000000000000000'}"
    assert told[1:3] == ["1 2", "-1 -1 -1"]
    assert told[3:] == ["False"] * 4 + ["Operation not permitted"]


def test_other_containers_are_out_of_reach(run, client, old_image):
    other = client.containers.run(old_image, ["sleep", "1000"], detach=True, network_mode="none", name="foreign")
    try:
        code = """
import os
print([p for p in os.listdir("/proc") if p.isdecimal() and b"sleep\\0" in open("/proc/%s/cmdline" % p, "rb").read()])
try: os.kill(-1, 9)
except OSError: pass
"""
        assert run(code).output == "[]\n"
        other.reload()
        assert other.status == "running"
    finally:
        other.remove(force=True)


def test_killing_everything_in_reach_ends_nothing_of_ours(run):
    done = run("import os, time; os.kill(-1, 9)")
    assert done.ended == "exit"
    assert run("print('fine')").output == "fine\n"


def test_a_process_that_outlives_the_command_is_gone(run, tree):
    code = """
import os, time
for _ in range(3):
    if os.fork() == 0:
        os.setsid(); os.close(0); os.close(1); os.close(2)
        n = 0
        while True:
            open("/testbed/beat", "w").write(str(n)); n += 1
"""
    assert run(code).ended == "exit"
    before = (tree / "beat").read_bytes()
    time.sleep(0.5)
    assert (tree / "beat").read_bytes() == before


def test_segments_and_queues_do_not_outlive_the_command(run):
    code = """
import ctypes
library = ctypes.CDLL(None)
print(len(open("/proc/sysvipc/shm").readlines()), len(open("/proc/sysvipc/msg").readlines()))
print(library.shmget(1, 2**20, 0o1666) >= 0, library.msgget(1, 0o1666) >= 0)
"""
    assert run(code).output == run(code).output == "1 1\nTrue True\n"


def test_a_command_cannot_get_at_another_tree(run, tmp_path, tree):
    other = tmp_path / "other"
    other.mkdir()
    (other / "other.py").write_text("")
    run("import os; os.mkdir('d'); os.chmod('d', 0)", tree=other)
    done = run("import os; print([f for _, _, files in os.walk('/') for f in files if f == 'other.py'])")
    assert done.output == "[]\n"
    assert sorted(path.name for path in other.iterdir()) == ["d", "other.py"]


def test_a_command_that_edits_its_tree_changes_its_digest(run, tmp_path):
    made = tmp_path / "made"
    mirror(tmp_path / "repository", tmp_path / "mirror.git")
    commit = subprocess.check_output(["git", "-C", tmp_path / "mirror.git", "rev-parse", "HEAD"], text=True).strip()
    trees.checkout(tmp_path / "mirror.git", commit, made)
    before = trees.tree_digest(made)
    assert run("import module", tree=made).ended == "exit"
    assert trees.tree_digest(made) == before
    run("open('module.py', 'a').write('#')", tree=made)
    assert trees.tree_digest(made) != before
    trees.reset(made)
    assert trees.tree_digest(made) == before


def mirror(repository: Path, bare: Path) -> None:
    repository.mkdir()
    (repository / "module.py").write_text("x = 1\n")
    identity = ("-c", "user.name=x", "-c", "user.email=x@localhost")
    for arguments in (("init", "-q"), ("add", "."), (*identity, "commit", "-qm", "base")):
        subprocess.run(["git", "-C", repository, *arguments], check=True)
    subprocess.run(["git", "clone", "-q", "--bare", repository, bare], check=True)


# ---- whose containers are whose


def test_closing_removes_the_container(new_sandbox, client, tree):
    sandbox = new_sandbox()
    sandbox.run(Command(("true",), tree, ENVIRONMENT), SMALL)
    assert len(ours(client)) == 1
    sandbox.close()
    assert ours(client) == []


DRIVER = """
import sys
from pathlib import Path
from patchperf.sandbox.container import DockerSandbox
from patchperf.sandbox.engine import connect
from patchperf.sandbox.protocol import Command, Limits
sandbox = DockerSandbox(connect(), sys.argv[1], Path(sys.argv[2]) / "s", "feed")
tree = Path(sys.argv[2]) / "t"
tree.mkdir(parents=True)
argv = ("sh", "-c", "touch /testbed/begun; sleep 876543 & sleep 876543")
sandbox.run(Command(argv, tree, {"PATH": "/usr/bin:/bin"}), Limits())
"""


def test_a_killed_driver_leaves_no_process_and_its_container_is_removed_by_the_next(
    client, old_image, engine_address, tmp_path, run
):
    foreign = client.containers.create(old_image, ["true"], name="patchperf-not-ours", labels={"a": "b"})
    alive = client.containers.create(old_image, ["true"], labels=engine.labels(STUDY))
    environment = {**os.environ, "DOCKER_HOST": engine_address}
    try:
        argv = [sys.executable, "-c", DRIVER, old_image, str(tmp_path / "killed")]
        with subprocess.Popen(argv, env=environment) as driver:
            begun = tmp_path / "killed" / "s" / "tree" / "begun"
            until(lambda: begun.exists() or driver.poll() is not None)
            assert begun.exists()
            driver.kill()
        until(lambda: not processes("876543"))
        assert [one.labels[engine.STUDY] for one in ours(client)].count("feed") == 1
        assert len(engine.remove_abandoned(client)) == 1
        assert {one.id for one in client.containers.list(all=True)} >= {foreign.id, alive.id}
        assert "feed" not in [one.labels[engine.STUDY] for one in ours(client)]
    finally:
        foreign.remove()
        alive.remove()


def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_an_image_with_volumes_is_refused(client, old_image, tmp_path):
    container = client.containers.create(old_image, ["true"])
    container.commit("volumes", "1", changes=["VOLUME /data"])
    container.remove()
    try:
        with pytest.raises(InputError, match=r"declares volumes \(/data\)"):
            DockerSandbox(client, "volumes:1", tmp_path / "sandbox", STUDY)
    finally:
        client.images.remove("volumes:1")


def test_an_engine_that_does_not_answer_is_said(monkeypatch):
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    with pytest.raises(MachineError, match=r"no Docker engine answers at unix:///nowhere/docker\.sock: .*start it"):
        engine.connect()
