"""From a candidate's patch to its outcome: apply it, put the benchmark's tests in place, run them, grade."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from patchperf.quality.outcomes import Outcome, level, outcome
from patchperf.sandbox import patches, trees
from patchperf.sandbox.protocol import Completed
from patchperf.study.canaries import gets_beyond_itself, hidden_failures
from patchperf.study.commands import suite_command
from patchperf.study.foreign import is_setting
from patchperf.study.grading import OTHER, Grade, grade
from patchperf.study.instance import GROUND_TRUTH, Candidate, content_digest
from patchperf.study.logs import parse_log
from patchperf.study.reproduction import Reproduction
from patchperf.study.runs import Run, record
from patchperf.study.solutions import Change, is_test_file, package_roots, solution_digest
from patchperf.study.summaries import NO_SUMMARY, summary_conflict
from patchperf.study.tampering import tampering
from patchperf.study.workbench import BrokenInstance, Workbench, changed_code, content


class Verdict(BaseModel):
    """What one patch did: its outcome, the counts behind it, and the digest of its code.

    ``link`` is the link of the chain of apply commands that held. ``solution`` is the digest of the patch's effect on
    the package, None where nothing was applied; equal digests are one solution. ``note`` explains what a count cannot.
    ``f2p`` and ``p2p`` are the levels (all, partial, none) of a candidate whose tests were run, else empty.
    ``other_dialect`` and ``other_outcome`` are set where the other dialect makes another outcome of the same run.
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
    f2p: str = ""
    p2p: str = ""
    other_dialect: str = ""
    other_outcome: str = ""


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
    conditions = [reproduction.spec, reproduction.unreproduced, bench.environment.digest, bench.sandbox.confinement]
    key = content_digest([candidate.digest, *conditions])
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
    aside = bench.set_aside(tree)
    changes = changed_code(tree)
    verdict = functools.partial(verdict, link=applied.link, solution=effect(bench, changes))
    if all(is_test_file(change.path) for change in changes):
        return verdict(outcome="test only", note="the patch changes nothing but tests and what belongs to them")
    meddling = tampering(changes, bench.instance.patch)
    if meddling is not None:
        return verdict(outcome="infrastructure failure", note=f"not judged: {meddling}")
    if not reproduction.stable:
        note = f"not judged, the ground truth itself does not hold here: {reproduction.evidence}"
        return verdict(outcome="infrastructure failure", note=note)
    verdict = functools.partial(verdict, note=_told(aside))
    judged = run_candidate(bench, reproduction, candidate, tree, verdict)
    hidden = _hidden(bench, candidate, changes) if judged.f2p_passed else ""
    return verdict(outcome="infrastructure failure", note=f"not judged: {hidden}", run=judged.run) if hidden else judged


def _hidden(bench: Workbench, candidate: Candidate, changes: Sequence[Change]) -> str:
    """In one line what speaks for hidden failures; the ground truth and patches that cannot hide any are not tried."""
    if candidate.patch == bench.instance.patch or not gets_beyond_itself(changes):
        return ""
    return hidden_failures(bench, candidate.patch)


def run_candidate(
    bench: Workbench,
    reproduction: Reproduction,
    candidate: Candidate,
    tree: Path,
    verdict: functools.partial[Verdict],
) -> Verdict:
    """The verdict on a patched tree, from the benchmark's tests run in it.

    A run whose log is in conflict with itself, or that changes what decides on tests, is not judged. One that was
    broken off before its summary, and does not claim to have gone well, is: it passes nothing.
    """
    instance = bench.instance
    bench.install_project(tree)
    try:
        bench.install_tests(tree)
    except BrokenInstance as error:
        return verdict(
            outcome="not applied", note=f"the benchmark's tests have no place after this patch: {error.detail}"
        )
    shell = suite_command(instance, tree, bench.executables)
    before = tests_in(bench, tree)
    done = bench.run(shell, tree, timeout=bench.config.timeouts.suite)
    run = record(f"{candidate.source}, native command", shell, done)
    if done.ended not in ("exit", "timeout"):
        return verdict(outcome="infrastructure failure", note=f"stopped by our limit: {done.ended}", run=run)
    statuses = parse_log(done.output, instance)
    conflict = _rewritten(before, tests_in(bench, tree)) if done.ended == "exit" else ""
    if not conflict and done.ended == "exit" and reproduction.one_summary:
        conflict = summary_conflict(done.output, statuses, instance)
    if conflict and not (conflict == NO_SUMMARY and (done.exit_code != 0 or not statuses)):
        return verdict(outcome="infrastructure failure", note=f"not judged: {conflict}", run=run)
    graded = functools.partial(grade, instance, statuses, done.exit_code, done.ended, conflict=conflict)
    own = graded(reproduction.unreproduced)
    other = graded(reproduction.unreproduced_in_other, dialect=OTHER[instance.dialect])
    note = "; ".join(filter(None, (verdict.keywords["note"], own.note)))
    return verdict(**outcomes(done, own, other), note=note, run=run)


def outcomes(done: Completed, own: Grade, other: Grade) -> dict[str, Any]:
    """What a verdict has of a run: counts, and where the tests came to their end the levels and both outcomes."""
    counts = {name: getattr(own, name) for name in ("f2p_passed", "f2p_total", "p2p_passed", "p2p_total")}
    if done.ended == "timeout":
        return {**counts, "outcome": "timed out"}
    ours, theirs = _outcome(own), _outcome(other)
    differs = {"other_dialect": other.dialect, "other_outcome": theirs} if theirs != ours else {}
    levels = {"f2p": level(own.f2p_passed, own.f2p_total), "p2p": level(own.p2p_passed, own.p2p_total)}
    return {**counts, "outcome": ours, **levels, **differs}


def _outcome(result: Grade) -> Outcome:
    return outcome(result.f2p_passed, result.f2p_total, result.p2p_passed, result.p2p_total)


def tests_in(bench: Workbench, tree: Path) -> dict[str, str]:
    """SHA-256 of the benchmark's test files in a tree, and of changed files that runners read untold, by path."""
    settings = [change.path for change in trees.changed_files(tree) if is_setting(change.path)]
    paths = {*patches.patch_paths(bench.instance.test_patch), *settings}
    return {path: hashlib.sha256(content(tree / path)).hexdigest() for path in sorted(paths) if (tree / path).is_file()}


def _rewritten(before: dict[str, str], after: dict[str, str]) -> str:
    """In one line which of these files the run itself has changed; empty for none."""
    changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    return f"the run itself has changed {changed[0]}, which decides what is tested" if changed else ""


def _told(aside: Sequence[str]) -> str:
    more = f" and {len(aside) - 1} more" if aside[1:] else ""
    return f"put back to the base: {aside[0]}{more}" if aside else ""


def effect(bench: Workbench, changes: Sequence[Change]) -> str:
    """The digest of the code that a patch leaves behind."""
    tests = patches.patch_paths(bench.instance.test_patch)
    code = [change for change in changes if change.path not in tests]
    return solution_digest(code, package_roots(patches.patch_paths(bench.instance.patch)))
