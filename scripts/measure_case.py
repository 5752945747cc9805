"""Calibrate a case and run all its solutions' replicates, interleaved; every replicate is in the journal as it ends."""

import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING

from patchperf import script
from patchperf.measure.records import to_frame
from patchperf.study.measuring import measure, measuring_ground, read_plan

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with script.logged(snakemake):
    asked = time.time()
    with measuring_ground(script.study(snakemake), logging.info) as ground:
        waited = time.time() - asked
        with script.workbench(snakemake, ground.placement) as bench:
            files = {name: snakemake.input[name] for name in ("cases", "probe", "host")}
            plan = read_plan(bench, ground=ground, **files)
            journal = Path("results/journal", plan.instance_id, f"{plan.digest}.jsonl")
            records, measured = measure(bench, plan, journal, lambda step: logging.info("%s", step))
    to_frame(records).to_parquet(snakemake.output.records)
    measured = measured.model_copy(update={"job_seconds": script.job_seconds(), "waiting_seconds": waited})
    Path(snakemake.output.verdict).write_text(measured.model_dump_json(indent=1), "utf-8")
