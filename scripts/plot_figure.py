"""Draw one figure from its table."""

import logging
from typing import TYPE_CHECKING

from patchperf import script
from patchperf.plots.figures import FIGURES
from patchperf.plots.style import save_figure
from patchperf.tables import read_table

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with script.logged(snakemake):
    logging.getLogger("fontTools").setLevel(logging.WARNING)
    plot = FIGURES[snakemake.params.figure]
    save_figure(plot.draw(read_table(snakemake.input[0], plot.schema)), *snakemake.output)
