"""Write how many predictions each source has, what became of every candidate, and whether its authors report that."""

from typing import TYPE_CHECKING

from patchperf import script
from patchperf.analysis.outcomes import write_outcomes

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with script.logged(snakemake):
    files = dict(snakemake.input.items()), dict(snakemake.output.items())
    write_outcomes(*files, snakemake.params.previous)
