"""Write the index of all cases and the page of each."""

from pathlib import Path
from typing import TYPE_CHECKING

from patchperf import script
from patchperf.pages.site import write_pages

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with script.logged(snakemake):
    write_pages(dict(snakemake.input.items()), Path(snakemake.output[0]))
