"""Rate the sources by the Quality Index."""

from typing import TYPE_CHECKING

from patchperf import script
from patchperf.analysis.quality import write_study_quality

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with script.logged(snakemake):
    settings = script.study(snakemake)
    write_study_quality(dict(snakemake.input.items()), dict(snakemake.output.items()), settings.quality, settings.seed)
