"""What comes of a pass over a case."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from patchperf.errors import PatchperfError
from patchperf.measure.records import Record


@dataclass(frozen=True)
class CaseResult:
    """What came of a pass over a case: all records, void ones included, and why solutions were dropped, by their id.

    Whatever was measured of a dropped solution is void: a part of its rounds would be no fair sample.
    """

    records: list[Record]
    dropped: dict[str, UnmeasurableError]


class UnmeasurableError(PatchperfError):
    """A solution, and with a required one its case, that cannot be measured: the others go on.

    ``reason`` is a short code for the ledger, ``evidence`` one line, ``records`` what was measured of the case so far,
    void or not.
    """

    def __init__(self, instance_id: str, solution: str, reason: str, evidence: str, journal: Path) -> None:
        super().__init__(
            f"{instance_id}: solution {solution} cannot be measured: {evidence}; delete {journal} to try again"
        )
        self.instance_id = instance_id
        self.solution = solution
        self.reason = reason
        self.evidence = evidence
        self.records: list[Record] = []
