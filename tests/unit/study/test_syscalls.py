"""The I/O verdict: a library of small programs whose true class was written down first, traced by the real strace."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

from patchperf.study.syscalls import (
    COUNTED,
    EXEMPTIONS,
    KINDS,
    TABLE,
    TELLING,
    Call,
    IoVerdict,
    Kind,
    Surroundings,
    judge,
    kind_of,
    rule,
    target,
)
from patchperf.study.trace import Window, read_window, strace_command

NONCE = "00112233445566778899aabbccddeeff"


@dataclass(frozen=True)
class Program:
    """A test body with its true class: whether it performs I/O, and what must be seen of it.

    ``kinds`` are classes among those of the deciding calls, ``spared`` exceptions that must have been used. ``before``
    runs once, ``body`` three times as warm-up and once between the markers.
    """

    name: str
    io: bool
    body: str
    before: str = ""
    kinds: tuple[Kind, ...] = ()
    spared: tuple[str, ...] = ()


COMPUTING = [
    Program("arithmetic", False, "sum(n * n for n in range(10_000))"),
    Program("big allocations", False, "bytearray(16 << 20); [0] * 500_000"),
    Program("garbage collection", False, "x = []; x.append(x); del x; gc.collect()", "import gc"),
    Program(
        "json pickle decimal",
        False,
        "json.loads(json.dumps({'a': [1.5]})); pickle.loads(pickle.dumps(set('ab'))); Decimal(2).sqrt()",
        "import json, pickle; from decimal import Decimal",
    ),
    Program(
        "bytes in memory",
        False,
        "f = io.BytesIO(); f.write(gzip.compress(b'a' * 9000)); hashlib.sha256(f.getvalue()).hexdigest()",
        "import gzip, hashlib, io",
    ),
    Program(
        "random numbers", False, "random.random(); random.Random(3).shuffle([1, 2]); os.urandom(8)", "import random"
    ),
    Program("random device", False, "open('/dev/urandom', 'rb').read(4)", spared=("random device",)),
    Program("clock", False, "time.time(); time.perf_counter(); time.localtime()", "import time"),
    Program("sleep", False, "time.sleep(0.001)", "import time"),
    Program(
        "time of day as text",
        False,
        "time.strftime('%c'); time.mktime(time.localtime())",
        "import time",
        spared=("time zone check",),
    ),
    Program(
        "threads",
        False,
        """
        lock = threading.Lock()
        def work():
            with lock: sum(range(1000))
        workers = [threading.Thread(target=work) for _ in range(3)]
        [worker.start() for worker in workers]
        [worker.join() for worker in workers]
        """,
        "import threading",
        spared=("thread",),
    ),
    Program(
        "thread pool",
        False,
        "with ThreadPoolExecutor() as pool: list(pool.map(abs, [-1, 2]))",
        "from concurrent.futures import ThreadPoolExecutor",
        spared=("thread", "processor count"),
    ),
    Program(
        "thread pool kept from before",
        False,
        "list(pool.map(abs, range(20)))",
        "from concurrent.futures import ThreadPoolExecutor; pool = ThreadPoolExecutor(2)",
    ),
    Program("event loop", False, "asyncio.run(asyncio.sleep(0.001))", "import asyncio", spared=("private pair",)),
    Program(
        "event loop kept from before, woken from a thread",
        False,
        "loop.run_until_complete(asyncio.wait_for(loop.run_in_executor(None, abs, -1), 5))",
        "import asyncio; loop = asyncio.new_event_loop()",
        spared=("private pair",),
    ),
    Program(
        "socket pair to itself",
        False,
        "a, b = socket.socketpair(); a.send(b'x'); b.recv(1); a.close(); b.close()",
        "import socket",
        spared=("pair made", "private pair"),
    ),
    Program(
        "pipe to itself",
        False,
        "r, w = os.pipe(); os.write(w, b'x'); os.read(r, 1); os.close(r); os.close(w)",
        spared=("pair made", "private pair"),
    ),
    Program(
        "database in memory",
        False,
        "db = sqlite3.connect(':memory:'); db.execute('create table t (x)'); db.execute('insert into t values (1)'); "
        "db.commit(); db.close()",
        "import sqlite3",
    ),
    Program("anonymous map", False, "m = mmap.mmap(-1, 1 << 20); m[:3] = b'abc'; m.close()", "import mmap"),
    Program(
        "memory file",
        False,
        "f = os.memfd_create('x'); os.write(f, b'x'); os.lseek(f, 0, 0); os.read(f, 1); os.close(f)",
    ),
    Program("print", False, "print('hello', flush=True)", spared=("captured output",)),
    Program(
        "print through a copy of the descriptor",
        False,
        "os.write(copy, b'hello'); os.lseek(copy, 0, 1); os.fstat(copy)",
        "copy = os.dup(1)",
        spared=("captured output",),
    ),
    Program(
        "logging",
        False,
        "logging.warning('%s %d', 'hello', 3)",
        "import logging; logging.basicConfig(format='%(asctime)s %(process)d %(message)s')",
        spared=("captured output",),
    ),
    Program("is it a terminal", False, "sys.stdout.isatty(); os.isatty(0)", spared=("terminal query",)),
    Program("null device", False, "print('x', file=open(os.devnull, 'w'))", spared=("null device",)),
    Program(
        "own process information",
        False,
        "open('/proc/self/status').read(); os.listdir('/proc/self/fd'); os.readlink('/proc/self/exe')",
        spared=("own process information", "own process links"),
    ),
    Program("import of what is loaded", False, "import json; from os import path; __import__('decimal')"),
    Program("signal to itself", False, "os.kill(os.getpid(), 10)", "import signal; signal.signal(10, lambda *_: None)"),
    Program(
        "environment and identity", False, "os.environ['A'] = 'b'; os.getcwd(); os.uname(); os.getuid(); os.umask(18)"
    ),
    Program(
        "event and timer descriptors",
        False,
        "os.eventfd_write(e, 1); os.eventfd_read(e); select.select([e], [e], [], 0)",
        "import select; e = os.eventfd(0)",
    ),
    Program("exception text without source", False, "try: 1 / 0\nexcept ZeroDivisionError as error: str(error)"),
]

TOUCHING = [
    Program("reads a data file", True, "open('data.txt').read()", kinds=("file data",)),
    Program("writes a file", True, "open('out.txt', 'w').write('x')", kinds=("file data",)),
    Program(
        "writes a file opened before", True, "f.write(b'x')", "f = open('log.txt', 'wb', buffering=0)", ("file data",)
    ),
    Program(
        "puts a file in the place of its output for one write",
        True,
        "saved = os.dup(1); os.dup2(f, 1); os.write(1, b'x'); os.dup2(saved, 1); os.close(saved)",
        "f = os.open('out.txt', os.O_WRONLY | os.O_CREAT)",
        ("file data",),
    ),
    Program(
        "puts a file in the place of its output for ever",
        True,
        "os.dup2(f, 1); os.write(1, b'x')",
        "f = os.open('out.txt', os.O_WRONLY | os.O_CREAT)",
        ("file data",),
    ),
    Program("reads descriptor 0", True, "os.read(0, 10)", kinds=("file data",)),
    Program("reads its captured output back", True, "os.pread(1, 10, 0)", kinds=("file data",)),
    Program(
        "looks at a path", True, "os.path.exists('data.txt'); os.access('data.txt', os.R_OK)", kinds=("file metadata",)
    ),
    Program("looks for a file that is not there", True, "os.path.exists('/nonexistent')", kinds=("file metadata",)),
    Program("lists a folder", True, "os.listdir('.')", kinds=("directory",)),
    Program("lists a folder opened before", True, "os.listdir(f)", "f = os.open('.', os.O_RDONLY)", ("directory",)),
    Program("makes and removes a folder", True, "os.mkdir('d'); os.rmdir('d')", kinds=("directory",)),
    Program("changes folder", True, "os.chdir('/')", kinds=("directory",)),
    Program("temporary file", True, "tempfile.TemporaryFile().write(b'x')", "import tempfile", ("file data",)),
    Program("temporary folder", True, "with tempfile.TemporaryDirectory(): pass", "import tempfile", ("directory",)),
    Program(
        "database on disk",
        True,
        "db = sqlite3.connect('db.sqlite'); db.execute('create table if not exists t (x)'); db.commit(); db.close()",
        "import sqlite3",
        ("file data", "file metadata"),
    ),
    Program(
        "map of a file opened before",
        True,
        "mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)[:3]",
        "import mmap; f = open('data.txt', 'rb')",
        ("file data",),
    ),
    Program("child process", True, "subprocess.run(['/bin/true'])", "import subprocess", ("processes", "file data")),
    Program(
        "fork without exec", True, "pid = os.fork()\nif not pid: os._exit(0)\nos.waitpid(pid, 0)", kinds=("processes",)
    ),
    Program(
        "talk to a child started before",
        True,
        "os.write(w, b'x'); os.read(back, 1)",
        """
        r, w = os.pipe()
        back, forth = os.pipe()
        if not os.fork():
            os.close(w)
            while os.read(r, 1): os.write(forth, b'y')
            os._exit(0)
        """,
        ("local sockets and pipes",),
    ),
    Program(
        "loopback TCP",
        True,
        "c = socket.create_connection(s.getsockname()); d, _ = s.accept(); c.send(b'x'); d.recv(1)",
        "import socket; s = socket.create_server(('127.0.0.1', 0))",
        ("network",),
    ),
    Program(
        "loopback TCP, connected before",
        True,
        "c.send(b'x'); d.recv(1)",
        "import socket; s = socket.create_server(('127.0.0.1', 0)); "
        "c = socket.create_connection(s.getsockname()); d, _ = s.accept()",
        ("network",),
    ),
    Program(
        "datagram socket",
        True,
        "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()",
        "import socket",
        ("network",),
    ),
    Program(
        "socket with a name in the file system",
        True,
        "s = socket.socket(socket.AF_UNIX)\ntry: s.connect('/nonexistent')\nexcept OSError: pass\ns.close()",
        "import socket",
        ("local sockets and pipes",),
    ),
    Program(
        "event loop with a server",
        True,
        "asyncio.run(main())",
        "import asyncio\nasync def main(): (await asyncio.start_server(lambda *_: None, '127.0.0.1', 0)).close()",
        ("network",),
    ),
    Program("other process's information", True, "open(f'/proc/{os.getppid()}/stat').read()", kinds=("file data",)),
    Program("file behind an own link", True, "open('/proc/self/exe', 'rb').close()", kinds=("file data",)),
    Program("user database", True, "pwd.getpwuid(0)", "import pwd", ("file data",)),
    Program("host table", True, "socket.getaddrinfo('localhost', 80)", "import socket", ("file data",)),
    Program("zone file", True, "open('/usr/share/zoneinfo/UTC', 'rb').read()", kinds=("file data",)),
    Program(
        "file lock", True, "fcntl.flock(f, fcntl.LOCK_EX)", "import fcntl; f = open('lock', 'w')", ("file metadata",)
    ),
    Program("new pseudo-terminal", True, "a, b = os.openpty(); os.close(a); os.close(b)", kinds=("file data",)),
    Program(
        "read by a thread",
        True,
        "t = threading.Thread(target=lambda: open('data.txt').read()); t.start(); t.join()",
        "import threading",
        ("file data",),
    ),
    Program(
        "deep inside a library",
        True,
        "linecache.clearcache(); linecache.getline(__file__, 1)",
        "import linecache",
        ("file data",),
    ),
    Program(
        "traceback text",
        True,
        "try: 1 / 0\nexcept ZeroDivisionError: traceback.format_exc()",
        "import traceback",
        ("file metadata",),
    ),
    Program(
        "import that finds nothing", True, "try: import nonexistent\nexcept ImportError: pass", kinds=("file metadata",)
    ),
    Program(
        "shared memory",
        True,
        "s = SharedMemory(create=True, size=64); s.close(); s.unlink()",
        "from multiprocessing import resource_tracker\nfrom multiprocessing.shared_memory import SharedMemory\n"
        "resource_tracker.register = resource_tracker.unregister = lambda *_: None",
        ("file data",),
    ),
    Program("io_uring", True, "libc.syscall(425, 1, None)", "import ctypes; libc = ctypes.CDLL(None)", ("file data",)),
    Program("unknown system call", True, "libc.syscall(9999)", "import ctypes; libc = ctypes.CDLL(None)", ("unknown",)),
]


MARKING = f"""
def mark(word, descriptor=2):
    try:
        os.pwrite(descriptor, f'PATCHPERF {NONCE} {{word}}\\n'.encode(), -1)
    except OSError:
        pass
"""


def traced(program: Program, folder: Path, import_path: tuple[str, ...] = ()) -> IoVerdict:
    """The verdict on a program, run with descriptors 1 and 2 captured in temporary files."""
    (folder / "data.txt").write_text("some data")
    (folder / "program.py").write_text(
        f"import os, sys\n{MARKING}\n"
        + textwrap.dedent(program.before)
        + "\ndef body():\n"
        + textwrap.indent(textwrap.dedent(program.body).strip("\n"), "    ")
        + "\nmark('output', 1)\nmark('output')\nfor _ in range(3): body()\nmark('begin')\nbody()\nmark('end')\n"
    )
    log = folder / "strace.log"
    command = [*strace_command(str(log)), sys.executable, "-I", "-S", "program.py"]
    with (folder / "stdout").open("w+b") as out, (folder / "stderr").open("w+b") as err:
        done = subprocess.run(
            command, cwd=folder, stdin=(folder / "data.txt").open("rb"), stdout=out, stderr=err, check=False, timeout=30
        )
    assert done.returncode == 0, (folder / "stderr").read_text()
    window = read_window(log, NONCE, import_path=import_path)
    assert isinstance(window, Window), window
    return judge(window)


@pytest.mark.parametrize("program", [*COMPUTING, *TOUCHING], ids=lambda program: program.name)
def test_a_program_is_judged_as_its_author_wrote(program: Program, tmp_path: Path) -> None:
    verdict = traced(program, tmp_path)
    assert verdict.io == program.io, verdict.deciding
    assert {call.kind for call in verdict.deciding} >= set(program.kinds)
    assert verdict.exceptions.keys() >= set(program.spared)
    assert verdict.io == bool(verdict.deciding)


@pytest.mark.parametrize(
    ("body", "io"),
    [("print('x'); logging.error('y'); sys.stderr.write('z')", False), ("print('x'); capfd.readouterr()", True)],
)
def test_output_that_pytest_captures_is_its_own_and_reading_it_back_is_not(body: str, io: bool, tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        f"import logging, os, sys\n{MARKING}\n\ndef test_it(capfd):\n"
        f"    mark('output', 1)\n    mark('output')\n    mark('begin')\n    {body}\n    mark('end')\n"
    )
    log = tmp_path / "strace.log"
    command = [*strace_command(str(log)), sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout
    window = read_window(log, NONCE)
    assert isinstance(window, Window), window
    verdict = judge(window)
    assert verdict.io == io, verdict.deciding
    assert io or verdict.exceptions.keys() >= {"captured output", "null device"}


def test_an_unknown_call_is_listed(tmp_path: Path) -> None:
    [program] = [program for program in TOUCHING if program.name == "unknown system call"]
    assert traced(program, tmp_path).unknown == ("syscall_0x270f",)


def test_a_deciding_call_names_the_line_of_the_log_that_has_it(tmp_path: Path) -> None:
    verdict = traced(Program("", True, "os.stat('data.txt')"), tmp_path)
    [call] = verdict.deciding
    line = (tmp_path / "strace.log").read_text().splitlines()[call.line - 1]
    assert f"{call.name}({call.arguments}) = {call.result}" in line
    assert '"data.txt"' in line


def test_an_import_that_finds_nothing_is_spared_when_the_process_names_its_import_path(tmp_path: Path) -> None:
    [program] = [program for program in TOUCHING if program.name == "import that finds nothing"]
    listed = traced(Program("", True, program.body, "print(*sys.path, sep='\\n')"), tmp_path)
    folders = (tmp_path / "stdout").read_text().splitlines()
    assert listed.io
    spared = traced(program, tmp_path, import_path=tuple(folders))
    assert not spared.io, spared.deciding
    assert spared.exceptions["import search"] >= 1


def test_the_most_telling_class_is_named_although_another_comes_first(tmp_path: Path) -> None:
    verdict = traced(Program("child", True, "os.fstat(0); subprocess.run(['true'])", "import subprocess"), tmp_path)
    assert verdict.deciding[0].kind == "file metadata"
    assert verdict.kind == "processes"
    assert verdict.telling is not None
    assert verdict.telling.kind == "processes"
    assert set(TELLING) == COUNTED


def test_every_class_is_one_of_the_named_ones_and_every_name_has_one() -> None:
    assert set(TABLE.values()) | {"unknown"} == set(KINDS)
    assert set(KINDS) > COUNTED
    assert {"read", "openat", "mmap", "io_uring_enter", "futex", "faccessat2", "futex_waitv", "clone3"} <= TABLE.keys()


def test_exceptions_have_names_reasons_and_calls_of_the_table() -> None:
    assert len({exemption.name for exemption in EXEMPTIONS}) == len(EXEMPTIONS)
    for exemption in EXEMPTIONS:
        assert len(exemption.reason.split()) > 8
        assert exemption.calls <= TABLE.keys()


def call(name: str, arguments: str, result: str = "0", process: int = 10) -> Call:
    return Call(pid=process, process=process, name=name, arguments=arguments, result=result, line=1)


NOWHERE = Surroundings(process=10)


@pytest.mark.parametrize(
    ("made", "kind"),
    [
        (call("mmap", "NULL, 8192, PROT_READ, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0"), "memory"),
        (call("mmap", "NULL, 34547, PROT_READ, MAP_PRIVATE, 3</etc/ld.so.cache>, 0"), "file data"),
        (call("mmap", "0x7f, 4096, PROT_READ, MAP_PRIVATE|MAP_FIXED, 3</lib/x.so>, 0x26000"), "file data"),
        (call("mmap", "NULL, 4096, PROT_READ, MAP_SHARED, 3</memfd:x>(deleted), 0"), "memory"),
        (call("mmap", "NULL, 4096, PROT_READ, MAP_SHARED, 3, 0"), "file data"),
        (call("ioctl", "3</x>, TCGETS, 0x7f"), "terminal"),
        (call("ioctl", "3</dev/sda>, BLKGETSIZE64, 0x7f"), "file metadata"),
        (call("ioctl", "3<socket:[1]>, FIONBIO, [1]"), "other compute"),
        (call("fcntl", "3</x>, F_SETLK, {l_type=F_RDLCK}"), "file metadata"),
        (call("fcntl", "3</x>, F_GETFL"), "other compute"),
        (call("read", "3<anon_inode:[eventfd]>, 0x7f, 8"), "synchronisation"),
        (call("read", "3<anon_inode:[io_uring]>, 0x7f, 8"), "file data"),
        (call("read", "0</dev/pts/0>, 0x7f, 8"), "terminal"),
        (call("read", "3<pipe:[77]>, 0x7f, 8"), "local sockets and pipes"),
        (call("read", "3<socket:[77]>, 0x7f, 8"), "network"),
        (call("socket", "AF_UNIX, SOCK_STREAM, 0"), "local sockets and pipes"),
        (call("socket", "AF_NETLINK, SOCK_RAW, 0"), "network"),
        (call("connect", '3<socket:[5]>, {sa_family=AF_UNIX, sun_path="/run/x"}, 110'), "local sockets and pipes"),
        (call("a_call_of_the_future", ""), "unknown"),
    ],
)
def test_arguments_refine_the_class(made: Call, kind: Kind) -> None:
    assert kind_of(made, NOWHERE) == kind


@pytest.mark.parametrize(
    ("made", "path"),
    [
        (call("openat", 'AT_FDCWD</home/u>, "x/y", O_RDONLY', "3</data/y>"), "/data/y"),
        (call("openat", 'AT_FDCWD</home/u>, "x/y", O_RDONLY', "-1 ENOENT (No such file)"), "/home/u/x/y"),
        (call("newfstatat", '5</srv>, "z", {st_mode=S_IFREG}, 0'), "/srv/z"),
        (call("newfstatat", '5</srv/z>, "", {st_mode=S_IFREG}, AT_EMPTY_PATH'), "/srv/z"),
        (call("stat", '"/etc/localtime", {st_mode=S_IFREG}'), "/etc/localtime"),
        (call("stat", '"localtime", {st_mode=S_IFREG}'), None),
        (call("stat", '"/very/long"..., {st_mode=S_IFREG}'), None),
        (call("write", '6</tmp/#77>(deleted), "/etc/passwd", 11'), "/tmp/#77"),
        (call("read", "6, 0x7f, 11"), None),
        (call("readlink", r'"/a\"b", 0x7f, 11'), r"/a\"b"),
    ],
)
def test_the_target_is_the_path_behind_a_descriptor_or_argument(made: Call, path: str | None) -> None:
    assert target(made) == path


@pytest.mark.parametrize(
    "made",
    [
        call("openat", 'AT_FDCWD</>, "/dev/urandom", O_RDONLY', "3</data/urandom>"),
        call("write", '5</tmp/#78>(deleted), "x", 1'),
        call("write", '3</proc/10/oom_score_adj>, "x", 1'),
        call("openat", 'AT_FDCWD</>, "/proc/self/cwd/data.txt", O_RDONLY', "3</home/data.txt>"),
        call("openat", 'AT_FDCWD</>, "/proc/11/status", O_RDONLY', "3</proc/11/status>"),
        call("newfstatat", 'AT_FDCWD</>, "/usr/share/zoneinfo/../../../etc/passwd", {st_mode=S_IFREG}, 0'),
        call("fsync", "1</tmp/#77>(deleted)"),
        call("write", '1</tmp/#78>(deleted), "x", 1', process=11),
        call("clone", "child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD"),
        call("ioctl", "0</dev/pts/0>, TCSETS, {c_iflag=0}"),
        call("sendto", '3<socket:[6]>, "x", 1, 0, NULL, 0'),
    ],
    ids=lambda made: f"{made.name} {made.arguments[:30]}",
)
def test_exceptions_do_not_reach_what_only_looks_like_them(made: Call) -> None:
    near = Surroundings(10, streams=frozenset({"/tmp/#77"}), pairs={"socket:[5]"}, alone=True)
    assert rule(made, near).io


def test_a_pair_is_private_only_to_a_process_without_children() -> None:
    made = call("sendto", '3<socket:[5]>, "x", 1, 0, NULL, 0')
    assert not rule(made, Surroundings(10, pairs={"socket:[5]"}, alone=True)).io
    assert rule(made, Surroundings(10, pairs={"socket:[5]"}, alone=False)).io
    assert rule(
        call("sendto", '3<socket:[5]>, "x", 1, 0, NULL, 0', process=11), Surroundings(10, pairs={"socket:[5]"})
    ).io
