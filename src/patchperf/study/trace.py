"""Writing and reading a trace: the command line of strace, and the window between the two markers in its log.

The measured process writes ``PATCHPERF <nonce> begin`` and ``PATCHPERF <nonce> end``, each a line of its own by one
pwrite to descriptor 2 at offset -1, which the kernel refuses: what shows in the log shows nowhere else. Before its
first call of the test it does the same with ``PATCHPERF <nonce> output`` and descriptors 1 and 2. The log is read as a
stream: a file of any size takes a few megabytes of memory. The trace must hold the calls that make processes and pipes,
also before the window (``strace_command`` leaves out none of these), and strace must run in the process-id namespace of
what it traces, or the numbers in its log do not fit together.

What counts as inside the window:

- Calls of the measured process (all its threads) and of its descendants, also of those started before the window.
  Calls of its ancestors and of their other children are none of the test's: a wrapper that copies output, a shell.
  A process of which the trace does not tell where it comes from counts.
- Calls that overlap the window and did something in it: begun inside (even if they return later or never), or
  begun before and returned inside, since then their data arrived inside. A thread that waits in one call all through
  the window did nothing in it.
- The marker's own two writes are outside. Calls that children make after the end are outside.
"""

from __future__ import annotations

import functools
import os
import re
import subprocess
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal, NamedTuple

from patchperf.errors import MachineError
from patchperf.study.syscalls import PAIRING, UNTRACED, Call, Kind, Ruling, Surroundings, Window, rule

__all__ = [
    "LINE_BOUND",
    "PAIRS_BOUND",
    "DecidingLine",
    "Window",
    "WindowProblem",
    "WindowReason",
    "deciding_lines",
    "read_window",
    "strace_command",
]

LINE_BOUND = 1 << 16
"""Bytes kept of each end of a line; what lies between is dropped."""

PAIRS_BOUND = 1 << 16
"""Pipes and socket pairs remembered per process; later ones are treated as not its own, which counts as I/O."""

_CREATING = frozenset({"clone", "clone2", "clone3", "fork", "vfork"})

_STRACE = ("strace", "-f", "-y", "-s", "256")


def strace_command(log: str) -> tuple[str, ...]:
    """What goes before a command to trace it and its children into a log: every call but those of ``UNTRACED``.

    Where strace can, the kernel filters (``--seccomp-bpf``), so that a call left out costs nothing. Raises MachineError
    where strace is not installed.
    """
    left_out = ",".join(f"?{name}" for name in UNTRACED)
    return (*_STRACE, *_kernel_filter(), "-e", f"trace=!{left_out}", "-o", log)


@functools.cache
def _kernel_filter() -> tuple[str, ...]:
    """``--seccomp-bpf`` if this strace knows it (5.3 and newer) and this kernel lets it: strace itself warns if not."""
    try:
        done = subprocess.run(
            (*_STRACE, "--seccomp-bpf", "-o", os.devnull, "true"),
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        raise MachineError("strace is not installed: install the package strace") from None
    return ("--seccomp-bpf",) if done.returncode == 0 and not done.stderr else ()


WindowReason = Literal["no log", "no begin marker", "no end marker", "two windows", "unreadable lines"]


@dataclass(frozen=True)
class WindowProblem:
    """Why a log has no window that can be judged.

    - ``no log``: there is no such file (strace did not start).
    - ``no begin marker``: the test was never reached, or its warm-up did not end.
    - ``no end marker``: the test died in the window, or the log is cut; another process's end marker does not count.
    - ``two windows``: the marker was written again, so the test ran more than once (also in a second process).
    - ``unreadable lines``: lines inside the window are not strace's, so calls may be missing.
    """

    reason: WindowReason
    detail: str


def read_window(path: Path, nonce: str, keep: int = 200, import_path: Collection[str] = ()) -> Window | WindowProblem:
    """The window marked with a nonce in a strace log, or why there is none.

    ``keep`` bounds the deciding calls that are kept with their text; all calls are counted. ``import_path`` are
    the folders that the measured process's import system searches (the keys of ``sys.path_importer_cache``).
    Raises ValueError for a nonce that is not 32 lower-case hexadecimal digits, OSError when reading fails.
    """
    if not re.fullmatch(r"[0-9a-f]{32}", nonce):
        raise ValueError(f"nonce {nonce!r} is not 32 hexadecimal digits")
    reader = _Reader(nonce, keep, frozenset(import_path))
    try:
        with path.open("rb") as log:
            for number, line in _bounded_lines(log):
                reader.feed(number, line)
    except FileNotFoundError:
        return WindowProblem("no log", f"{path} does not exist")
    return reader.outcome()


class DecidingLine(NamedTuple):
    """A deciding call and the line of the test's file that led to it (0 where none was marked before)."""

    test_line: int
    call: Call
    kind: Kind


def deciding_lines(
    path: Path, nonce: str, import_path: Collection[str] = (), keep: int = 200
) -> tuple[DecidingLine, ...] | WindowProblem:
    """The first deciding calls of a trace in which the test marked its lines, each with its line.

    A mark is a write of ``PATCHPERF <nonce> line <n>`` to descriptor -1, which the kernel refuses; it is no call of the
    test's. Calls of other threads and of children are given the line that was marked last, whoever marked it.
    """
    window = read_window(path, nonce, keep, import_path)
    if isinstance(window, WindowProblem):
        return window
    return tuple(DecidingLine(call.test_line, call, kind) for call, kind in window.deciding)


def _bounded_lines(log: BinaryIO) -> Iterator[tuple[int, bytes]]:
    number = 0
    while line := log.readline(LINE_BOUND):
        number += 1
        yield number, line if line.endswith(b"\n") else line + _end_of_line(log)


def _end_of_line(log: BinaryIO) -> bytes:
    tail = b""
    while not tail.endswith(b"\n") and (piece := log.readline(LINE_BOUND)):
        tail = (tail + piece)[-LINE_BOUND:]
    return b" ... " + tail if tail else b""


class _Event(NamedTuple):
    """One line of the log: a whole call, its first or second half, a signal, or the end of a thread."""

    pid: int
    form: Literal["call", "begun", "resumed", "signal", "ended"]
    name: str
    arguments: str
    result: str


_LINE = re.compile(
    r"(?P<pid>\d+) +(?:\d+\.\d+ +)?"
    r"(?:(?P<name>[A-Za-z0-9_?]+)\((?P<rest>.*)"
    r"|<\.\.\. (?P<resumed>[A-Za-z0-9_?]+) resumed>(?P<tail>.*)"
    r"|--- (?P<signal>.*) ---"
    r"|\+\+\+ (?P<ended>.*) \+\+\+)",
    re.DOTALL,
)
_UNFINISHED = re.compile(r"<(?:unfinished|pid changed to \d+) \.\.\.>\Z")
"""How the first half of a call ends; also an execve by a thread, which takes over the number of its process."""


def _parsed(line: bytes) -> _Event | None:
    """The line's event; None for a line that is not strace's or was cut."""
    text = line.decode("ascii", "backslashreplace").rstrip("\n")
    match = _LINE.fullmatch(text)
    if match is None:
        return None
    pid = int(match["pid"])
    if match["signal"] is not None:
        return _Event(pid, "signal", match["signal"].removeprefix("stopped by ").split(" ")[0], "", "")
    if match["ended"] is not None:
        return _Event(pid, "ended", match["ended"], "", "")
    rest: str = match["rest"] if match["name"] else match["tail"]
    name: str = match["name"] or match["resumed"]
    if half := _UNFINISHED.search(rest):
        return _Event(pid, "begun", name, rest[: half.start()].rstrip(), "")
    cut = len(rest)
    while (cut := rest.rfind(" = ", 0, cut)) >= 0:
        head = rest[:cut].rstrip()
        if head.endswith(")"):
            return _Event(pid, "call" if match["name"] else "resumed", name, head[:-1], rest[cut + 3 :])
    return None


class _Processes:
    """Who belongs to whom, from the calls that make processes. Only living ones are kept."""

    OUTSIDE = 0
    """Stands for the parent of the log's first process."""

    def __init__(self) -> None:
        self._leader: dict[int, int] = {}
        self._parent: dict[int, int] = {}
        self._early_dead: set[int] = set()

    def root(self, pid: int) -> None:
        """The first process of the log: whatever descends from it alone is not the measured one's."""
        self._parent[pid] = self.OUTSIDE

    def of(self, pid: int) -> int:
        """The process of a thread."""
        return self._leader.get(pid, pid)

    def made(self, maker: int, child: int, *, thread: bool) -> None:
        """A call has returned with a new child; the child may have lived and died before that."""
        if child in self._early_dead:
            self._early_dead.discard(child)
        elif thread:
            self._leader[child] = self.of(maker)
        else:
            self._leader.pop(child, None)
            self._parent[child] = self.of(maker)

    def ended(self, pid: int) -> None:
        """A thread or process is gone; its children go to its parent."""
        if self._leader.pop(pid, None) is not None:
            return
        parent = self._parent.pop(pid, None)
        if parent is None:
            self._early_dead.add(pid)
            return
        for child, theirs in self._parent.items():
            if theirs == pid:
                self._parent[child] = parent

    def belongs(self, process: int, to: int) -> bool | None:
        """Whether a process is another or descends from it; None when the log does not tell where it comes from."""
        while process != to:
            parent = self._parent.get(process)
            if parent is None:
                return None
            if parent == self.OUTSIDE:
                return False
            process = parent
        return True

    def has_descendants(self, of: int) -> bool:
        """Whether a living process descends from this one."""
        return any(process != of and self.belongs(process, of) for process in self._parent)

    def ancestors(self, of: int) -> frozenset[int]:
        """The living processes above one."""
        found = set()
        while (of := self._parent.get(of, self.OUTSIDE)) != self.OUTSIDE:
            found.add(of)
        return frozenset(found)


class _Tally:
    """Counts of calls by ruling and the first deciding ones."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self.counts: Counter[tuple[str, Ruling]] = Counter()
        self.deciding: list[tuple[Call, Kind]] = []

    def add(self, call: Call, ruling: Ruling) -> None:
        self.counts[call.name, ruling] += 1
        if ruling.io and len(self.deciding) < self._keep:
            self.deciding.append((call, ruling.kind))

    def merge(self, other: _Tally) -> None:
        self.counts.update(other.counts)
        self.deciding = sorted(self.deciding + other.deciding, key=lambda item: item[0].line)[: self._keep]


class _Begun(NamedTuple):
    name: str
    arguments: str
    line: int


@dataclass
class _Open:
    """The window while it is read."""

    pid: int
    process: int
    line: int
    surroundings: Surroundings
    ancestors: frozenset[int]
    tally: _Tally
    unresolved: dict[int, _Tally] = field(default_factory=dict)
    signals: Counter[str] = field(default_factory=Counter)
    exits: int = 0
    unreadable: list[int] = field(default_factory=list)
    unreadable_count: int = 0
    end_line: int | None = None
    foreign_ends: int = 0
    death: str = ""


_PAIR = re.compile(r"(?:pipe|socket):\[\d+\]")


def _outlives(line: bytes) -> bool:
    """Whether a line before the window may matter inside: halves of calls, new and gone processes, pairs."""
    return (
        b"...>" in line
        or b"resumed>" in line
        or b"clone" in line
        or b"fork(" in line
        or b"pipe" in line
        or b"socketpair" in line
        or b"+++" in line
    )


class _Reader:
    """Takes the lines of a log one by one; ``outcome`` is the result after the last."""

    def __init__(self, nonce: str, keep: int, import_path: frozenset[str]) -> None:
        self._nonce = nonce.encode()
        self._marker = re.compile(
            rb"(?P<pid>\d+) +(?:\d+\.\d+ +)?pwrite64\(2(?:<[^<>]*>(?:\(deleted\))?)?, "
            rb'"PATCHPERF ' + self._nonce + rb' (?P<which>begin|end)\\n", \d+, -1(?:\)| <unf)'
        )
        self._test_line_mark = re.compile(
            rb"\d+ +(?:\d+\.\d+ +)?write\(-1, \"PATCHPERF " + self._nonce + rb' line (\d{1,9})\\n"'
        )
        self._output_mark = re.compile(
            rb"\d+ +(?:\d+\.\d+ +)?pwrite64\([12]<([^<>]*)>(?:\(deleted\))?, "
            rb'"PATCHPERF ' + self._nonce + rb' output\\n", \d+, -1\)'
        )
        self._streams: set[str] = set()
        self._test_line = 0
        self._keep = keep
        self._import_path = import_path
        self._processes = _Processes()
        self._begun: dict[int, _Begun] = {}
        self._pairs: dict[int, set[str]] = {}
        self._opening: int | None = None
        self._window: _Open | None = None
        self._again: int | None = None
        self._lines = 0

    def feed(self, number: int, line: bytes) -> None:
        """The next line of the log."""
        self._lines = number
        if number == 1 and (first := re.match(rb"\d+", line)):
            self._processes.root(int(first[0]))
        if self._nonce in line and (mark := self._test_line_mark.match(line)):
            self._test_line = int(mark[1])
        elif self._nonce in line and self._window is None and (output := self._output_mark.match(line)):
            self._streams.add(output[1].decode("ascii", "backslashreplace"))
        elif self._nonce in line and (marker := self._marker.match(line)):
            self._mark(number, line, marker)
        elif self._window is None:
            if _outlives(line):
                self._follow(number, _parsed(line))
        elif self._window.end_line is None:
            self._inside(self._window, number, _parsed(line))

    def outcome(self) -> Window | WindowProblem:
        """The window, or the first reason against it."""
        window = self._window
        if window is None:
            return WindowProblem("no begin marker", f"none in {self._lines} lines")
        if self._again is not None:
            return WindowProblem("two windows", f"begin markers in lines {window.line} and {self._again}")
        if window.end_line is None:
            others = f"; {window.foreign_ends} end marker(s) of other threads" if window.foreign_ends else ""
            died = f"; process {window.process} {window.death}" if window.death else ""
            return WindowProblem(
                "no end marker", f"begun in line {window.line}, the log ends in line {self._lines}{died}{others}"
            )
        if window.unreadable_count:
            where = ", ".join(map(str, window.unreadable))
            return WindowProblem("unreadable lines", f"{window.unreadable_count} inside the window, first: {where}")
        return Window(
            pid=window.pid,
            begin_line=window.line,
            end_line=window.end_line,
            counts=dict(window.tally.counts),
            deciding=tuple(sorted(window.tally.deciding, key=lambda item: item[0].line)),
            signals=dict(window.signals),
            exits=window.exits,
        )

    def _mark(self, number: int, line: bytes, marker: re.Match[bytes]) -> None:
        pid = int(marker["pid"])
        event = _parsed(line)
        window = self._window
        if marker["which"] == b"end":
            if window is None or window.end_line is not None:
                return
            if pid == window.pid:
                self._close(window, number)
            else:
                window.foreign_ends += 1
                self._inside(window, number, event)
        elif window is None and self._opening is None:
            if event is not None and event.form == "begun":
                self._opening = pid
                self._follow(number, event)
            else:
                self._open(number, pid)
        elif window is None or self._processes.of(pid) not in window.ancestors:
            self._again = self._again or number

    def _open(self, number: int, pid: int) -> None:
        process = self._processes.of(pid)
        surroundings = Surroundings(
            process=process,
            streams=frozenset(self._streams),
            pairs=self._pairs.setdefault(process, set()),
            alone=not self._processes.has_descendants(process),
            import_path=self._import_path,
        )
        ancestors = self._processes.ancestors(process)
        self._window = _Open(pid, process, number, surroundings, ancestors, _Tally(self._keep))

    def _close(self, window: _Open, number: int) -> None:
        for pid, begun in self._begun.items():
            if begun.line > window.line and pid != window.pid:
                self._count(window, begun.line, _Event(pid, "begun", begun.name, begun.arguments, ""))
        for process, tally in window.unresolved.items():
            if self._processes.belongs(process, window.process) is not False:
                window.tally.merge(tally)
        window.unresolved.clear()
        window.end_line = number

    def _inside(self, window: _Open, number: int, event: _Event | None) -> None:
        if event is None:
            window.unreadable_count += 1
            if len(window.unreadable) < 5:
                window.unreadable.append(number)
            return
        pid = event.pid
        if event.form == "signal":
            if self._processes.belongs(self._processes.of(pid), window.process) is not False:
                window.signals[event.name] += 1
        elif event.form == "ended":
            if self._processes.belongs(self._processes.of(pid), window.process) is not False:
                window.exits += 1
            if pid == window.process:
                window.death = event.name
            begun = self._begun.get(pid)
            if begun and begun.line > window.line:
                self._count(window, number, _Event(pid, "begun", begun.name, begun.arguments, ""))
        whole = self._follow(number, event)
        if whole is not None:
            self._count(window, number, whole)

    def _count(self, window: _Open, number: int, event: _Event) -> None:
        process = self._processes.of(event.pid)
        belongs = self._processes.belongs(process, window.process)
        if belongs is False:
            return
        call = Call(event.pid, process, event.name, event.arguments, event.result, number, self._test_line)
        tally = window.tally if belongs else window.unresolved.setdefault(process, _Tally(self._keep))
        tally.add(call, rule(call, window.surroundings))

    def _follow(self, number: int, event: _Event | None) -> _Event | None:
        """Keep track of what outlives a line; the whole call when the line completes one."""
        if event is None or event.form == "signal":
            return None
        pid = event.pid
        if event.form == "begun":
            self._begun[pid] = _Begun(event.name, event.arguments, number)
            return None
        if event.form == "ended":
            self._end(pid, event.name)
            return None
        if event.form == "resumed":
            begun = self._begun.pop(pid, None)
            if self._opening == pid:
                self._opening = None
                self._open(number, pid)
                return None
            if begun is not None and begun.name == event.name:
                event = event._replace(arguments=begun.arguments + event.arguments)
        self._learn(event)
        return event

    def _end(self, pid: int, how: str) -> None:
        if how.startswith("superseded by execve in pid "):
            successor = int(how.rsplit(" ", 1)[1])
            if successor in self._begun:
                self._begun[pid] = self._begun.pop(successor)
            self._processes.ended(successor)
            return
        self._begun.pop(pid, None)
        self._pairs.pop(pid, None)
        self._processes.ended(pid)

    def _learn(self, call: _Event) -> None:
        process = self._processes.of(call.pid)
        if call.name in _CREATING:
            if child := re.match(r"\d+", call.result):
                self._created(process, int(child[0]), thread="CLONE_THREAD" in call.arguments)
        elif call.name in PAIRING:
            pairs = self._pairs.setdefault(process, set())
            if len(pairs) < PAIRS_BOUND:
                pairs.update(_PAIR.findall(call.arguments))

    def _created(self, maker: int, child: int, *, thread: bool) -> None:
        if child == 0:
            return
        self._processes.made(maker, child, thread=thread)
        window = self._window
        if window is not None and (tally := window.unresolved.pop(child, None)) is not None:
            belongs = self._processes.belongs(maker, window.process)
            if belongs is None:
                window.unresolved[child] = tally
            elif belongs:
                window.tally.merge(tally)
