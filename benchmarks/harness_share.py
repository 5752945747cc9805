"""How much of a measuring job is the harness's own: everything but the tested project's processes.

    python benchmarks/harness_share.py RESULTS [INSTANCE ...]

reads the journals of a finished study, and prints for each case the job's wall time and the shares of it: the
measured loops, warm-ups, the project's own start-up and end, trials and calibration, and the rest, which is the harness
(a script's start, making trees, sandboxes, journals, our module in the measured process).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from patchperf.measure.journal import Entry, read_journal
from patchperf.study.measuring import Measured


@dataclass
class Shares:
    """Seconds of one measuring job."""

    job: float
    loops: float = 0.0
    warmup: float = 0.0
    project: float = 0.0
    calibration: float = 0.0

    @property
    def harness(self) -> float:
        """What is left."""
        return self.job - self.loops - self.warmup - self.project - self.calibration

    def add(self, entry: Entry) -> None:
        """Count one process of the case."""
        report = entry.report
        if report is None:
            return
        own = (report.harness_ns or 0) / 1e9
        warmup = sum(report.warmup_ns) / 1e9
        timed = sum(ns for _, ns in (*report.batches, *report.steps)) / 1e9
        loop = (report.wall_ns or 0) / 1e9 if report.mode == "replicate" else 0.0
        self.loops += loop
        self.warmup += warmup
        self.calibration += timed
        self.project += entry.seconds - own - warmup - timed - loop


def shares(results: Path, instance: str) -> Shares:
    """The shares of one case's job."""
    measured = Measured.model_validate_json((results / "measurements" / f"{instance}.json").read_bytes())
    found = Shares(measured.job_seconds - measured.waiting_seconds)
    for entry in read_journal(results / "journal" / instance / f"{measured.case}.jsonl", measured.case):
        found.add(entry)
    return found


def main(results: Path, instances: list[str]) -> None:
    """Print one line per case."""
    names = instances or sorted(path.stem for path in (results / "measurements").glob("*.json"))
    print(f"{'case':40} {'job s':>8} {'loops':>7} {'warm-up':>8} {'project':>8} {'calibr.':>8} {'harness':>8}")
    for name in names:
        found = shares(results, name)
        parts = (found.loops, found.warmup, found.project, found.calibration, found.harness)
        print(f"{name:40} {found.job:8.1f} " + " ".join(f"{part / found.job:7.1%}" for part in parts))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
