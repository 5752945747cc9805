"""The files of one instance in several versions (the base, the ground truth's, each source's), counted side by side."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from patchperf.quality.complexity import PYTHON_SUFFIXES, complexity, is_measured, parses
from patchperf.quality.security import Analyser, Bandit

Files = Mapping[str, bytes]
"""Path to content; a file that a version does not have is not in it."""

LARGEST = 2_000_000


class Counts(BaseModel):
    """What was counted in one source's version beside the ground truth's; NaN does not occur.

    ``note`` names the files that were not compared, and why; with a file that does not parse, ``compiles`` is false.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    compiles: bool
    complexity: int
    complexity_reference: int
    findings: int
    findings_reference: int
    note: str


def count_versions(
    base: Files,
    reference: Files,
    candidates: Mapping[str, Files],
    analyser: Analyser | None = None,
    suffixes: tuple[str, ...] = PYTHON_SUFFIXES,
) -> dict[str, Counts]:
    """Complexity and findings of each source's version of the code, and of the ground truth's.

    Each version has the files that the ground truth or that source touches, as they are after its patch; a file that
    only one of the two touches stands in the other as it is in ``base``. So what is compared is the code that either
    patch is about, and what a patch did not touch cancels out.

    - a deleted file counts nothing; a renamed one counts under its new name, and not under its old one;
    - a file with another suffix than ``suffixes`` is not measured, in any version;
    - a Python file that this Python does not parse before the patch, or in the ground truth's version, cannot be judged
      (it may be for another Python, or a test's broken example) and is left out of both versions, with a note;
    - any other file that a source changed so that it does not parse: its patch does not compile. Its counts are then
      of the files that parse, and its scores 0 whatever they are;
    - a file of more than ``LARGEST`` bytes in any of the three is data rather than code, and is left out of both
      versions, with a note; one that lizard fails on is left out of both complexities, with a note.

    ``base`` has every file that any version touches. The analyser runs once, over all versions.
    """
    sides = {source: _sides(base, reference, files, suffixes) for source, files in candidates.items()}
    versions = [version for side in sides.values() for version in (side.theirs, side.ours)]
    found = _findings(versions, analyser or Bandit())
    return {
        source: _counts(side, findings, findings_reference)
        for (source, side), findings, findings_reference in zip(sides.items(), found[::2], found[1::2], strict=True)
    }


@dataclass(frozen=True)
class _Sides:
    theirs: dict[str, bytes]
    ours: dict[str, bytes]
    large: list[str]
    unknown: list[str]
    broken: list[str]


def _counts(side: _Sides, findings: int, findings_reference: int) -> Counts:
    theirs = {path: complexity(path, content) for path, content in side.theirs.items()}
    ours = {path: complexity(path, content) for path, content in side.ours.items()}
    uncounted = sorted({path for version in (theirs, ours) for path, count in version.items() if count is None})
    why = {
        "too large": side.large,
        "not parsed before": side.unknown,
        "does not parse": side.broken,
        "complexity not counted": uncounted,
    }
    return Counts(
        compiles=not side.broken,
        complexity=sum(count or 0 for path, count in theirs.items() if path not in uncounted),
        complexity_reference=sum(count or 0 for path, count in ours.items() if path not in uncounted),
        findings=findings,
        findings_reference=findings_reference,
        note="; ".join(f"{reason}: {', '.join(paths)}" for reason, paths in why.items() if paths),
    )


def _sides(base: Files, reference: Files, files: Files, suffixes: tuple[str, ...]) -> _Sides:
    paths = sorted(
        path
        for path in {*base, *reference, *files}
        if is_measured(path, suffixes) and not base.get(path) == reference.get(path) == files.get(path)
    )
    large = [path for path in paths if any(len(each.get(path, b"")) > LARGEST for each in (base, reference, files))]
    small = [path for path in paths if path not in large]
    unknown = [path for path in small if not (_parses(path, base) and _parses(path, reference))]
    judged = [path for path in small if path not in unknown]
    broken = [path for path in judged if not _parses(path, files)]
    return _Sides(
        theirs={path: files[path] for path in judged if path in files and path not in broken},
        ours={path: reference[path] for path in judged if path in reference},
        large=large,
        unknown=unknown,
        broken=broken,
    )


def _parses(path: str, files: Files) -> bool:
    return path not in files or parses(path, files[path])


def _findings(versions: list[dict[str, bytes]], analyser: Analyser) -> list[int]:
    """How many findings each version has; equal versions are analysed once.

    Files stand in a folder per version under numbers, so that no name of a patch's says anything to the analyser.
    """
    keys = [tuple(sorted(version.items())) for version in versions]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    with tempfile.TemporaryDirectory(prefix="patchperf-") as scratch:
        for key, number in numbers.items():
            for place, (path, content) in enumerate(key):
                file = Path(scratch, str(number), f"{place}{Path(path).suffix}")
                file.parent.mkdir(exist_ok=True)
                file.write_bytes(content)
        found = [int(finding.path.partition("/")[0]) for finding in analyser.findings(Path(scratch))]
    return [found.count(numbers[key]) for key in keys]
