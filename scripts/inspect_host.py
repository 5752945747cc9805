"""Find out what can be measured on this machine: its kind, a working counter, how patches are confined."""

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from patchperf import script
from patchperf.config import cache_folder
from patchperf.counters.preflight import choose, emulation, in_sandbox
from patchperf.measure.envelope import fixed_variables
from patchperf.sandbox.local import DESCRIPTIONS, local_sandbox
from patchperf.study.measuring import Host

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with script.logged(snakemake), script.scratch(snakemake) as work:
    config = script.study(snakemake)
    sandbox = local_sandbox(config.sandbox, work)
    python = Path(sys.executable)
    readable = (Path(sys.prefix), Path(sys.base_prefix))
    cache = cache_folder(config)
    attempt = in_sandbox(sandbox, config.sandbox.limits, cache, python, readable, work=work)
    counter = choose(config.counter, attempt)
    logging.info("counter: %s", counter.reason)
    confined = sandbox.confinement.startswith("namespaces")
    warning = "" if confined else f"patches are not confined ({sandbox.reason}): {DESCRIPTIONS[sandbox.confinement]}"
    host = Host(
        host=snakemake.params.host,
        counter=counter,
        emulation=emulation(counter.backend, cache, python),
        environment=fixed_variables(snakemake.params.pool),
        confinement=sandbox.confinement,
        warning=warning,
    )
    Path(snakemake.output[0]).write_text(host.model_dump_json(indent=1), "utf-8")
