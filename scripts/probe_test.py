"""Probe an instance's one F2P test: a single point, repeatable in process, without I/O?"""

from pathlib import Path
from typing import TYPE_CHECKING

from patchperf import script
from patchperf.study.probe import probe
from patchperf.study.reproduction import Reproduction

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with script.logged(snakemake), script.workbench(snakemake) as bench:
    reproduction = Reproduction.model_validate_json(Path(snakemake.input.reproduction).read_bytes())
    trace = Path("results/traces", f"{snakemake.wildcards.instance}.strace")
    trace.parent.mkdir(parents=True, exist_ok=True)
    result = probe(bench, reproduction, snakemake.params.spec, trace)
    Path(snakemake.output[0]).write_text(result.model_dump_json(indent=1), "utf-8")
