"""Put every instance in the ledger: kept, or excluded at one stage for one reason."""

from typing import TYPE_CHECKING

import pandas as pd

from patchperf import script
from patchperf.study.ledger import build_ledger
from patchperf.study.probe import read_probes

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with script.logged(snakemake):
    manifest = pd.read_parquet(snakemake.input.manifest)
    build_ledger(manifest, read_probes(snakemake.input.probes)).to_parquet(snakemake.output[0])
