"""How long outcomes take for a large study: the harness's reports read, tables and figures made.

    .venv/bin/python benchmarks/outcomes_scale.py [--instances 500] [--sources 20]

Writes reports as SWE-bench's harness does (drawn with a fixed seed, some 60 tests each), then prints the seconds of
each part, and of reading per report.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np

from patchperf.analysis.figures import write_figure
from patchperf.analysis.files import table_files
from patchperf.analysis.outcomes import JUDGED, write_judged
from patchperf.plots.figures import OUTCOME_FIGURES
from patchperf.study.given_outcomes import read_given

PATCH = "diff --git a/pkg/m.py b/pkg/m.py\n--- a/pkg/m.py\n+++ b/pkg/m.py\n@@ -1 +1 @@\n-a\n+b\n"


def write_reports(folder: Path, instances: int, sources: int, seed: int = 1) -> None:
    """A folder per source and instance, with a report and a patch."""
    random = np.random.default_rng(seed)
    for source in range(sources):
        for number in range(instances):
            name = f"owner__project-{number % 12}-{number}"
            totals = (int(random.integers(1, 4)), int(random.integers(0, 120)))
            passed = [total if random.uniform() < 0.7 else int(random.integers(0, total + 1)) for total in totals]
            tests = [[f"tests/test_m.py::test_{one}" for one in range(total)] for total in totals]
            lists = {
                key: {"success": names[:count], "failure": names[count:]}
                for key, names, count in zip(("FAIL_TO_PASS", "PASS_TO_PASS"), tests, passed, strict=True)
            }
            report = {"patch_exists": True, "resolved": tuple(passed) == totals, "tests_status": lists}
            place = folder / f"source-{source:02}" / name
            place.mkdir(parents=True)
            (place / "report.json").write_text(json.dumps({name: report}), "utf-8")
            (place / "patch.diff").write_text(PATCH, "utf-8")


def main() -> None:
    """Write reports, read them, make tables and figures, and say how long that took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=int, default=500)
    parser.add_argument("--sources", type=int, default=20)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="patchperf-") as scratch:
        reports, out = Path(scratch) / "reports", Path(scratch) / "out"
        write_reports(reports, arguments.instances, arguments.sources)
        start = time.perf_counter()
        outcomes = read_given([str(reports)], {})
        read = time.perf_counter()
        files = table_files(out, *JUDGED)
        write_judged(outcomes, files, {"source-01": "source-00"})
        tabled = time.perf_counter()
        for name, plot in OUTCOME_FIGURES.items():
            write_figure(name, files[plot.table], *(out / f"{name}.{kind}" for kind in ("pdf", "svg")))
        end = time.perf_counter()
    count = len(outcomes)
    print(f"{count} reports read in {read - start:.1f} s ({1000 * (read - start) / count:.2f} ms each)")
    print(f"tables in {tabled - read:.1f} s, figures in {end - tabled:.1f} s, all in {end - start:.1f} s")


if __name__ == "__main__":
    main()
