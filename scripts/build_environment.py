"""Build the virtual environment that some instances share."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from patchperf import script
from patchperf.config import cache_folder
from patchperf.errors import MachineError
from patchperf.sandbox.environments import build_environment
from patchperf.study.rows import read_row

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with script.logged(snakemake):
    config = script.study(snakemake)
    manifest = pd.read_parquet(snakemake.input.manifest)
    first, *others = manifest.instance_id[manifest.environment == snakemake.wildcards.digest]
    try:
        built = build_environment(read_row(first).environment, cache_folder(config), config.timeouts.install)
    except MachineError as error:
        users = f"{first} and {len(others)} more" if others else first
        raise MachineError(
            f"{users}: {error}; correct its entry in {config.environments.file or 'environments.file'}, or see to the "
            "connection to the package index"
        ) from None
    record = {"digest": built.digest, "interpreter": str(built.base_prefix), "packages": dict(built.packages)}
    Path(snakemake.output[0]).write_text(json.dumps(record, indent=1), "utf-8")
