"""State the findings of the study on this data."""

from pathlib import Path
from typing import TYPE_CHECKING

from patchperf import script
from patchperf.stats import schema
from patchperf.stats.findings import findings
from patchperf.tables import read_table

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with script.logged(snakemake):
    tables = {name: read_table(path, getattr(schema, name.upper())) for name, path in snakemake.input.items()}
    Path(snakemake.output[0]).write_text(findings(tables).model_dump_json(indent=2) + "\n", "utf-8")
