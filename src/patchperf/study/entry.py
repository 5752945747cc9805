"""The ledger's entry for one instance: kept, or excluded at one stage for one reason, with its evidence."""

from __future__ import annotations

from typing import Literal, NamedTuple

from patchperf.errors import InputError
from patchperf.study.probe import Probe
from patchperf.study.repeatability import CLASSES


class Entry(NamedTuple):
    """What the ledger says of an instance.

    ``repeatability`` is the class of a reason of the stage "repeatability", ``kind`` that of the first system call
    that decided at the stage "io"; both are empty elsewhere. ``evidence`` is the file that holds the whole story,
    ``detail`` one line of it.
    """

    stage: str
    status: Literal["kept", "excluded"]
    reason: str
    repeatability: str
    kind: str
    evidence: str
    detail: str


def unprobed(name: str, tests: int, *, selected: bool) -> Entry | None:
    """The entry of an instance that no probe is needed for; None for a selected one with exactly one F2P test."""
    if not selected:
        return _left("configuration", "excluded-by-user", "results/instances.parquet", "listed under exclude")
    if tests != 1:
        reason = "several-f2p-tests" if tests else "no-f2p-test"
        return _left("single-test", reason, f"results/instances/{name}.json", f"{tests} F2P tests")
    return None


def probed(probe: Probe) -> Entry:
    """The entry that a probe leads to; raises InputError for a reason of no class."""
    file = f"results/probes/{probe.instance_id}.json"
    if probe.kept:
        return Entry(probe.stage, "kept", "", "", "", file, probe.evidence)
    kind = (probe.io.kind or "") if probe.stage == "io" and probe.io else ""
    repeatability = ""
    if probe.stage == "repeatability":
        if probe.reason not in CLASSES:
            raise InputError(f"{file}: no class of repeatability has the reason {probe.reason!r}: delete it, run again")
        repeatability = CLASSES[probe.reason]
        if repeatability == "not reproducible" and probe.single_point is None:
            file = f"results/reproductions/{probe.instance_id}.json"
    return Entry(probe.stage, "excluded", probe.reason, repeatability, kind, file, probe.evidence)


def unmeasured(name: str, reason: str, detail: str) -> Entry:
    """The entry of a case that could not be measured."""
    return _left("measurement", reason, f"results/measurements/{name}.json", detail)


def _left(stage: str, reason: str, evidence: str, detail: str) -> Entry:
    return Entry(stage, "excluded", reason, "", "", evidence, detail)
