"""Run a notebook on the study's results."""

from pathlib import Path
from typing import TYPE_CHECKING

from patchperf import script
from patchperf.notebooks import run_notebook

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with script.logged(snakemake):
    run_notebook(Path(snakemake.input.notebook), Path("results"), *map(Path, snakemake.output))
