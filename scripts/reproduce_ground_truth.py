"""Run the ground truth under the benchmark's native command, several times."""

from pathlib import Path
from typing import TYPE_CHECKING

from patchperf import script
from patchperf.study.reproduction import reproduce

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with script.logged(snakemake), script.workbench(snakemake) as bench:
    result = reproduce(bench, snakemake.params.spec)
    Path(snakemake.output[0]).write_text(result.model_dump_json(indent=1), "utf-8")
