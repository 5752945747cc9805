"""Put all cases' measurements into one table, and cases that could not be measured into the ledger."""

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from patchperf import script
from patchperf.study.measuring import Measured, collect

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with script.logged(snakemake):
    cases, corpus = (pd.read_parquet(path) for path in (snakemake.input.cases, snakemake.input.corpus))
    measured, counted = (
        [Measured.model_validate_json(Path(path).read_bytes()) for path in snakemake.input.get(verdicts, [])]
        for verdicts in ("verdicts", "counted")
    )
    frames = [pd.read_parquet(path) for path in (*snakemake.input.records, *snakemake.input.get("counts", []))]
    measurements, ledger = collect(cases, corpus, measured, counted, frames)
    measurements.to_parquet(snakemake.output.measurements)
    ledger.to_parquet(snakemake.output.ledger)
