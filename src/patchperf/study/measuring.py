"""From a case of the study to a measured case: one tree per solution, one command for all of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import pandas as pd
from pydantic import BaseModel, ConfigDict

from patchperf.counters.preflight import COUNTERS, Choice
from patchperf.counters.protocol import Emulation
from patchperf.errors import InputError, MachineError
from patchperf.measure.calibration import Window
from patchperf.measure.case import CasePlan, Progress, Solution, UnmeasurableError, measure_case
from patchperf.measure.envelope import fixed_variables, pool_size
from patchperf.measure.records import Record
from patchperf.sandbox import trees
from patchperf.study.cases import Case, CaseSolution
from patchperf.study.instance import GROUND_TRUTH
from patchperf.study.rows import Row
from patchperf.study.single_point import SinglePoint
from patchperf.study.workbench import Workbench


class Host(BaseModel):
    """The machine a study is measured on: its kind, the counter that works there, and how patches are confined.

    ``emulation`` is what a simulated counter counts under, ``environment`` the variables that every command has.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: str
    counter: Choice
    emulation: Emulation | None = None
    environment: dict[str, str] = {}
    confinement: str
    warning: str = ""


class Measured(BaseModel):
    """Whether a case could be measured; if not, the reason code and one line of evidence.

    ``job_seconds`` is the age of the measuring job's process when all was measured, ``waiting_seconds`` what of it
    passed until no other case was being measured on the machine. ``uncounted`` are solutions with wall time alone.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    instance_id: str
    case: str
    reason: str = ""
    evidence: str = ""
    dropped: dict[str, str] = {}
    uncounted: dict[str, str] = {}
    job_seconds: float = 0.0
    waiting_seconds: float = 0.0


def plan_case(bench: Workbench, row: Row, point: SinglePoint, case: Case, *, host: Host, cache: Path) -> CasePlan:
    """Everything that decides a case's measurement; makes the tree of every solution, the decorated test in it.

    Raises MachineError where the emulator or the variables of every command are not those of the study.
    """
    patches = {GROUND_TRUTH: row.instance.patch} | {one.source: one.patch for one in row.candidates}
    counter = COUNTERS[host.counter.backend]
    config = bench.config
    if config.isolation.level != "none":
        raise InputError(f"isolation {config.isolation.level}: so far, cases are measured with isolation none only")
    plan = CasePlan(
        instance_id=row.instance.instance_id,
        digest=case.digest,
        solutions=tuple(_solution(bench, point, one, patches[one.representative]) for one in case.solutions),
        argv=point.shell.argv,
        environment=bench.variables(point.shell.environment, hash_seed=0),
        passed=lambda done: point.failure(done, row.instance),
        warmup=config.warmup,
        window=Window(**config.calibration.model_dump()),
        replicates=config.replicates,
        attempts=config.attempts,
        seed=config.seed,
        timeout=config.timeouts.replicate,
        readable=bench.readable,
        counter=counter,
        counter_folder=counter.prepare(cache, bench.environment.python),
        isolation=config.isolation.level,
        host=host.host,
    )
    emulation = plan.counting.emulation if plan.counting else None
    if emulation != host.emulation:
        raise MachineError(
            f"results/host.json was made for {host.emulation}, here is {emulation}: delete it and run again"
        )
    variables = fixed_variables(pool_size(config.isolation.group_cores))
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
    try:
        result = measure_case(plan, bench.sandbox, bench.config.sandbox.limits, journal, progress)
    except UnmeasurableError as error:
        return error.records, known(reason=error.reason, evidence=_told(plan, error))
    dropped, uncounted = (
        {name: _told(plan, error) for name, error in errors.items()} for errors in (result.dropped, result.uncounted)
    )
    return result.records, known(dropped=dropped, uncounted=uncounted)


def _told(plan: CasePlan, error: UnmeasurableError) -> str:
    sources = next(", ".join(one.sources) for one in plan.solutions if one.id == error.solution)
    return f"solution {error.solution} ({sources}): {error.reason}: {error.evidence}"


def collect(
    cases: pd.DataFrame, corpus: pd.DataFrame, measured: list[Measured], frames: list[pd.DataFrame]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """All measurements under the sources of today, and the ledger with the cases that could not be measured.

    Sources come from ``cases``: a source that joins a known solution changes no measurement. Raises InputError if a
    case was measured under another digest than its present one.
    """
    digests = dict(zip(cases.instance_id, cases.case, strict=True))
    for one in measured:
        if digests.get(one.instance_id) != one.case:
            raise InputError(
                f"results/measurements/{one.instance_id}.parquet belongs to another version of the case: delete it and "
                "run again"
            )
    table = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
    if len(table):
        sources = cases.set_index(["instance_id", "solution"]).sources
        table["sources"] = [list(sources[key]) for key in zip(table.instance_id, table.solution, strict=True)]
    ledger = corpus.copy()
    for one in measured:
        if one.reason:
            columns = ["stage", "status", "reason", "evidence", "detail"]
            evidence = f"results/measurements/{one.instance_id}.json"
            ledger.loc[ledger.instance_id == one.instance_id, columns] = [
                "measurement", "excluded", one.reason, evidence, one.evidence,
            ]  # fmt: skip
        elif one.dropped or one.uncounted:
            told = [f"not measured: {told}" for told in one.dropped.values()]
            told += [f"not counted: {told}" for told in one.uncounted.values()]
            ledger.loc[ledger.instance_id == one.instance_id, "detail"] = "; ".join(told)
    return table, ledger
