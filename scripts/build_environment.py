"""Build the virtual environment that some instances share."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from patchperf import script
from patchperf.sandbox.environments import build_environment
from patchperf.study.inputs import cache_folder
from patchperf.study.rows import read_row

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with script.logged(snakemake):
    manifest = pd.read_parquet(snakemake.input.manifest)
    first = manifest.instance_id[manifest.environment == snakemake.wildcards.digest].iloc[0]
    built = build_environment(read_row(first).environment, cache_folder(script.study(snakemake)))
    record = {"digest": built.digest, "interpreter": str(built.base_prefix), "packages": dict(built.packages)}
    Path(snakemake.output[0]).write_text(json.dumps(record, indent=1), "utf-8")
