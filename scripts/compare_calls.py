"""Compare every solution's first call with its repetitions."""

from typing import TYPE_CHECKING

from patchperf import script
from patchperf.analysis.warmth import write_warmth

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with script.logged(snakemake):
    write_warmth(dict(snakemake.input.items()), dict(snakemake.output.items()), snakemake.params.collapse)
