"""What a job costs beside its own work, on a leased core group and with Snakemake's local executor.

    python benchmarks/executor_overhead.py [JOBS]

runs so many jobs that sleep for a moment, one after the other, with either executor, and prints the seconds from the
end of one job's work to the beginning of the next one's, and their ratio.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

JOBS = 10
SLEEP = 0.1

SNAKEFILE = """
rule all:
    input: expand("done/{{i}}", i=range({jobs}))
rule shell:
    output: "done/{{i}}"
    resources: core_group=1
    threads: workflow.cores
    {directive}
"""
WORK = f"import time; told = str(time.time()); time.sleep({SLEEP}); told += ' ' + str(time.time())"
DIRECTIVES = {
    "shell": f'shell: "(date +%s.%N; sleep {SLEEP}; date +%s.%N) >{{output}}"',
    "script": 'script: "work.py"',
}
EXECUTORS = {
    "local": ("--executor", "local"),
    "core-groups": ("--executor", "core-groups", "--core-groups-groups", "1", "--core-groups-lock-folder", "locks"),
}


def overheads(folder: Path, directive: str, executor: Sequence[str], jobs: int) -> list[float]:
    """Seconds between the work of each two jobs that follow on each other."""
    folder.mkdir()
    (folder / "Snakefile").write_text(SNAKEFILE.format(jobs=jobs, directive=directive), "utf-8")
    (folder / "work.py").write_text(f"{WORK}; open(snakemake.output[0], 'w').write(told)", "utf-8")
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "--scheduler", "greedy", "--quiet", "all", *executor]
    subprocess.run(command, cwd=folder, check=True)
    spans = sorted(tuple(map(float, file.read_text("utf-8").split())) for file in (folder / "done").iterdir())
    return [start - end for (_, end), (start, _) in pairwise(spans)]


def main(jobs: int) -> None:
    """Print one line per kind of job."""
    print(f"{'seconds per job':16} {'local':>8} {'core-groups':>12} {'ratio':>8}")
    for name, directive in DIRECTIVES.items():
        with TemporaryDirectory() as folder:
            local, leased = (
                statistics.median(overheads(Path(folder, executor), directive, arguments, jobs))
                for executor, arguments in EXECUTORS.items()
            )
        print(f"{name:16} {local:8.2f} {leased:12.2f} {leased / local:8.1f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else JOBS)
