"""The sandbox that runs commands in a benchmark's own image: one Docker container, started anew for each command."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import resource
import select
import shlex
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import docker
import requests
from docker.errors import APIError, DockerException
from docker.models.containers import Container
from docker.types import Mount, Ulimit

from patchperf.errors import InputError, MachineError
from patchperf.sandbox import cgroups, engine
from patchperf.sandbox.capture import capture, drain
from patchperf.sandbox.disk import DiskWatch
from patchperf.sandbox.exchange import Exchange
from patchperf.sandbox.files import keep_plain_files
from patchperf.sandbox.protocol import Command, Completed, Layout, Limits
from patchperf.sandbox.space import with_room

LAYOUT = Layout(tree="/testbed", tools="/patchperf/tools", out="/patchperf/out")
HOME = "/patchperf/home"
TMPDIR = "/tmp"
DESCRIPTION = (
    "own network (loopback only), pid, ipc, uts and mount namespaces of a Docker container without capabilities, its "
    "image read-only; the kernel bounds memory and processes of a command as a whole"
)

_CONTROL = "/patchperf/control"
_LAUNCH, _OUTPUT, _WORD, _GATE = "launch", "output", "word", "gate"
_OWN_PROCESSES = 2
_START_SECONDS = 120.0
_END_SECONDS = 60.0
_MEBIBYTE = 1024 * 1024
_PIPE_SIZE = 1 << 20
_OPEN_FILES = (1024, 4096)
_LAST_SIGNAL = 64
_PODMANS_PROCESSES = 32768

Key = tuple[Limits, tuple[Path, ...]]


@dataclass(frozen=True)
class Setup:
    """How containers are made beyond what the sandbox demands itself.

    ``files`` are host files and folders that appear read-only under the paths that are their keys. ``perf_events`` lets
    perf_event_open through (capability PERFMON, for which Docker's default seccomp profile has a rule); ``seccomp`` is
    the text of a profile to use instead of the engine's own. ``cgroup_parent`` is the control group that containers
    start below, ``cpus`` the logical CPUs they are kept to (any, if none are given: those of the control group).
    ``started`` is called with a container's id each time it has started, before anything of the command runs: its
    control group is a new one each time.
    """

    files: Mapping[str, Path] = field(default_factory=dict)
    perf_events: bool = False
    seccomp: str | None = None
    cgroup_parent: str | None = None
    cpus: tuple[int, ...] = ()
    started: Callable[[str], None] | None = None


class DockerSandbox:
    """Runs the commands of one case, one after the other, in one container that is started for each of them.

    What holds: a command sees its image (read-only), its tree, ``out``, ``tools`` and ``readable`` and no other file;
    has a loopback of its own and no other network; has no capability and gains none; cannot pass the limits on memory
    (swap included) and processes, which the kernel keeps for their sum, nor those on output and disk, which are looked
    at twice a second. Its last process is gone when ``run`` returns: the end of the container's init is the kernel's
    word for that. With the container's end goes all that is not in the tree or ``out``: HOME, temporary files, shared
    memory, IPC objects. If this driver dies, the command ends too, and the container is left for ``remove_abandoned``.

    ``work`` is a folder of this sandbox alone, on the file system of the trees. The engine has to run on this machine.
    Another container takes the place of the first when a command comes with other limits or ``readable`` folders.
    """

    layout = LAYOUT
    confinement = "docker"

    def __init__(
        self, client: docker.DockerClient, image: str, work: Path, study: str, setup: Setup | None = None
    ) -> None:
        self._client = client
        self._image = image
        self._study = study
        self._setup = setup or Setup()
        self._exchange = Exchange(work)
        self._made: tuple[Key, Container] | None = None
        with engine.told_by_engine(image):
            config = client.images.get(image).attrs["Config"] or {}
            engine.remove_abandoned(client)
        if config.get("Volumes"):
            raise InputError(
                f"image {image} declares volumes ({', '.join(sorted(config['Volumes']))}): they would keep what a "
                "command writes; use an image without them"
            )

    def __enter__(self) -> DockerSandbox:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the container."""
        if self._made is not None:
            _, container = self._made
            self._made = None
            with engine.told_by_engine(str(container.name)):
                engine.remove(container)

    def run(self, command: Command, limits: Limits) -> Completed:
        """Run a command; ``timeout`` and ``seconds`` count from the moment that the container waits for the word.

        What the command left in ``out`` is reduced to plain files and folders, so that reading them follows no link.
        Raises MachineError if the container or the command cannot be started, if the command cannot be ended, where the
        tree or ``out`` has no room left, or where one of the command's folders is not on the file system of ``work``.
        """
        with with_room(command.tree, command.out):
            container = self._container((limits, command.readable))
            try:
                with self._exchange.lent(command.tree, command.tools, command.out):
                    return self._run(container, command, limits)
            finally:
                if command.out is not None:
                    keep_plain_files(command.out)

    def _run(self, container: Container, command: Command, limits: Limits) -> Completed:
        with contextlib.ExitStack() as stack:
            ends = stack.enter_context(_control(self._exchange.control, _launcher(command)))
            init = stack.enter_context(_started(container))
            _await_ready(command, ends, container)
            group = cgroups.of_process(init.pid)
            if group is None:
                raise MachineError(f"{container.name}: its control group for memory and processes cannot be seen here")
            if self._setup.started is not None:
                self._setup.started(str(container.id))
            disk = DiskWatch((self._exchange.tree, self._exchange.out), limits.disk_mb, lambda: _processes(group))
            bounds = _Bounds(group, disk)
            begun = time.perf_counter()
            os.write(ends.gate, b"go\n")

            def end() -> None:
                bounds.settle()
                init.end()

            captured = capture(
                ends.output,
                ends.word,
                timeout=command.timeout,
                output_limit=limits.output_mb * _MEBIBYTE,
                check=bounds.exceeded,
                kill=end,
            )
            word = drain(ends.word, 256).decode(errors="replace")
        told = re.fullmatch(r"exit (\d{1,3})\n", word)
        ended = captured.ended
        if ended == "exit" and told is None and _ran_out_of_memory(container):
            ended = "memory"
        code = _exit_code(int(told[1])) if told is not None and ended == "exit" else -signal.SIGKILL
        return Completed(code, ended, captured.output, bounds.settled_at - begun, bounds.peak_mb)

    def _container(self, key: Key) -> Container:
        if self._made is not None and self._made[0] == key:
            return self._made[1]
        self.close()
        name = engine.new_name(self._study)
        what = f"a container of image {self._image}"
        try:
            with engine.told_by_engine(what):
                container = self._client.containers.create(self._image, name=name, **self._options(*key))
        except MachineError as error:
            if self._setup.perf_events and "PERFMON" in str(error):
                raise MachineError(
                    f"{error}; this engine cannot let hardware counters through by itself: name a profile that allows "
                    "perf_event_open in sandbox.seccomp, or set counter to none"
                ) from None
            raise
        self._made = (key, container)
        return container

    def _options(self, limits: Limits, readable: tuple[Path, ...]) -> dict[str, Any]:
        setup, places = self._setup, self._exchange
        memory = limits.memory_mb * _MEBIBYTE
        security = ["no-new-privileges"]
        if setup.seccomp is not None:
            security.append(f"seccomp={setup.seccomp}")
        shown = {LAYOUT.tools: places.tools, _CONTROL: places.control, **setup.files}
        for path in readable:
            shown |= {str(name): name for name in (path.absolute(), path.resolve())}
        mounts = [_bind(LAYOUT.tree, places.tree, writable=True), _bind(LAYOUT.out, places.out, writable=True)]
        mounts += [_bind(target, source) for target, source in shown.items()]
        remapped = any("name=userns" in option for option in self._client.info().get("SecurityOptions") or ())
        return {
            "entrypoint": ["/bin/sh", f"{_CONTROL}/{_LAUNCH}"],
            "command": [],
            "user": f"{os.getuid()}:{os.getgid()}",
            "working_dir": LAYOUT.tree,
            "hostname": "localhost",
            "labels": engine.labels(self._study),
            "network_mode": "none",
            "ipc_mode": "private",
            "cap_drop": ["ALL"],
            "cap_add": ["PERFMON"] if setup.perf_events and setup.seccomp is None else [],
            "security_opt": security,
            "read_only": True,
            "mounts": mounts,
            "tmpfs": {
                TMPDIR: f"rw,exec,nosuid,nodev,mode=1777,size={memory // 2}",
                HOME: f"rw,exec,nosuid,nodev,mode=1777,size={memory // 4}",
            },
            "shm_size": memory // 4,
            "mem_limit": memory,
            "memswap_limit": memory,
            "pids_limit": limits.processes + _OWN_PROCESSES,
            "ulimits": [
                Ulimit(name="core", soft=0, hard=0),
                Ulimit(name="fsize", soft=limits.file_mb * _MEBIBYTE, hard=limits.file_mb * _MEBIBYTE),
                Ulimit(name="nofile", soft=_OPEN_FILES[0], hard=_OPEN_FILES[1]),
                *_podmans_limits(self._client),
            ],
            "log_config": {"type": "none"},
            "healthcheck": {"test": ["NONE"]},
            "cgroup_parent": setup.cgroup_parent,
            "cpuset_cpus": ",".join(map(str, setup.cpus)) or None,
            **({"userns_mode": "host"} if remapped else {}),
        }


class _Bounds:
    """The limits of one run that are looked at from outside; what was seen last stays when the group is gone."""

    def __init__(self, group: cgroups.Group, disk: DiskWatch) -> None:
        self._group = group
        self._disk = disk
        self._last: str | None = None
        self.peak_mb: float | None = None
        self.settled_at = 0.0

    def exceeded(self) -> str | None:
        """The limit that is passed, if any."""
        if self._last is None and not self.settled_at:
            with contextlib.suppress(OSError):  # the group goes with its last process
                self._last = self._group.exceeded()
            self._last = self._last or self._disk.exceeded()
        return self._last

    def settle(self) -> None:
        """Look once more, before the group goes."""
        if not self.settled_at:
            now = time.perf_counter()
            self.exceeded()
            with contextlib.suppress(OSError):
                self.peak_mb = self._group.peak_memory_mb()
            self.settled_at = now


@dataclass(frozen=True)
class _Ends:
    """Our ends of the three pipes to the launcher: what the command prints, what the launcher says, and our word."""

    output: int
    word: int
    gate: int


@contextlib.contextmanager
def _control(folder: Path, script: str) -> Iterator[_Ends]:
    """Put the script and its pipes into the folder that shows them inside, fresh for this run."""
    for name in (_LAUNCH, _OUTPUT, _WORD, _GATE):
        (folder / name).unlink(missing_ok=True)
    (folder / _LAUNCH).write_text(script, "utf-8", errors="surrogateescape")
    for name in (_OUTPUT, _WORD, _GATE):
        os.mkfifo(folder / name, 0o600)
    with contextlib.ExitStack() as stack:

        def opened(name: str, mode: int) -> int:
            descriptor = os.open(folder / name, mode | os.O_NONBLOCK | os.O_CLOEXEC)
            stack.callback(os.close, descriptor)
            return descriptor

        ends = _Ends(opened(_OUTPUT, os.O_RDONLY), opened(_WORD, os.O_RDONLY), opened(_GATE, os.O_RDWR))
        with contextlib.suppress(PermissionError):  # beyond the user's quota the default size has to do
            fcntl.fcntl(ends.output, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)
        yield ends


def _launcher(command: Command) -> str:
    """The shell script that is the container's init.

    It says whether there is such a program and that all stands, waits for the word, runs the command, tells its exit
    status, and stays until it is killed, so that the container's control group can be read. Beside the command waits a
    process for our end of the gate to close: if we die, it kills whatever runs. What the shell itself has to say of a
    killed command is nothing of the command's output.
    """
    argv0 = command.argv[0]
    if "=" in argv0:
        raise MachineError(f"{argv0}: a program whose path has an equals sign in it cannot be run; rename its folder")
    environment = {**command.environment, "HOME": HOME, "TMPDIR": TMPDIR, "PWD": LAYOUT.tree}
    words = ["/usr/bin/env", "-i", "--", *(f"{name}={environment[name]}" for name in sorted(environment))]
    return f"""exec 4<{_CONTROL}/{_GATE} 5>{_CONTROL}/{_WORD} 6>{_CONTROL}/{_OUTPUT} >/dev/null 2>&1 </dev/null
PATH={shlex.quote(command.environment.get("PATH", os.defpath))}
command -v -- {shlex.quote(argv0)} || {{ echo missing >&5; read -r word <&4; exit 127; }}
echo ready >&5
read -r word <&4 || exit 0
{{ read -r word; kill -9 -1; }} <&4 5>&- 6>&- &
( exec {shlex.join([*words, *command.argv])} >&6 2>&6 4<&- 5>&- 6>&- )
echo "exit $?" >&5
read -r word <&4
"""


@dataclass(frozen=True)
class _Init:
    """The container's first process, with whose end all others in the container end."""

    container: Container
    pid: int
    handle: int

    def end(self) -> None:
        """Kill all that runs in the container, and wait until nothing does and the engine knows it."""
        try:
            signal.pidfd_send_signal(self.handle, signal.SIGKILL)
        except ProcessLookupError:
            pass
        except PermissionError:
            with contextlib.suppress(APIError):  # it has ended by itself
                self.container.kill("SIGKILL")
        gone = select.poll()
        gone.register(self.handle, select.POLLIN)
        if not gone.poll(_END_SECONDS * 1000):
            raise MachineError(f"{self.container.name}: its processes do not end; remove the container by hand")
        with engine.told_by_engine(f"the end of {self.container.name}"):
            self.container.wait(timeout=_END_SECONDS)


@contextlib.contextmanager
def _started(container: Container) -> Iterator[_Init]:
    """The container while it runs; nothing of it runs any more in the end, however that comes."""
    with contextlib.ExitStack() as stack:
        stack.push(lambda kind, *_: _stopped(container) if kind is not None else None)
        with engine.told_by_engine(f"{container.name} cannot be started"):
            container.start()
            container.reload()
        pid = int(container.attrs["State"]["Pid"])
        if pid == 0:
            raise MachineError(f"{container.name} ended at once: {_state(container)}")
        try:
            handle = os.pidfd_open(pid)
            known = str(container.id) in Path(f"/proc/{pid}/cgroup").read_text()
        except (ProcessLookupError, FileNotFoundError):
            known = False
        else:
            stack.callback(os.close, handle)
        if not known:
            raise MachineError(
                f"{container.name}: its first process is not {pid} here: the Docker engine has to run on this machine "
                "and patchperf in its pid namespace"
            )
        init = _Init(container, pid, handle)
        try:
            yield init
        finally:
            init.end()


def _stopped(container: Container) -> None:
    with contextlib.suppress(DockerException, requests.RequestException):
        container.kill("SIGKILL")
    with contextlib.suppress(DockerException, requests.RequestException):
        container.wait(timeout=_END_SECONDS)


def _await_ready(command: Command, ends: _Ends, container: Container) -> None:
    poll = select.poll()
    poll.register(ends.word, select.POLLIN)
    if not poll.poll(_START_SECONDS * 1000):
        raise MachineError(f"{command.argv[0]}: {container.name} did not start within {_START_SECONDS:.0f} s")
    word = drain(ends.word, 16)
    if word == b"missing\n":
        raise MachineError(f"{command.argv[0]}: not an executable inside the container")
    if word != b"ready\n":
        raise MachineError(
            f"{command.argv[0]}: {container.name} cannot be started: {_state(container)}; its image needs /bin/sh and "
            "/usr/bin/env"
        )


def _state(container: Container) -> str:
    with contextlib.suppress(DockerException, requests.RequestException):
        container.reload()
    state = container.attrs["State"]
    return str(state.get("Error") or f"{state.get('Status')}, exit code {state.get('ExitCode')}")


def _ran_out_of_memory(container: Container) -> bool:
    """The engine's own word, where the container's init itself was killed and its control group is gone."""
    with contextlib.suppress(DockerException, requests.RequestException):
        container.reload()
    return bool(container.attrs["State"].get("OOMKilled"))


def _processes(group: cgroups.Group) -> tuple[int, ...]:
    try:
        return group.processes()
    except OSError:
        return ()


def _podmans_limits(client: docker.DockerClient) -> list[Ulimit]:
    """Podman would set a limit that it is not told, to more than its service may give where nobody raised that."""
    names = {part.get("Name") for part in client.version().get("Components") or ()}
    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    most = _PODMANS_PROCESSES if hard == resource.RLIM_INFINITY else min(hard, _PODMANS_PROCESSES)
    return [Ulimit(name="nproc", soft=most, hard=most)] if "Podman Engine" in names else []


def _bind(target: str, source: Path, *, writable: bool = False) -> Mount:
    return Mount(target, str(source), type="bind", read_only=not writable, propagation="rprivate")


def _exit_code(status: int) -> int:
    return 128 - status if 128 < status <= 128 + _LAST_SIGNAL else status
