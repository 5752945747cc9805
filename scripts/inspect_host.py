"""Find out what can be measured on this machine: its kind, a working counter, how patches are confined."""

import logging
import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from patchperf import script
from patchperf.config import cache_folder
from patchperf.counters.preflight import choose, emulation, in_sandbox
from patchperf.measure.envelope import fixed_variables
from patchperf.sandbox.local import DESCRIPTIONS, local_sandbox
from patchperf.software import software
from patchperf.study.host import Host
from patchperf.study.image_bench import attempt_in_image

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with script.logged(snakemake), script.scratch(snakemake) as work:
    config = script.study(snakemake)
    python = Path(sys.executable)
    cache = cache_folder(config)
    if config.sandbox.kind == "docker":
        images = snakemake.input.get("images", [])
        attempt = attempt_in_image(images, config, script.folders(snakemake), work)
        confinement, warning = "docker", ""
    else:
        sandbox = local_sandbox(config.sandbox, work)
        readable = (Path(sys.prefix), Path(sys.base_prefix))
        attempt = in_sandbox(sandbox, config.sandbox.limits, cache, python, readable, work=work)
        confinement = sandbox.confinement
        confined = confinement.startswith("namespaces")
        warning = "" if confined else f"patches are not confined ({sandbox.reason}): {DESCRIPTIONS[confinement]}"
    counter = choose(config.counter, attempt)
    logging.info("counter: %s", counter.reason)
    host = Host(
        host=snakemake.params.host,
        counter=counter,
        emulation=emulation(counter.backend, cache, python),
        environment=fixed_variables(snakemake.params.pool),
        confinement=confinement,
        kernel=platform.release(),
        software=software(),
        warning=warning,
    )
    Path(snakemake.output[0]).write_text(host.model_dump_json(indent=1), "utf-8")
