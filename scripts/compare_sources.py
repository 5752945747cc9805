"""Compare the sources: ratios case by case, speedups over the corpus, votes for the fastest solution."""

from typing import TYPE_CHECKING

from patchperf import script
from patchperf.analysis.comparisons import write_comparisons

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with script.logged(snakemake):
    write_comparisons(dict(snakemake.input.items()), dict(snakemake.output.items()), snakemake.params.seed)
