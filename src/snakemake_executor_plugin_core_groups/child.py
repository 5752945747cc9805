"""Snakemake for one leased job, which ends with the Snakemake that leased.

    python -m snakemake_executor_plugin_core_groups.child PID -m snakemake …

It tells what it has to tell to the descriptor that PATCHPERF_REPORT names; what the job's commands print goes where
that of any job goes. If it did not end with its workflow, the next run would work beside it in the same folder.
"""

import os
import runpy
import sys

from patchperf.parent import end_with_parent
from snakemake_executor_plugin_core_groups.processes import REPORT


def main() -> None:
    """Run Snakemake with the arguments behind ``-m snakemake``."""
    end_with_parent(int(sys.argv[1]))
    del sys.argv[1:4]
    report = int(os.environ.pop(REPORT))
    os.set_inheritable(report, False)
    sys.stderr = os.fdopen(report, "w", encoding="utf-8", errors="backslashreplace")
    runpy.run_module("snakemake", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
