"""From a candidate's patch to its outcome: apply it, put the benchmark's tests in place, run them, grade."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from patchperf.quality.outcomes import Outcome, outcome
from patchperf.sandbox import patches, trees
from patchperf.study.commands import suite_command
from patchperf.study.grading import grade
from patchperf.study.instance import GROUND_TRUTH, Candidate, content_digest
from patchperf.study.logs import parse_log
from patchperf.study.reproduction import Reproduction
from patchperf.study.runs import Run, record
from patchperf.study.solutions import Change, is_test_file, package_roots, solution_digest
from patchperf.study.workbench import BrokenInstance, Workbench


class Verdict(BaseModel):
    """What one patch did: its outcome, the counts behind it, and the digest of its code.

    ``link`` is the link of the chain of apply commands that held. ``solution`` is the digest of the patch's effect on
    the package, None where nothing was applied; equal digests are one solution. ``note`` explains what a count cannot.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    patch: str
    outcome: Outcome
    link: str = ""
    note: str = ""
    f2p_passed: int = 0
    f2p_total: int = 0
    p2p_passed: int = 0
    p2p_total: int = 0
    dialect: str
    solution: str | None = None
    run: Run | None = None


class Verdicts(BaseModel):
    """The verdicts on all candidates of one instance, ground truth first."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    instance_id: str
    spec: str
    verdicts: dict[str, Verdict]
    reported: dict[str, bool | None]
    confinement: str


def judge_candidates(
    bench: Workbench, reproduction: Reproduction, candidates: Sequence[Candidate], spec: str, journal: Path
) -> Verdicts:
    """The verdict on each candidate; equal patches are run once, and never again while the journal has the verdict."""
    truth = Candidate(instance_id=bench.instance.instance_id, source=GROUND_TRUTH, patch=bench.instance.patch)
    everyone = [truth, *candidates]
    known: dict[str, Verdict] = {}
    for candidate in everyone:
        if candidate.digest not in known:
            known[candidate.digest] = _remembered(bench, reproduction, candidate, journal)
    return Verdicts(
        instance_id=bench.instance.instance_id,
        spec=spec,
        verdicts={candidate.source: known[candidate.digest] for candidate in everyone},
        reported={candidate.source: candidate.reported_resolved for candidate in candidates},
        confinement=bench.sandbox.confinement,
    )


def _remembered(bench: Workbench, reproduction: Reproduction, candidate: Candidate, journal: Path) -> Verdict:
    key = content_digest([candidate.digest, reproduction.spec, reproduction.unreproduced, bench.sandbox.confinement])
    file = journal / f"{key}.json"
    with suppress(FileNotFoundError, ValidationError):
        return Verdict.model_validate_json(file.read_bytes())
    verdict = judge_candidate(bench, reproduction, candidate)
    journal.mkdir(parents=True, exist_ok=True)
    partial = file.with_suffix(".partial")
    with partial.open("w", encoding="utf-8") as out:
        out.write(verdict.model_dump_json())
        out.flush()
        os.fsync(out.fileno())
    partial.replace(file)
    return verdict


def judge_candidate(bench: Workbench, reproduction: Reproduction, candidate: Candidate) -> Verdict:
    """Run one candidate through the benchmark's native command and say what came of it."""
    verdict = functools.partial(Verdict, patch=candidate.digest, dialect=bench.instance.dialect)
    if patches.is_empty(candidate.patch):
        return verdict(outcome="empty", note="the patch has no content")
    tree = bench.base_tree("candidate")
    applied = patches.apply_patch(tree, candidate.patch)
    if not applied.applied:
        return verdict(outcome="not applied", note=applied.detail)
    changes = changed_code(tree)
    verdict = functools.partial(verdict, link=applied.link, solution=effect(bench, changes))
    if all(is_test_file(change.path) for change in changes):
        return verdict(outcome="test only", note="the patch changes nothing but test files")
    if not reproduction.stable:
        note = f"not judged, the ground truth itself does not hold here: {reproduction.evidence}"
        return verdict(outcome="infrastructure failure", note=note)
    return run_candidate(bench, reproduction, candidate, tree, verdict)


def run_candidate(
    bench: Workbench,
    reproduction: Reproduction,
    candidate: Candidate,
    tree: Path,
    verdict: functools.partial[Verdict],
) -> Verdict:
    """The verdict on a patched tree, from the benchmark's tests run in it."""
    bench.install_project(tree)
    try:
        bench.install_tests(tree)
    except BrokenInstance as error:
        return verdict(
            outcome="not applied", note=f"the benchmark's tests have no place after this patch: {error.detail}"
        )
    shell = suite_command(bench.instance, tree, bench.executables)
    done = bench.run(shell, tree, timeout=bench.config.timeouts.suite)
    run = record(f"{candidate.source}, native command", shell, done)
    result = grade(
        bench.instance, parse_log(done.output, bench.instance), done.exit_code, done.ended, reproduction.unreproduced
    )
    if done.ended not in ("exit", "timeout"):
        return verdict(outcome="infrastructure failure", note=f"stopped by our limit: {done.ended}", run=run)
    counts = (result.f2p_passed, result.f2p_total, result.p2p_passed, result.p2p_total)
    return verdict(
        outcome="timed out" if done.ended == "timeout" else outcome(*counts),
        f2p_passed=result.f2p_passed,
        f2p_total=result.f2p_total,
        p2p_passed=result.p2p_passed,
        p2p_total=result.p2p_total,
        note=result.note,
        run=run,
    )


def changed_code(tree: Path) -> tuple[Change, ...]:
    """What a patch did to a tree, file by file, with the content before and after."""
    return tuple(
        Change(
            path=change.path,
            base=None if change.status == "added" else trees.base_bytes(tree, change.path),
            new=None if change.status == "deleted" else _content(tree / change.path),
        )
        for change in trees.changed_files(tree)
    )


def effect(bench: Workbench, changes: Sequence[Change]) -> str:
    """The digest of the code that a patch leaves behind."""
    tests = patches.patch_paths(bench.instance.test_patch)
    code = [change for change in changes if change.path not in tests]
    return solution_digest(code, package_roots(patches.patch_paths(bench.instance.patch)))


def _content(path: Path) -> bytes:
    return os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
