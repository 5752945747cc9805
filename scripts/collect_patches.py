"""Put what was counted of all candidates into one table."""

from typing import TYPE_CHECKING

from patchperf import script
from patchperf.study.counted_patches import counts_table

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with script.logged(snakemake):
    counts_table(snakemake.input.counted).to_parquet(snakemake.output[0])
