"""Cases: kept instances with their distinct correct solutions, and the table of what every candidate came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import BaseModel, ConfigDict

from patchperf.errors import InputError
from patchperf.study.instance import GROUND_TRUTH, content_digest
from patchperf.study.manifest import PROTOCOL
from patchperf.study.probe import Probe
from patchperf.study.solutions import distinct_solutions
from patchperf.study.verdicts import Verdicts


class CaseSolution(BaseModel):
    """A distinct solution of a case, the sources that came to it, and the one whose patch is measured."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    solution: str
    sources: tuple[str, ...]
    representative: str


class Case(BaseModel):
    """A case as the table of cases has it; ``digest`` covers all that its measurement depends on."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    instance_id: str
    digest: str
    solutions: tuple[CaseSolution, ...]


CASE_COLUMNS = ("instance_id", "case", "solution", "code", "sources", "representative")
OUTCOME_COLUMNS = (
    "instance_id", "repo", "source", "outcome", "f2p_passed", "f2p_total", "p2p_passed", "p2p_total", "dialect",
    "reported_resolved", "solution", "link", "note", "f2p", "p2p", "other_dialect", "other_outcome",
)  # fmt: skip


def build_cases(
    kept: Sequence[str],
    verdicts: Mapping[str, Verdicts],
    probes: Mapping[str, Probe],
    protocol: Any,
    images: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """One row per case and distinct solution.

    ``case`` is the digest of all that a measurement of the case depends on: the probe, every solution's code, and
    ``protocol`` (any JSON value: window, replicates, seed, counter backend, host class), and the id of its image, by
    instance, where it is run in one (``images``). ``code`` is the digest of a solution's code, of which ``solution`` is
    the short form; ``representative`` is the source whose patch is measured.
    """
    rows = []
    for name in kept:
        correct = {
            source: verdict.solution
            for source, verdict in verdicts[name].verdicts.items()
            if verdict.outcome == "Resolved" and verdict.solution is not None
        }
        if GROUND_TRUTH not in correct:
            raise InputError(
                f"{name}: the ground truth is {verdicts[name].verdicts[GROUND_TRUTH].outcome}, see its grade"
            )
        solutions = distinct_solutions(correct)
        codes = {solution.id: correct[solution.sources[0]] for solution in solutions}
        image = [images[name]] if images else []
        case = content_digest([PROTOCOL, probes[name].spec, sorted(codes.values()), protocol, *image])
        rows += [
            (name, case, solution.id, codes[solution.id], list(solution.sources), solution.sources[0])
            for solution in solutions
        ]
    return pd.DataFrame(rows, columns=list(CASE_COLUMNS))


def build_outcomes(verdicts: Mapping[str, Verdicts], cases: pd.DataFrame, repos: Mapping[str, str]) -> pd.DataFrame:
    """One row per instance and source; ``solution`` is set where the candidate's code is measured in a case.

    ``repos`` are the repositories by instance id.
    """
    measured = dict(zip(zip(cases.instance_id, cases.code, strict=True), cases.solution, strict=True))
    rows = [
        {
            "instance_id": name,
            "repo": repos[name],
            "source": source,
            **verdict.model_dump(exclude={"patch", "solution", "run"}),
            "reported_resolved": graded.reported.get(source),
            "solution": measured.get((name, verdict.solution)) if verdict.outcome == "Resolved" else None,
        }
        for name, graded in sorted(verdicts.items())
        for source, verdict in graded.verdicts.items()
    ]
    frame = pd.DataFrame(rows, columns=list(OUTCOME_COLUMNS))
    return frame.astype({"reported_resolved": "boolean", "solution": "string"})


def read_case(table: Path, instance_id: str) -> Case:
    """One case of the table of cases; raises InputError if it is not there."""
    frame = pd.read_parquet(table, filters=[("instance_id", "==", instance_id)])
    if frame.empty:
        raise InputError(f"{table} has no case {instance_id}")
    solutions = frame[list(CaseSolution.model_fields)].to_dict("records")
    return Case.model_validate({"instance_id": instance_id, "digest": frame.case.iloc[0], "solutions": solutions})


def read_verdicts(paths: Sequence[str | Path]) -> dict[str, Verdicts]:
    """Graded candidates by instance id."""
    graded = (Verdicts.model_validate_json(Path(path).read_bytes()) for path in paths)
    return {verdicts.instance_id: verdicts for verdicts in graded}
