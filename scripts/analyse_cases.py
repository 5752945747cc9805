"""Summarise every solution's replicates, and test every case's solutions for a difference."""

from typing import TYPE_CHECKING

from patchperf import script
from patchperf.analysis.cases import write_cases

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with script.logged(snakemake):
    params = snakemake.params
    write_cases(
        dict(snakemake.input.items()),
        dict(snakemake.output.items()),
        alpha=params.alpha,
        practical_threshold=params.practical_threshold,
        seed=params.seed,
    )
