"""Partitions of the machine brought up and taken down: `up` twice changes nothing, `down` undoes whatever is there.

What was before is noted down first, in ``state``. So `down` restores it too where `up` or a whole workflow was killed.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from patchperf.errors import MachineError
from patchperf.isolation import leases, systemd, tuning
from patchperf.isolation.cgroups import CONTROLLERS, Tree, facts, groups_of, is_kernel_thread, problem
from patchperf.isolation.partitions import (
    DAEMON,
    DAEMONS,
    OWN,
    SYSTEM,
    TOP,
    Kind,
    Write,
    confinements,
    holds,
    partition_writes,
    reserve_writes,
)
from patchperf.isolation.plan import Plan
from patchperf.isolation.state import (
    FOLDER,
    Affinity,
    Confined,
    State,
    Tuning,
    boot,
    forget_state,
    read_state,
    write_state,
)
from patchperf.isolation.topology import format_cpus, parse_cpus

_ROUNDS = 100
_REMOVAL_SECONDS = 20.0
_QUIET_ROUNDS, _QUIET_SECONDS = 5, 0.1


@dataclass(frozen=True)
class Wanted:
    """What is to be brought up: a plan at level "partition", made of the CPUs ``allowed``.

    ``memory_mb`` (MiB) is what all that is measured in a group may use together.
    """

    plan: Plan
    kind: Kind
    memory_mb: int
    allowed: tuple[int, ...]
    tuning: Tuning


def up(wanted: Wanted, *, by_hand: bool, folder: Path = FOLDER) -> tuple[State, bool]:
    """Bring partitions up; what is up then, and whether anything had to be done for it.

    Raises MachineError, with all as it was before, where that cannot be done, or where others are up or what is up has
    been tampered with.
    """
    tree = Tree()
    with switching(folder):
        state = read_state(folder)
        if state is not None and state.finished:
            _require_same(state, wanted)
            _require_whole(tree, state, "run `patchperf isolate down`, then up again")
            if by_hand and not state.by_hand:
                state = state.model_copy(update={"by_hand": True})
                write_state(state, folder)
            return state, False
        reason = problem(facts())
        if reason is not None:
            raise MachineError(reason)
        _finish(_undo(tree, state), folder)
        state = _noted(tree, wanted, by_hand)
        write_state(state, folder)
        try:
            _make(tree, state)
            state = state.model_copy(update={"finished": True, "notes": (*state.notes, *tuning.apply(state.tuned))})
            write_state(state, folder)
        except BaseException:
            _finish(_undo(tree, state), folder)
            raise
        return state, True


def down(folder: Path = FOLDER, *, only_unused: bool = False) -> bool:
    """Undo whatever `up` did; whether there was anything. What still runs in the leaves is killed.

    With ``only_unused``, what somebody uses or has brought up by hand stays up. Otherwise raises MachineError where
    somebody uses it. What cannot be undone stays noted down: raises MachineError, and `down` can be run again.
    """
    tree = Tree()
    with switching(folder):
        state = read_state(folder)
        if state is None and not any(map(tree.exists, OWN)):
            forget_state(folder)
            return False
        used = in_use(state, folder)
        if only_unused and (used or (state is not None and state.by_hand)):
            return False
        if used:
            raise MachineError(f"isolation is in use: {used}: end that first")
        _finish(_undo(tree, state), folder)
        return True


def state_of(folder: Path = FOLDER) -> State | None:
    """What is up now; None where nothing is, or `up` did not come to its end."""
    state = read_state(folder)
    return state if state is not None and state.finished else None


def damages(state: State) -> list[str]:
    """What is not as `up` left it, a line each; empty while the kernel keeps all of it."""
    return list(_damages(Tree(), state))


def in_use(state: State | None, folder: Path = FOLDER) -> str:
    """By whom, in words; empty if by nobody."""
    said = []
    if state is not None:
        leased = leases.leased(state.plan, leases.lock_folder())
        said += [f"core group {index} is leased by {pids}" for index, pids in sorted(leased.items())]
    users = folder / USERS
    if users.exists() and not _try_alone(users):
        pids = ", ".join(map(str, leases.holders([users]))) or "of other users"
        said.append(f"a workflow runs on it (processes {pids})")
    return "; ".join(said)


USERS = "isolation.users"
"""A file that everyone who uses the partitions has a shared lock of."""


@contextmanager
def switching(folder: Path = FOLDER) -> Iterator[None]:
    """While nobody else brings up or takes down."""
    try:
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
        stream = (folder / "isolation.lock").open("a")
    except OSError as error:
        raise MachineError(f"{folder}: {error.strerror}: only root may partition the machine: run as root") from None
    with stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _try_alone(file: Path) -> bool:
    with file.open() as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def _require_same(state: State, wanted: Wanted) -> None:
    asked = {
        "groups": ([group.cpus for group in state.plan.groups], [group.cpus for group in wanted.plan.groups]),
        "type (isolation.partition)": (state.kind, wanted.kind),
        "memory (sandbox.limits.memory_mb)": (state.memory_mb, wanted.memory_mb),
        "isolation.tuning": (state.tuning, wanted.tuning),
    }
    others = [name for name, (is_so, should_be) in asked.items() if is_so != should_be]
    if others:
        raise MachineError(
            f"partitions are up with other settings, of {', '.join(others)}: run `patchperf isolate down` first, or "
            "use their settings"
        )


def _require_whole(tree: Tree, state: State, advice: str) -> None:
    found = list(_damages(tree, state))
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise MachineError(f"partitions are not as they should be: {found[0]}{more}: {advice}")


def _noted(tree: Tree, wanted: Wanted, by_hand: bool) -> State:
    daemons = {group for group in groups_of(DAEMONS).values() if group}
    under_systemd = systemd.running()
    confined = []
    for one in confinements(wanted.plan, daemons, tree.children):
        if under_systemd and systemd.is_idle_unit(one.group):
            continue
        told = Confined(group=one.group, cpus=format_cpus(one.cpus), before=_cpus_of(tree, one.group))
        if under_systemd and systemd.is_unit(one.group):
            unit = PurePosixPath(one.group).name
            told = told.model_copy(
                update={"unit_before": systemd.allowed_cpus(unit), "drop_in": systemd.has_drop_in(unit)}
            )
        confined.append(told)
    settings, problems = tuning.choose(wanted.tuning)
    return State(
        boot=boot(),
        finished=False,
        by_hand=by_hand,
        kind=wanted.kind,
        memory_mb=wanted.memory_mb,
        plan=wanted.plan,
        allowed=wanted.allowed,
        controllers=tuple(name for name in CONTROLLERS if name not in tree.controllers("")),
        confined=tuple(confined),
        affinities=tuple(_affinities(parse_cpus(tree.read("", "cpuset.cpus.effective")))),
        tuning=wanted.tuning,
        tuned=settings,
        notes=problems,
    )


def _cpus_of(tree: Tree, group: str) -> str:
    """What a group is kept to; empty where it is not, as for one that has had no such controller so far."""
    try:
        return tree.read(group, "cpuset.cpus")
    except OSError:
        return ""


def _make(tree: Tree, state: State) -> None:
    if state.controllers:
        tree.write("", "cgroup.subtree_control", " ".join(f"+{name}" for name in state.controllers))
    _write_all(tree, reserve_writes(state.plan))
    _empty_root(tree, bool(state.plan.daemon))
    for one in state.confined:
        if one.unit_before is not None:
            systemd.allow(PurePosixPath(one.group).name, one.cpus)
        elif tree.exists(one.group, "cpuset.cpus"):
            tree.write(one.group, "cpuset.cpus", one.cpus)
    _write_all(tree, partition_writes(state.plan, state.kind, state.memory_mb))
    _require_whole(tree, state, "this kernel or what else manages its control groups does not allow them")


def _write_all(tree: Tree, writes: Iterable[Write]) -> None:
    for write in writes:
        if not tree.exists(write.group):
            tree.make(write.group)
        tree.write(write.group, write.file, write.text)


def _empty_root(tree: Tree, daemon: bool) -> None:
    """Move all but the kernel's own threads out of the machine's root, as long as new ones appear."""
    daemons = groups_of(DAEMONS) if daemon else {}
    stuck: set[int] = set()
    for _ in range(_ROUNDS):
        found = [pid for pid in tree.processes("") if pid not in stuck and not is_kernel_thread(pid)]
        if 0 in found:
            raise MachineError(
                "the machine's processes cannot be seen here: run patchperf outside of the container, or give it the "
                "machine's processes (--pid=host)"
            )
        if not found:
            return
        for pid in found:
            if not tree.move(pid, DAEMON if pid in daemons else SYSTEM) and not is_kernel_thread(pid):
                stuck.add(pid)
    raise MachineError("processes start in the machine's root group faster than they can be moved out of it")


def _damages(tree: Tree, state: State) -> Iterator[str]:
    for write in (*reserve_writes(state.plan), *partition_writes(state.plan, state.kind, state.memory_mb)):
        try:
            told = tree.read(write.group, write.file)
        except OSError as error:
            told = error.strerror or str(error)
        if not holds(write, told):
            yield f"{write.group}/{write.file} is {told!r} and should be {write.text!r}"
    for one in state.confined:
        with suppress(OSError):
            told = tree.read(one.group, "cpuset.cpus")
            if told != one.cpus:
                yield f"{one.group}/cpuset.cpus is {told!r} and should be {one.cpus!r}"


def _undo(tree: Tree, state: State | None) -> list[str]:
    """Have all as it was before; what could not be done, in a line each."""
    problems = [] if state is None else tuning.restore(state.tuned)
    problems += _remove(tree, TOP)
    if state is not None:
        problems += systemd.restore([one for one in state.confined if one.unit_before is not None])
        problems += _unconfine(tree, state)
    for group in (SYSTEM, DAEMON):
        problems += _return(tree, group)
    if state is not None:
        for name in state.controllers:
            # Whoever has begun to use it since then keeps it.
            with suppress(OSError):
                (tree.root / "cgroup.subtree_control").write_text(f"-{name}\n", "ascii")
        _restore_affinities(state.affinities)
    return problems


def _unconfine(tree: Tree, state: State) -> list[str]:
    """Give groups back the CPUs they had; what could not be done, in a line each.

    systemd leaves CPUs behind in the kernel that it is not to care for any more, and may still write them once more
    after it has said that it is done: so they are looked at until they stay as they were.
    """
    problems: list[str] = []
    quiet, deadline = 0, time.monotonic() + _REMOVAL_SECONDS
    while quiet < _QUIET_ROUNDS and time.monotonic() < deadline:
        wrong = [one for one in state.confined if not _is_unconfined(tree, one, state.allowed)]
        problems = [problem for one in wrong if (problem := _unconfined(tree, one, state.allowed))]
        quiet = 0 if wrong else quiet + 1
        time.sleep(_QUIET_SECONDS)
    return problems


def _is_unconfined(tree: Tree, one: Confined, everything: tuple[int, ...]) -> bool:
    if not tree.exists(one.group, "cpuset.cpus"):
        return True
    told = _cpus_of(tree, one.group)
    return told == one.before or (not one.before and set(everything) <= parse_cpus(told))


def _unconfined(tree: Tree, one: Confined, everything: tuple[int, ...]) -> str:
    """Try to give a group its CPUs back; why that cannot be done, or nothing.

    One with processes that had no CPUs of its own gets all: kernels refuse to let it have none again (Linux 6.1).
    """
    try:
        tree.write(one.group, "cpuset.cpus", one.before)
    except MachineError:
        try:
            tree.write(one.group, "cpuset.cpus", one.before or format_cpus(everything))
        except MachineError as error:
            return str(error) if tree.exists(one.group) else ""
    return ""


def _finish(problems: list[str], folder: Path) -> None:
    if problems:
        raise MachineError(f"not everything could be undone: {'; '.join(problems)}: run `patchperf isolate down` again")
    forget_state(folder)


def _remove(tree: Tree, group: str) -> list[str]:
    """Kill all that is in a group or below it, and remove it; what could not be done."""
    if not tree.exists(group):
        return []
    tree.write(group, "cgroup.kill", "1")
    deadline = time.monotonic() + _REMOVAL_SECONDS
    while not _removed(tree.root / group):
        if time.monotonic() > deadline:
            return [f"{tree.root / group} is still in use"]
        time.sleep(0.02)
    return []


def _removed(folder: Path) -> bool:
    """Remove a group with those below it; whether it is gone."""
    try:
        for below in folder.iterdir():
            if below.is_dir():
                _removed(below)
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _return(tree: Tree, group: str) -> list[str]:
    """Move the processes of a group back to the machine's root, and remove it; what could not be done."""
    if not tree.exists(group):
        return []
    deadline = time.monotonic() + _REMOVAL_SECONDS
    while True:
        for pid in tree.processes(group):
            tree.move(pid, "")
        if _removed(tree.root / group):
            return []
        if time.monotonic() > deadline:
            return [f"{tree.root / group} is still in use"]
        time.sleep(0.02)


def _affinities(usual: frozenset[int]) -> Iterator[Affinity]:
    """The threads that do not run on all CPUs, the kernel's own left out."""
    for task in _tasks():
        with suppress(OSError):
            cpus = os.sched_getaffinity(int(task.name))
            if cpus != usual:
                yield Affinity(thread=int(task.name), start_ticks=_start_ticks(task), cpus=format_cpus(cpus))


def _tasks() -> Iterator[Path]:
    """The threads of the machine, the kernel's own left out, as far as they stay."""
    for process in Path("/proc").iterdir():
        if process.name.isdecimal() and not is_kernel_thread(int(process.name)):
            with suppress(OSError):
                yield from (process / "task").iterdir()


def _restore_affinities(affinities: Iterable[Affinity]) -> None:
    for one in affinities:
        cpus = parse_cpus(one.cpus)
        with suppress(OSError):
            same = _start_ticks(Path(f"/proc/{one.thread}")) == one.start_ticks
            if same and os.sched_getaffinity(one.thread) != cpus:
                os.sched_setaffinity(one.thread, cpus)


def _start_ticks(task: Path) -> int:
    return int((task / "stat").read_text("ascii", "replace").rpartition(")")[2].split()[19])
