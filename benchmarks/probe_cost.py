"""What the probe costs, and how much of it is strace's.

    python benchmarks/probe_cost.py CONFIG [INSTANCE ...]

run in the folder of a study whose probes are there, runs the decorated test of each instance once more without strace,
under the same sandbox, and prints seconds: the ground truth's k native runs, the probe's commands, the decorated run
with and without strace. Instances that were excluded before their decorated run are left out.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

from snakemake.common.configfile import load_configfile
from snakemake.iocontainers import Wildcards

from patchperf import script
from patchperf.study.decorated import ProbedTest, run_decorated
from patchperf.study.probe import Probe
from patchperf.study.reproduction import Reproduction
from patchperf.study.reused_tree import ReusedTree
from patchperf.study.workbench import Workbench

ROOT = Path(__file__).resolve().parent.parent


def untraced_seconds(bench: Workbench, probe: Probe) -> float:
    """Wall time of the decorated test, run as the probe runs it but without strace."""
    assert probe.single_point is not None
    test = ProbedTest(bench, probe.single_point, ReusedTree(bench, "untraced", bench.instance.patch))
    mode = {"mode": "probe", "warmup": bench.config.warmup, "marker": "0" * 32}
    return run_decorated(test, mode).done.seconds


def main(config: str, names: list[str]) -> None:
    """Print one line per instance and the sums."""
    settings = load_configfile(config)
    print(f"{'instance':34} {'native':>8} {'probe':>8} {'traced':>8} {'untraced':>8} {'strace':>7}")
    sums = [0.0] * 4
    chosen = names or sorted(path.stem for path in Path("results/probes").glob("*.json"))
    for name in chosen:
        probe = Probe.model_validate_json(Path(f"results/probes/{name}.json").read_bytes())
        native = Reproduction.model_validate_json(Path(f"results/reproductions/{name}.json").read_bytes())
        traced = next((run.seconds for run in probe.runs if "traced" in run.what), None)
        if traced is None:
            continue
        job = SimpleNamespace(
            config=settings,
            rule="probe_cost",
            scriptdir=str(ROOT / "scripts"),
            wildcards=Wildcards(fromdict={"instance": name}),
        )
        with script.workbench(job) as bench:
            untraced = untraced_seconds(bench, probe)
        row = [sum(run.seconds for run in native.runs), sum(run.seconds for run in probe.runs), traced, untraced]
        sums = [a + b for a, b in zip(sums, row, strict=True)]
        print(f"{name:34} " + " ".join(f"{value:8.2f}" for value in row) + f" {1 - untraced / traced:7.1%}")
    native_sum, probe_sum, traced_sum, untraced_sum = sums
    print(f"{'sum':34} " + " ".join(f"{value:8.2f}" for value in sums) + f" {1 - untraced_sum / traced_sum:7.1%}")
    print(f"strace's share of all of it: {(traced_sum - untraced_sum) / (native_sum + probe_sum):.1%}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
