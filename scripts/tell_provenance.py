"""Tell what the study's numbers rest on, as a record and as a page."""

from pathlib import Path
from typing import TYPE_CHECKING

from patchperf import script
from patchperf.pages.site import write_provenance

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with script.logged(snakemake):
    write_provenance(Path("results"), Path(snakemake.output.record), Path(snakemake.output.page))
