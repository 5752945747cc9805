"""Write the ledger of all instances, the funnel that it counts up to, and what its two probing filters excluded."""

from typing import TYPE_CHECKING

from patchperf import script
from patchperf.analysis.ledger import write_ledger

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with script.logged(snakemake):
    write_ledger(dict(snakemake.input.items()), dict(snakemake.output.items()))
