"""Run all rounds of a measured case once more under an emulator that counts, each process in a journal as it ends."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from patchperf import script
from patchperf.measure.records import to_frame
from patchperf.study.measuring import count, counting_ground, read_plan

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with script.logged(snakemake), script.workbench(snakemake) as bench:
    plan = read_plan(bench, cases=snakemake.input.cases, probe=snakemake.input.probe, host=snakemake.input.host)
    journal = Path("results/journal", plan.instance_id, f"{plan.digest}.counting.jsonl")
    native = pd.read_parquet(snakemake.input.native)
    with counting_ground(bench.config):
        records, counted = count(bench, plan, native, journal, lambda step: logging.info("%s", step))
    to_frame(records).to_parquet(snakemake.output.records)
    counted = counted.model_copy(update={"job_seconds": script.job_seconds()})
    Path(snakemake.output.verdict).write_text(counted.model_dump_json(indent=1), "utf-8")
