"""State the findings of the study on this data."""

from typing import TYPE_CHECKING

from patchperf import script
from patchperf.analysis.findings import write_findings

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with script.logged(snakemake):
    write_findings(dict(snakemake.input.items()), snakemake.output[0])
