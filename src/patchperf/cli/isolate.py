"""``patchperf isolate``: the machine's partitions brought up, shown and taken down."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from patchperf.cli.errors import errors_in_one_line
from patchperf.config import Isolation, load_isolation, load_memory_mb
from patchperf.errors import InputError, MachineError
from patchperf.isolation.cgroups import Tree, facts, problem
from patchperf.isolation.leases import leased, lock_folder
from patchperf.isolation.partitions import partition_of
from patchperf.isolation.plan import Group, Plan
from patchperf.isolation.plan import plan as make_plan
from patchperf.isolation.sharing import whole_topology
from patchperf.isolation.state import State, read_state
from patchperf.isolation.switch import Wanted, damages
from patchperf.isolation.switch import down as take_down
from patchperf.isolation.switch import up as bring_up
from patchperf.isolation.topology import format_cpus

NOT_UP = 3
"""Exit code of ``status`` where nothing is up, as of an init script's."""

app = typer.Typer(no_args_is_help=True, help="Partition the machine's CPUs into core groups, and undo it.")

ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--configfile",
        help="A study's configuration, for its isolation and sandbox.limits. Without: the defaults.",
        show_default=False,
    ),
]


@app.command()
def up(configfile: ConfigFile = None) -> None:
    """Make a partition for each core group, and confine all else to the reserve.

    They stay until `patchperf isolate down`, whatever workflows use them. If they are up already, nothing is changed.
    """
    with errors_in_one_line():
        isolation, memory_mb = _settings(configfile)
        topology = whole_topology()
        reason = problem(facts())
        if reason is not None:
            raise MachineError(reason)
        plan = make_plan(topology, isolation, "partition")
        allowed = tuple(sorted(topology.allowed))
        wanted = Wanted(plan, isolation.partition, memory_mb, allowed, isolation.tuning)
        state, changed = bring_up(wanted, by_hand=True)
        typer.echo("partitions are up" if changed else "partitions were up already: nothing was changed")
        for line in (*_plan_lines(state.plan), *(f"note: {note}" for note in (*plan.notes, *state.notes))):
            typer.echo(line)


@app.command()
def status(configfile: ConfigFile = None) -> None:
    """Tell what is up: the groups with their CPUs, the kernel's word on each partition, and who leases them.

    Exit code 0 if all is as it was brought up, 1 if something is not, 3 if nothing is up.
    """
    with errors_in_one_line():
        state = read_state()
        if state is not None and not state.finished:
            raise MachineError(
                "partitions are half made: `patchperf isolate up` was killed: run `patchperf isolate down`"
            )
        if state is None:
            isolation, _ = _settings(configfile)
            obstacle = problem(facts())
            typer.echo("level none: no partitions are up")
            typer.echo(f"they cannot be: {obstacle}" if obstacle else "`patchperf isolate up` would make these:")
            for line in () if obstacle else _plan_lines(make_plan(whole_topology(), isolation, "partition")):
                typer.echo(line)
            raise typer.Exit(NOT_UP)
        for line in _status_lines(state):
            typer.echo(line)
        damaged = damages(state)
        for line in damaged:
            typer.echo(f"not as it was brought up: {line}")
        if damaged:
            raise typer.Exit(1)


@app.command()
def down() -> None:
    """Undo what `up` or a workflow did, also one that was killed. What still runs in the partitions is killed.

    If nothing is up, nothing is changed. Refuses while a workflow runs on them or a core group is leased.
    """
    with errors_in_one_line():
        reason = problem(facts())
        if reason is not None:
            raise MachineError(reason)
        typer.echo("all is as it was before" if take_down() else "no partitions were up: nothing was changed")


def _settings(file: Path | None) -> tuple[Isolation, int]:
    """The isolation at level "partition", and the memory of a case (MiB)."""
    if file is None:
        return Isolation(level="partition"), load_memory_mb({})
    values = _values(file)
    isolation = load_isolation(values, str(file))
    if isolation.level != "partition":
        raise InputError(
            f"{file}: isolation.level is {isolation.level}: set it to partition, or leave --configfile out"
        )
    return isolation, load_memory_mb(values, str(file))


def _values(file: Path) -> dict[str, Any]:
    try:
        values = yaml.safe_load(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: {getattr(error, 'strerror', None) or error}") from None
    except yaml.YAMLError as error:
        raise InputError(f"{file}: {error}") from None
    if not isinstance(values, dict):
        raise InputError(f"{file}: expected keys and values")
    return values


def _plan_lines(plan: Plan) -> Iterator[str]:
    for group in plan.groups:
        yield _group_line(group)
    yield _reserve_line(plan)


def _status_lines(state: State) -> Iterator[str]:
    how = "by hand" if state.by_hand else "by a workflow"
    yield f"level partition, type {state.kind}: brought up {how}"
    yield f"of each group: {state.memory_mb} MB of memory, no swap"
    tree = Tree()
    taken = leased(state.plan, lock_folder())
    for group in state.plan.groups:
        try:
            told = tree.read(partition_of(group), "cpuset.cpus.partition")
        except OSError as error:
            told = str(error.strerror)
        valid = "valid" if told == state.kind else f"INVALID ({told})"
        holder = taken.get(group.index)
        yield f"{_group_line(group)}: {valid}, {f'leased by {holder}' if holder else 'free'}"
    yield _reserve_line(state.plan)
    for one in state.tuned:
        yield f"tuned: {one.file} {one.text}, before {one.before}"


def _group_line(group: Group) -> str:
    idle = f", idle {format_cpus(group.idle)}" if group.idle else ""
    node = f", memory node {group.node}" if group.node is not None else ""
    return f"group {group.index}: CPUs {format_cpus(group.cpus)}{idle}{node}"


def _reserve_line(plan: Plan) -> str:
    system = format_cpus(plan.system + plan.spare)
    return f"container daemon: CPUs {format_cpus(plan.daemon) or 'of the system'}; system: CPUs {system}"
