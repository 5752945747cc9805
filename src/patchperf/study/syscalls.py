"""System calls: the class of each, the exceptions, and the rule that makes them a verdict on I/O.

The rule: a window performs I/O when at least one of its calls is of a class in ``COUNTED`` and no exception of
``EXEMPTIONS`` covers it. A call that the table does not know counts. Doubt counts too: what the trace cannot show
(a path cut off, a descriptor without a path) is never covered by an exception.

What the classes mean for the verdict:

- A look at a path (stat, access, readlink) touches the file system, so it counts like reading; also where a library
  looks on the test's behalf, as linecache does at a source file for each traceback.
- Bookkeeping of descriptors (close, dup, flags) moves no data: whatever opened or filled the descriptor decides.
- Waiting (poll, epoll, futex, sleep) moves no data either: the read or accept that follows decides.
- Mapping a file counts as reading it, mapping anonymous memory does not; io_uring and kernel AIO always count.
  What makes no call inside the window is not seen: access to a file that was mapped before, or data that a buffer holds
  until it is full.
- A child process counts, whatever it does; a thread does not, its own calls are judged like all others.
- ``administration`` (mounts, modules, keys, clocks, namespaces) is no test's computation and counts.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict

Kind = Literal[
    "memory",
    "time",
    "synchronisation",
    "signals",
    "identity",
    "file metadata",
    "file data",
    "directory",
    "network",
    "local sockets and pipes",
    "processes",
    "terminal",
    "administration",
    "other compute",
    "unknown",
]

KINDS: tuple[Kind, ...] = get_args(Kind)

COUNTED: frozenset[Kind] = frozenset(
    {
        "file metadata",
        "file data",
        "directory",
        "network",
        "local sockets and pipes",
        "processes",
        "terminal",
        "administration",
        "unknown",
    }
)


def _table(names: Mapping[Kind, str]) -> dict[str, Kind]:
    return {name: kind for kind, text in names.items() for name in text.split()}


TABLE: dict[str, Kind] = _table(
    {
        "memory": """
            brk mmap mmap2 munmap mremap mprotect madvise process_madvise mincore mlock mlock2 mlockall munlock
            munlockall mbind get_mempolicy set_mempolicy set_mempolicy_home_node migrate_pages move_pages pkey_alloc
            pkey_free pkey_mprotect memfd_create memfd_secret map_shadow_stack mseal userfaultfd
            """,
        "time": """
            time times gettimeofday clock_gettime clock_gettime64 clock_getres clock_getres_time64 nanosleep
            clock_nanosleep clock_nanosleep_time64 alarm getitimer setitimer timer_create timer_delete
            timer_getoverrun timer_gettime timer_gettime64 timer_settime timer_settime64 timerfd_create
            timerfd_gettime timerfd_gettime64 timerfd_settime timerfd_settime64
            """,
        "synchronisation": """
            futex futex_time64 futex_wait futex_waitv futex_wake futex_requeue get_robust_list set_robust_list rseq
            membarrier poll ppoll ppoll_time64 select pselect6 pselect6_time64 epoll_create epoll_create1 epoll_ctl
            epoll_ctl_old epoll_wait epoll_wait_old epoll_pwait epoll_pwait2 eventfd eventfd2 semget semop semtimedop
            semtimedop_time64 semctl restart_syscall sched_yield
            """,
        "signals": """
            rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait
            rt_sigtimedwait_time64 rt_tgsigqueueinfo sigaltstack signalfd signalfd4 kill tkill tgkill pause
            pidfd_send_signal
            """,
        "identity": """
            getpid getppid gettid getuid geteuid getgid getegid getresuid getresgid getgroups getpgid getpgrp getsid
            setuid setgid setreuid setregid setresuid setresgid setgroups setfsuid setfsgid setpgid setsid capget
            capset umask personality prctl arch_prctl set_tid_address get_thread_area set_thread_area modify_ldt
            getcwd uname sysinfo getcpu getrusage getrlimit setrlimit prlimit64 getpriority
            """,
        "file metadata": """
            stat stat64 lstat lstat64 fstat fstat64 fstatat fstatat64 newfstatat statx access faccessat faccessat2
            readlink readlinkat statfs statfs64 fstatfs fstatfs64 ustat chmod fchmod fchmodat fchmodat2 chown fchown
            lchown fchownat utime utimes futimesat utimensat utimensat_time64 getxattr lgetxattr fgetxattr getxattrat
            setxattr lsetxattr fsetxattr setxattrat listxattr llistxattr flistxattr listxattrat removexattr
            lremovexattr fremovexattr removexattrat file_getattr file_setattr name_to_handle_at cachestat fcntl
            fcntl64 flock ioctl inotify_init inotify_init1 inotify_add_watch inotify_rm_watch fanotify_init
            fanotify_mark statmount listmount listns
            """,
        "file data": """
            open openat openat2 creat open_by_handle_at read readv pread64 preadv preadv2 write writev pwrite64
            pwritev pwritev2 lseek llseek _llseek truncate truncate64 ftruncate ftruncate64 fallocate fadvise64
            fadvise64_64 readahead fsync fdatasync sync syncfs sync_file_range sync_file_range2 msync
            remap_file_pages sendfile sendfile64 copy_file_range splice tee vmsplice io_setup io_destroy io_submit
            io_cancel io_getevents io_pgetevents io_pgetevents_time64 io_uring_setup io_uring_enter io_uring_register
            """,
        "directory": """
            getdents getdents64 mkdir mkdirat rmdir rename renameat renameat2 link linkat symlink symlinkat unlink
            unlinkat mknod mknodat chdir fchdir
            """,
        "network": """
            socket bind listen accept accept4 connect getsockname getpeername getsockopt setsockopt sendto recvfrom
            sendmsg recvmsg sendmmsg recvmmsg recvmmsg_time64 shutdown
            """,
        "local sockets and pipes": """
            pipe pipe2 socketpair msgget msgsnd msgrcv msgctl mq_open mq_unlink mq_timedsend mq_timedsend_time64
            mq_timedreceive mq_timedreceive_time64 mq_notify mq_getsetattr shmget shmat shmdt shmctl getpmsg putpmsg
            """,
        "processes": """
            fork vfork clone clone2 clone3 execve execveat wait4 waitid waitpid ptrace pidfd_open pidfd_getfd
            process_vm_readv process_vm_writev process_mrelease kcmp
            """,
        "terminal": "vhangup",
        "administration": """
            _sysctl acct add_key request_key keyctl adjtimex clock_adjtime clock_adjtime64 clock_settime
            clock_settime64 settimeofday afs_syscall bpf chroot pivot_root create_module init_module finit_module
            delete_module query_module get_kernel_syms fsconfig fsmount fsopen fspick ioperm iopl kexec_file_load
            kexec_load lookup_dcookie lsm_get_self_attr lsm_set_self_attr lsm_list_modules mount mount_setattr
            move_mount open_tree open_tree_attr umount umount2 nfsservctl perf_event_open quotactl quotactl_fd reboot
            security setdomainname sethostname setns unshare swapoff swapon sysfs syslog tuxcall uselib vserver
            """,
        "other compute": """
            getrandom close close_range dup dup2 dup3 exit exit_group seccomp landlock_add_rule
            landlock_create_ruleset landlock_restrict_self sched_get_priority_max sched_get_priority_min
            sched_getaffinity sched_setaffinity sched_getattr sched_setattr sched_getparam sched_setparam
            sched_getscheduler sched_setscheduler sched_rr_get_interval sched_rr_get_interval_time64 setpriority
            ioprio_get ioprio_set rseq_slice_yield uprobe uretprobe
            """,
    }
)
"""Class of each system call of x86-64 and arm64 Linux (to 6.17) by the name that strace prints."""


@dataclass(frozen=True)
class Call:
    """One system call as the trace shows it.

    ``pid`` is the thread that made it, ``process`` the thread group it belongs to, ``arguments`` and ``result`` the
    trace's own text (the result is empty when the call had not returned), ``line`` the line of the log where it
    ended, counted from 1. ``test_line`` is the line of the test's file that was last marked before it, 0 if none was.
    """

    pid: int
    process: int
    name: str
    arguments: str
    result: str
    line: int
    test_line: int = 0


@dataclass(frozen=True)
class Surroundings:
    """What the calls before and inside a window tell about its descriptors.

    ``process`` is the measured process, ``streams`` what its descriptors 1 and 2 refer to when the window opens,
    ``pairs`` the pipes and socket pairs that it made itself (grows while the window is read), ``alone`` whether no
    child of it was alive when the window opened, ``import_path`` the folders that its import system searches.
    """

    process: int
    streams: frozenset[str] = frozenset()
    pairs: AbstractSet[str] = frozenset()
    alone: bool = False
    import_path: frozenset[str] = frozenset()


class Ruling(NamedTuple):
    """What one call is: its class, whether it makes the window one with I/O, and the exception that spares it."""

    kind: Kind
    io: bool
    exemption: str | None


@dataclass(frozen=True)
class Window:
    """The calls between the two markers, of every thread and child of the measured process.

    ``counts`` holds all calls by name and ruling; ``deciding`` the first of those that make it I/O, with their
    classes, in order; ``signals`` those delivered, by name; ``exits`` the threads and processes that ended.
    """

    pid: int
    begin_line: int
    end_line: int
    counts: Mapping[tuple[str, Ruling], int]
    deciding: tuple[tuple[Call, Kind], ...]
    signals: Mapping[str, int]
    exits: int


class DecidingCall(BaseModel):
    """A call that makes a window one with I/O; ``line`` is that of the strace log."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    kind: Kind
    arguments: str
    result: str
    pid: int
    line: int


class IoVerdict(BaseModel):
    """Whether a window performs I/O, and on what grounds.

    ``classes`` counts all traced calls by class (see ``UNTRACED``), ``exceptions`` those that an exception spared by
    its name, ``unknown`` names the calls that the table lacks. ``kinds`` counts the deciding calls by class;
    ``deciding`` holds the first of them only (as many as the reader kept).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    io: bool
    classes: dict[str, int]
    kinds: dict[Kind, int]
    deciding: tuple[DecidingCall, ...]
    exceptions: dict[str, int]
    unknown: tuple[str, ...]

    @property
    def kind(self) -> Kind | None:
        """The class that tells most of the test: that it starts a process, not that it looks at the pipe between."""
        return min(self.kinds, key=TELLING.index, default=None)

    @property
    def telling(self) -> DecidingCall | None:
        """The first deciding call of that class, if it is among those kept, else the first of all."""
        return next((call for call in self.deciding if call.kind == self.kind), next(iter(self.deciding), None))


TELLING: tuple[Kind, ...] = (
    "network",
    "processes",
    "file data",
    "directory",
    "local sockets and pipes",
    "administration",
    "terminal",
    "unknown",
    "file metadata",
)
"""The counted classes, by how much they tell of a test."""


def judge(window: Window) -> IoVerdict:
    """The verdict on a window by the module's rule."""
    classes: Counter[str] = Counter()
    kinds: Counter[Kind] = Counter()
    exceptions: Counter[str] = Counter()
    unknown = set()
    for (name, ruling), count in window.counts.items():
        classes[ruling.kind] += count
        if ruling.io:
            kinds[ruling.kind] += count
        if ruling.exemption is not None:
            exceptions[ruling.exemption] += count
        if ruling.kind == "unknown":
            unknown.add(name)
    return IoVerdict(
        io=any(ruling.io for _, ruling in window.counts),
        classes=dict(sorted(classes.items())),
        kinds=dict(sorted(kinds.items())),
        deciding=tuple(
            DecidingCall(
                name=call.name,
                kind=kind,
                arguments=call.arguments[:SHOWN],
                result=call.result[:SHOWN],
                pid=call.pid,
                line=call.line,
            )
            for call, kind in window.deciding
        ),
        exceptions=dict(sorted(exceptions.items())),
        unknown=tuple(sorted(unknown)),
    )


SHOWN = 400
"""Characters of a deciding call's arguments and result that a verdict keeps."""


def rule(call: Call, surroundings: Surroundings) -> Ruling:
    """The ruling on one call."""
    kind = kind_of(call, surroundings)
    if kind not in COUNTED:
        return Ruling(kind, io=False, exemption=None)
    for exemption in EXEMPTIONS:
        if call.name in exemption.calls and exemption.covers(call, surroundings):
            return Ruling(kind, io=False, exemption=exemption.name)
    return Ruling(kind, io=True, exemption=None)


OPENING = frozenset({"open", "openat", "openat2"})
READING = frozenset({"read", "readv", "pread64", "preadv", "preadv2", "lseek"})
WRITING = frozenset({"write", "writev", "pwrite64", "pwritev", "pwritev2", "lseek"})
ASKING = frozenset({"fstat", "fstat64", "fstatat64", "newfstatat", "statx"})
LOOKING = ASKING | frozenset({"stat", "stat64", "lstat", "lstat64"})
TALKING = frozenset(name for name, kind in TABLE.items() if kind == "network") - {"socket"}
PAIRING = frozenset({"pipe", "pipe2", "socketpair"})

DESCRIPTOR_KINDS: tuple[tuple[str, Kind], ...] = (
    ("anon_inode:[eventfd]", "synchronisation"),
    ("anon_inode:[eventpoll]", "synchronisation"),
    ("anon_inode:[timerfd]", "time"),
    ("anon_inode:[signalfd]", "signals"),
    ("/memfd:", "memory"),
    ("pipe:[", "local sockets and pipes"),
    ("socket:[", "network"),
    ("/dev/pts/", "terminal"),
    ("/dev/tty", "terminal"),
)
"""What a call on an open descriptor is, by how the target of the descriptor begins; all else stays as in TABLE."""

_TERMINAL_REQUEST = re.compile(r"(?:TC|TIOC)[A-Z]")
_FLAG_REQUESTS = frozenset({"FIONBIO", "FIOCLEX", "FIONCLEX", "FIOASYNC"})
_FLAG_COMMANDS = frozenset({"F_DUPFD", "F_DUPFD_CLOEXEC", "F_GETFD", "F_SETFD", "F_GETFL", "F_SETFL"})


def kind_of(call: Call, surroundings: Surroundings) -> Kind:
    """The call's class, with what its arguments tell: the descriptor's target, the request, the address family."""
    refine = _REFINED.get(call.name)
    refined = refine(call, surroundings) if refine else None
    return refined or TABLE.get(call.name, "unknown")


def _by_target(call: Call, surroundings: Surroundings) -> Kind | None:
    path = target(call) or ""
    if path in surroundings.pairs:
        return "local sockets and pipes"
    return next((kind for prefix, kind in DESCRIPTOR_KINDS if path.startswith(prefix)), None)


def _by_mapping(call: Call, _: Surroundings) -> Kind:
    if "MAP_ANONYMOUS" in call.arguments:
        return "memory"
    mapped = _MAPPED.search(call.arguments)
    return "memory" if mapped and (mapped[1] or "").startswith(("/memfd:", "/dev/zero")) else "file data"


def _by_request(call: Call, _: Surroundings) -> Kind | None:
    request = _second(call.arguments)
    if _TERMINAL_REQUEST.match(request):
        return "terminal"
    return "other compute" if request in _FLAG_REQUESTS else None


def _by_command(call: Call, _: Surroundings) -> Kind | None:
    return "other compute" if _second(call.arguments) in _FLAG_COMMANDS else None


def _by_family(call: Call, _: Surroundings) -> Kind | None:
    return "local sockets and pipes" if call.arguments.startswith(("AF_UNIX", "AF_LOCAL")) else None


def _by_peer(call: Call, surroundings: Surroundings) -> Kind | None:
    local = "sa_family=AF_UNIX" in call.arguments or target(call) in surroundings.pairs
    return "local sockets and pipes" if local else None


def _second(arguments: str) -> str:
    parts = arguments.split(", ", 2)
    return parts[1] if len(parts) > 1 else ""


_MAPPED = re.compile(r", \d+<([^<>]*)>(?:\(deleted\))?, (?:0x[0-9a-f]+|0)$")

_REFINED: dict[str, Callable[[Call, Surroundings], Kind | None]] = {
    "mmap": _by_mapping,
    "mmap2": _by_mapping,
    "ioctl": _by_request,
    "fcntl": _by_command,
    "fcntl64": _by_command,
    "socket": _by_family,
    **dict.fromkeys(TALKING, _by_peer),
    **dict.fromkeys(READING | WRITING | ASKING, _by_target),
}
"""How the calls whose arguments matter get their class; where the answer is None, TABLE holds."""

_STRING = r'"((?:[^"\\]++|\\.)*+)"(\.\.\.)?'
_DESCRIPTOR = re.compile(r"(-?\d+|AT_FDCWD)<([^<>]*)>(?:\(deleted\))?")
_FIRST_PATH = re.compile(_STRING)
_PATH_AFTER = re.compile(r", " + _STRING)


UNTRACED: tuple[str, ...] = tuple(name for name, kind in TABLE.items() if kind not in COUNTED and name not in _REFINED)
"""Calls that no verdict and no reader of a trace needs, so that tracing may pass over them."""


def target(call: Call) -> str | None:
    """What the call works on: the path that its descriptor or its path argument names, as far as the trace tells.

    The text is the trace's own, with its escapes. An open that succeeded names what was really opened, behind all
    links. None when the trace does not show it: a path cut off or relative to an unknown folder, a bare descriptor.
    """
    opened = _DESCRIPTOR.match(call.result) if call.name in OPENING else None
    if opened:
        return opened[2]
    start = _DESCRIPTOR.match(call.arguments)
    if start:
        name = _PATH_AFTER.match(call.arguments, start.end())
        if call.name not in _AT or name is None:
            return start[2]
        return _joined(start[2], name)
    name = _FIRST_PATH.match(call.arguments)
    return _joined("", name) if name else None


_AT = frozenset({"openat", "openat2", "newfstatat", "fstatat64", "statx", "faccessat", "faccessat2", "readlinkat"})


def _joined(folder: str, name: re.Match[str]) -> str | None:
    path = posixpath.join(folder, name[1]) if name[1] else folder
    return path if path.startswith("/") and not name[2] else None


@dataclass(frozen=True)
class Exemption:
    """Calls of a counted class that are no I/O of the test, and why: a call in ``calls`` for which ``covers`` holds."""

    name: str
    reason: str
    calls: frozenset[str]
    covers: Callable[[Call, Surroundings], bool]


def _on(*paths: str) -> Callable[[Call, Surroundings], bool]:
    return lambda call, _: target(call) in paths


def _captured(call: Call, surroundings: Surroundings) -> bool:
    return target(call) in surroundings.streams


_OWN_FILES = (
    "auxv|cgroup|cmdline|comm|environ|fd|io|limits|maps|mountinfo|mounts|smaps|smaps_rollup|stat|statm|status|task"
)
_OWN_LINKS = r"exe|cwd|root|fd/\d+"


def _own_proc(pattern: str) -> Callable[[Call, Surroundings], bool]:
    path = re.compile(rf"/proc/(self|thread-self|\d+)(?:/task/\d+)?/(?:{pattern})")

    def covers(call: Call, _: Surroundings) -> bool:
        found = path.fullmatch(target(call) or "")
        return found is not None and found[1] in {"self", "thread-self", str(call.process)}

    return covers


def _private_pair(call: Call, surroundings: Surroundings) -> bool:
    return call.process == surroundings.process and surroundings.alone and target(call) in surroundings.pairs


def _zone_file(call: Call, _: Surroundings) -> bool:
    return re.fullmatch(r"/etc/localtime|/usr/share/zoneinfo(?:/[A-Za-z0-9_+-]+)+", target(call) or "") is not None


EXEMPTIONS: tuple[Exemption, ...] = (
    Exemption(
        name="captured output",
        reason="Printing and logging go to what descriptors 1 and 2 refer to before the test's first call, whatever "
        "number it has (pytest keeps its capture file under another one). That is the runner's stream, not the test's "
        "output. Reading it back or cutting it counts.",
        calls=WRITING | ASKING,
        covers=_captured,
    ),
    Exemption(
        name="random device",
        reason="Random bytes come from the kernel's memory, as they do from getrandom.",
        calls=OPENING | READING | ASKING,
        covers=_on("/dev/urandom", "/dev/random"),
    ),
    Exemption(
        name="null device",
        reason="What is written there is dropped and nothing comes back; pytest's log file handler writes each record "
        "to it.",
        calls=OPENING | READING | WRITING | ASKING,
        covers=_on("/dev/null"),
    ),
    Exemption(
        name="own process information",
        reason="The kernel makes up these files from what it knows of the process itself; no device is behind them. "
        "Files of other processes, and files reached through the links there, count.",
        calls=OPENING | READING | ASKING | {"getdents", "getdents64"},
        covers=_own_proc(_OWN_FILES),
    ),
    Exemption(
        name="own process links",
        reason="Reading one of the process's own links in /proc asks the kernel for a name and touches no file.",
        calls=frozenset({"readlink", "readlinkat"}),
        covers=_own_proc(_OWN_LINKS),
    ),
    Exemption(
        name="processor count",
        reason="The C library answers os.cpu_count, which thread pools ask, from a file that the kernel makes up: of "
        "those it knows the first that is there.",
        calls=OPENING | READING | ASKING,
        covers=_on("/sys/devices/system/cpu/online", "/sys/devices/system/cpu/possible", "/proc/stat"),
    ),
    Exemption(
        name="thread",
        reason="A thread of the measured process is computation; its calls are judged like all others.",
        calls=frozenset({"clone", "clone2", "clone3"}),
        covers=lambda call, _: "CLONE_THREAD" in call.arguments,
    ),
    Exemption(
        name="pair made",
        reason="A new pipe or socket pair holds no data yet; its use is judged by itself.",
        calls=PAIRING,
        covers=lambda _call, _: True,
    ),
    Exemption(
        name="private pair",
        reason="Bytes in a pipe or socket pair that the measured process made itself stay in its kernel memory while "
        "it has no child to share it with: every asyncio loop keeps one to wake itself.",
        calls=READING | WRITING | ASKING | TALKING,
        covers=_private_pair,
    ),
    Exemption(
        name="terminal query",
        reason="Python asks whether a stream is a terminal, and how wide, to choose buffering and layout; no data "
        "moves and no path is looked up. Reading from a terminal and setting it count.",
        calls=frozenset({"ioctl"}),
        covers=lambda call, _: _second(call.arguments) in {"TCGETS", "TCGETS2", "TIOCGWINSZ", "TIOCGPGRP"},
    ),
    Exemption(
        name="time zone check",
        reason="The C library's strftime and mktime look at each call whether the zone file is still the same. Only "
        "the look is spared; opening or reading a zone file counts.",
        calls=LOOKING,
        covers=_zone_file,
    ),
    Exemption(
        name="import search",
        reason="An import that finds nothing looks at each call whether a folder of the import path has changed. Only "
        "the look at those very folders is spared, and only when the measured process has named them.",
        calls=LOOKING,
        covers=lambda call, surroundings: target(call) in surroundings.import_path,
    ),
)
"""Every exception with its reason; the first that covers a call spares it."""
