"""Count complexity and findings of every candidate of an instance."""

from pathlib import Path
from typing import TYPE_CHECKING

from patchperf import script
from patchperf.study.quality import count_patches
from patchperf.study.rows import read_row

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with script.logged(snakemake), script.workbench(snakemake) as bench:
    candidates = read_row(snakemake.wildcards.instance).candidates
    counted = count_patches(bench, candidates, snakemake.params.spec, bench.config.quality.severity)
    Path(snakemake.output[0]).write_text(counted.model_dump_json(indent=1), "utf-8")
