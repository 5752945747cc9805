"""Draw one figure from its table."""

from typing import TYPE_CHECKING

from patchperf import script
from patchperf.analysis.figures import write_figure

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with script.logged(snakemake):
    write_figure(snakemake.params.figure, snakemake.input[0], *snakemake.output)
