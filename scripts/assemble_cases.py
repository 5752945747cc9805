"""Put the correct candidates of every kept instance together as its distinct solutions."""

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from patchperf import script
from patchperf.study.cases import build_cases, build_outcomes, read_verdicts
from patchperf.study.host import Host
from patchperf.study.image_bench import image_ids
from patchperf.study.probe import read_probes

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

CONDITIONS = {"host", "emulation", "environment", "confinement"}

with script.logged(snakemake):
    corpus = pd.read_parquet(snakemake.input.corpus)
    kept = corpus.instance_id[corpus.status == "kept"].tolist()
    verdicts = read_verdicts(snakemake.input.grades)
    host = Host.model_validate_json(Path(snakemake.input.host).read_bytes())
    settings = Path(snakemake.input.protocol).read_text("utf-8")
    protocol = [settings, host.counter.backend, host.model_dump(mode="json", include=CONDITIONS)]
    images = image_ids(kept) if snakemake.input.get("images") else None
    cases = build_cases(kept, verdicts, read_probes(snakemake.input.get("probes", [])), protocol, images)
    cases.to_parquet(snakemake.output.cases)
    repos = pd.read_parquet(snakemake.input.manifest).set_index("instance_id")["repo"].to_dict()
    build_outcomes(verdicts, cases, repos).to_parquet(snakemake.output.outcomes)
