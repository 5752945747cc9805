"""Calibrate a case and run all its solutions' replicates, interleaved; every replicate is in the journal as it ends."""

import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from patchperf import script
from patchperf.config import cache_folder
from patchperf.measure.records import to_frame
from patchperf.sandbox.locks import exclusive
from patchperf.study.cases import read_case
from patchperf.study.measuring import Host, measure, plan_case
from patchperf.study.probe import read_probes
from patchperf.study.rows import read_row

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with script.logged(snakemake), script.workbench(snakemake) as bench:
    instance = snakemake.wildcards.instance
    point = read_probes([snakemake.input.probe])[instance].single_point
    host = Host.model_validate_json(Path(snakemake.input.host).read_bytes())
    cache = cache_folder(bench.config)
    case = read_case(Path(snakemake.input.cases), instance)
    plan = plan_case(bench, read_row(instance), point, case, host=host, cache=cache)
    journal = Path("results/journal", instance, f"{plan.digest}.jsonl")
    asked = time.time()
    with exclusive(cache / "measuring.lock"):
        waited = time.time() - asked
        records, measured = measure(bench, plan, journal, lambda step: logging.info("%s", step))
    to_frame(records).to_parquet(snakemake.output.records)
    age = time.time() - psutil.Process().create_time()
    measured = measured.model_copy(update={"job_seconds": age, "waiting_seconds": waited})
    Path(snakemake.output.verdict).write_text(measured.model_dump_json(indent=1), "utf-8")
