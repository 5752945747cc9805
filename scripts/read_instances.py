"""Read and check all inputs; write the manifest, their origins, candidates, and a file per instance for later jobs."""

import logging
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from patchperf import script
from patchperf.study.inputs import load_inputs
from patchperf.study.manifest import build_manifest
from patchperf.study.origins import origins
from patchperf.study.rows import Row, write_row

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with script.logged(snakemake), script.scratch(snakemake) as work:
    config = script.study(snakemake)
    logging.info("patches run in: %s", script.confinement(config, work))
    inputs = load_inputs(config, script.folders(snakemake))
    rows = Path(snakemake.output.rows)
    rows.mkdir(parents=True, exist_ok=True)
    for instance in inputs.instances:
        name = instance.instance_id
        if name not in config.exclude:
            environment = inputs.environments.get(name)
            write_row(Row(instance=instance, candidates=inputs.candidates[name], environment=environment), rows)
    columns = ["instance_id", "source", "digest", "reported_resolved"]
    written = [
        (candidate.instance_id, candidate.source, candidate.digest, candidate.reported_resolved)
        for candidates in inputs.candidates.values()
        for candidate in candidates
    ]
    pd.DataFrame(written, columns=columns).astype({"reported_resolved": "boolean"}).to_parquet(
        snakemake.output.candidates
    )
    inputs.sources.to_parquet(snakemake.output.sources)
    for source in inputs.sources.to_dict("records"):
        logging.info("%s", ", ".join(f"{key}: {value}" for key, value in source.items()))
    origin = origins(inputs, config, script.folders(snakemake))
    Path(snakemake.output.origins).write_text(origin.model_dump_json(indent=1), "utf-8")
    manifest = build_manifest(inputs.instances, inputs.candidates, inputs.environments, config)
    manifest.to_parquet(snakemake.output.table)
