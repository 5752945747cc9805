"""From a case of the study to a measured case: one tree per solution, one command for all of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pandas as pd
from pydantic import BaseModel, ConfigDict

from patchperf.config import Config, cache_folder
from patchperf.counters.preflight import COUNTERS
from patchperf.errors import InputError, MachineError
from patchperf.isolation.cgroups import facts, problem
from patchperf.measure.case import CasePlan, Progress, Solution
from patchperf.measure.conditions import Ground, leased_ground
from patchperf.measure.counting import Native, count_case
from patchperf.measure.envelope import fixed_variables
from patchperf.measure.native import measure_case
from patchperf.measure.records import Record
from patchperf.measure.result import UnmeasurableError
from patchperf.sandbox import trees
from patchperf.sandbox.locks import exclusive, shared
from patchperf.study.cases import Case, CaseSolution, read_case
from patchperf.study.host import Host, read_host
from patchperf.study.instance import GROUND_TRUTH
from patchperf.study.probe import read_probes
from patchperf.study.rows import Row, read_row
from patchperf.study.single_point import SinglePoint
from patchperf.study.workbench import Workbench


class Measured(BaseModel):
    """Whether a case could be measured (or counted); if not, the reason code and one line of evidence.

    ``dropped`` are solutions that could not be, with one line each; ``edited`` those whose test left other files in its
    tree than it found, with the first of them. ``job_seconds`` is the age of the job's process
    when all was done, ``waiting_seconds`` what of it passed until the machine was free for it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    instance_id: str
    case: str
    reason: str = ""
    evidence: str = ""
    dropped: dict[str, str] = {}
    edited: dict[str, str] = {}
    job_seconds: float = 0.0
    waiting_seconds: float = 0.0


@contextmanager
def measuring_ground(config: Config, tell: Callable[[str], None]) -> Iterator[Ground]:
    """What a case is measured on, waited for as long as it takes; ``tell`` hears of the wait.

    Where nothing keeps others away, a case has at least all that uses this cache for itself: no other is timed or
    counted meanwhile.
    """
    obstacle = problem(facts()) if config.isolation.level == "partition" else None
    with (
        leased_ground(lambda topology: config.isolation.plan(topology, obstacle), tell) as ground,
        ExitStack() as stack,
    ):
        if ground.promise.level == "none":
            stack.enter_context(exclusive(_timing_lock(config)))
        yield ground


@contextmanager
def counting_ground(config: Config) -> Iterator[None]:
    """What a case is counted on: any processor, but not while another one is timed that nothing keeps others off."""
    with shared(_timing_lock(config)):
        yield


def _timing_lock(config: Config) -> Path:
    return cache_folder(config) / "measuring.lock"


def read_plan(
    bench: Workbench, *, cases: Path | str, probe: Path | str, host: Path | str, ground: Ground | None = None
) -> CasePlan:
    """The plan of the bench's case, given the files of the cases, of its probe and of the machine."""
    instance = bench.instance.instance_id
    point = read_probes([probe])[instance].single_point
    if point is None:
        raise InputError(f"{probe} has no single-point command: delete it and run again")
    return plan_case(
        bench,
        read_row(instance),
        point,
        read_case(Path(cases), instance),
        host=read_host(Path(host)),
        cache=cache_folder(bench.config),
        ground=ground,
    )


def plan_case(
    bench: Workbench,
    row: Row,
    point: SinglePoint,
    case: Case,
    *,
    host: Host,
    cache: Path,
    ground: Ground | None = None,
) -> CasePlan:
    """Everything that decides a case's measurement; makes the tree of every solution, the decorated test in it.

    Raises MachineError where the emulator or the variables of every command are not those of the study.
    """
    patches = {GROUND_TRUTH: row.instance.patch} | {one.source: one.patch for one in row.candidates}
    counter = COUNTERS[host.counter.backend]
    config = bench.config
    plan = CasePlan(
        instance_id=row.instance.instance_id,
        digest=case.digest,
        solutions=tuple(_solution(bench, point, one, patches[one.representative]) for one in case.solutions),
        argv=point.shell.argv,
        environment=bench.variables(point.shell.environment, hash_seed=0),
        passed=lambda done: point.failure(done, row.instance),
        warmup=config.warmup,
        window=config.calibration,
        replicates=config.replicates,
        attempts=config.attempts,
        seed=config.seed,
        timeout=config.timeouts.replicate,
        readable=bench.readable,
        garbage_collector=config.garbage_collector,
        counter=counter,
        counter_folder=counter.prepare(cache, bench.environment.host_python),
        counting=config.counting,
        ground=ground,
        host=host.host,
        work=bench.work / "measuring",
        programs=bench.environment.programs_on_path,
    )
    emulation = plan.emulated.emulation if plan.emulated else None
    if emulation != host.emulation:
        raise MachineError(
            f"results/host.json was made for {host.emulation}, here is {emulation}: delete it and run again"
        )
    variables = fixed_variables(config.isolation.pool_size)
    if variables != host.environment:
        name, _ = min(variables.items() ^ host.environment.items())
        told = f"{name}={host.environment.get(name)}, here it is {variables.get(name)}"
        raise MachineError(f"results/host.json was made for {told}: delete it and run again")
    return plan


def _solution(bench: Workbench, point: SinglePoint, one: CaseSolution, patch: str) -> Solution:
    tree = bench.tree(one.solution, patch)
    point.edit(tree, decorated=True)
    return Solution(
        id=one.solution,
        sources=one.sources,
        tree=tree,
        tree_digest=trees.tree_digest(tree),
        required=GROUND_TRUTH in one.sources,
    )


def measure(
    bench: Workbench, plan: CasePlan, journal: Path, progress: Callable[[Progress], None]
) -> tuple[list[Record], Measured]:
    """The case's records, and whether they are enough; a case that cannot be measured is a result, not an error."""
    known = functools.partial(Measured, instance_id=plan.instance_id, case=plan.digest)
    before = {solution.id: trees.changed_files(solution.tree) for solution in plan.solutions}
    try:
        result = measure_case(plan, bench.sandbox, bench.config.sandbox.limits, journal, progress)
    except UnmeasurableError as error:
        return error.records, known(reason=error.reason, evidence=_told(plan, error), edited=_edited(plan, before))
    return result.records, known(dropped=_all_told(plan, result.dropped), edited=_edited(plan, before))


def _edited(plan: CasePlan, before: Mapping[str, tuple[trees.Change, ...]]) -> dict[str, str]:
    """The solutions whose tree has changed while they were measured, caches aside, with what has."""
    told = {}
    for solution in plan.solutions:
        if trees.tree_digest(solution.tree) != solution.tree_digest:
            known = set(before[solution.id])
            new = [change.path for change in trees.changed_files(solution.tree) if change not in known]
            told[solution.id] = ", ".join(new[:3]) or "a file that the patch or the tests had changed"
    return told


def count(
    bench: Workbench, plan: CasePlan, native: pd.DataFrame, journal: Path, progress: Callable[[Progress], None]
) -> tuple[list[Record], Measured]:
    """The case's counts under its emulator, given the records of the native pass, and whether they are enough.

    There are none of a case that could not be measured natively.
    """
    known = functools.partial(Measured, instance_id=plan.instance_id, case=plan.digest)
    found = Native.of(native)
    if found is None:
        return [], known()
    result = count_case(plan, found, bench.sandbox, bench.config.sandbox.limits, journal, progress=progress)
    return result.records, known(dropped=_all_told(plan, result.dropped))


def _all_told(plan: CasePlan, dropped: Mapping[str, UnmeasurableError]) -> dict[str, str]:
    return {name: _told(plan, error) for name, error in dropped.items()}


def _told(plan: CasePlan, error: UnmeasurableError) -> str:
    sources = next(", ".join(one.sources) for one in plan.solutions if one.id == error.solution)
    return f"solution {error.solution} ({sources}): {error.reason}: {error.evidence}"


def collect(
    cases: pd.DataFrame,
    corpus: pd.DataFrame,
    measured: Sequence[Measured],
    counted: Sequence[Measured],
    frames: Sequence[pd.DataFrame],
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """All measurements under the sources of today, and the ledger with the cases that could not be measured.

    ``counted`` are the verdicts of a simulator's pass, ``frames`` the records of both passes. Sources come from
    ``cases``: a source that joins a known solution changes no measurement. Raises InputError if a case was measured
    under another digest than its present one.
    """
    digests = dict(zip(cases.instance_id, cases.case, strict=True))
    for folder, verdicts in (("measurements", measured), ("counts", counted)):
        for one in verdicts:
            if digests.get(one.instance_id) != one.case:
                raise InputError(
                    f"results/{folder}/{one.instance_id}.parquet belongs to another version of the case: delete it and "
                    "run again"
                )
    table = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
    if len(table):
        sources = cases.set_index(["instance_id", "solution"]).sources
        table["sources"] = [list(sources[key]) for key in zip(table.instance_id, table.solution, strict=True)]
    ledger = corpus.copy()
    uncounted = {one.instance_id: one.dropped for one in counted}
    for one in measured:
        row = ledger.instance_id == one.instance_id
        told = [f"not measured: {told}" for told in one.dropped.values()]
        told += [f"not counted: {told}" for told in uncounted.get(one.instance_id, {}).values()]
        told += [f"solution {name} has edited its tree: {files}" for name, files in one.edited.items()]
        if one.reason:
            columns = ["stage", "status", "reason", "evidence", "detail"]
            evidence = f"results/measurements/{one.instance_id}.json"
            ledger.loc[row, columns] = ["measurement", "excluded", one.reason, evidence, one.evidence]
        elif told:
            ledger.loc[row, "detail"] = "; ".join(told)
    return table, ledger
