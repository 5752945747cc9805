"""Complexity and findings of every candidate of an instance, from the text of the files alone: nothing is run."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from patchperf.quality.changed_lines import changed_lines
from patchperf.quality.security import Bandit
from patchperf.quality.versions import Counts, count_versions
from patchperf.sandbox import patches
from patchperf.study.instance import GROUND_TRUTH, Candidate
from patchperf.study.solutions import Change, is_document, is_test_file
from patchperf.study.workbench import Workbench, changed_code


class CountedPatches(BaseModel):
    """What was counted for one instance; a source whose patch is empty or does not apply is not in ``counts``.

    ``lines`` is the size of the ground truth's diff. ``note`` says why there are no counts at all.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    instance_id: str
    spec: str
    lines: int | None
    counts: dict[str, Counts]
    note: str = ""


def count_patches(bench: Workbench, candidates: Sequence[Candidate], spec: str, severity: str) -> CountedPatches:
    """Count each candidate's version of the code, and the ground truth's, beside the ground truth's.

    Each patch is put on a tree at the base commit as for grading. Test files and documents are left
    out: the benchmark's own tests take their place. Findings count from ``severity`` on.
    """
    name = bench.instance.instance_id
    tests = set(patches.patch_paths(bench.instance.test_patch))
    truth = _changes(bench, bench.instance.patch, tests)
    if truth is None:
        return CountedPatches(
            instance_id=name, spec=spec, lines=None, counts={}, note="the ground truth does not apply"
        )
    known: dict[str, list[Change] | None] = {}
    changes = {GROUND_TRUTH: truth}
    for candidate in candidates:
        if candidate.digest not in known:
            known[candidate.digest] = _changes(bench, candidate.patch, tests)
        if (found := known[candidate.digest]) is not None:
            changes[candidate.source] = found
    base = {change.path: change.base for each in changes.values() for change in each if change.base is not None}
    versions = {source: _version(base, each) for source, each in changes.items()}
    return CountedPatches(
        instance_id=name,
        spec=spec,
        lines=changed_lines(bench.instance.patch),
        counts=count_versions(base, versions[GROUND_TRUTH], versions, Bandit(severity)),
    )


def _changes(bench: Workbench, patch: str, tests: set[str]) -> list[Change] | None:
    """What a patch does to code; None where it is empty or does not apply."""
    if patches.is_empty(patch):
        return None
    tree = bench.base_tree("counted")
    if not patches.apply_patch(tree, patch).applied:
        return None
    return [
        change
        for change in changed_code(tree)
        if change.path not in tests and not is_test_file(change.path) and not is_document(change.path)
    ]


def _version(base: dict[str, bytes], changes: Sequence[Change]) -> dict[str, bytes]:
    files: dict[str, bytes | None] = {**base, **{change.path: change.new for change in changes}}
    return {path: content for path, content in files.items() if content is not None}
