"""Grade every candidate of an instance, and say which of them have equal code."""

from pathlib import Path
from typing import TYPE_CHECKING

from patchperf import script
from patchperf.study.reproduction import Reproduction
from patchperf.study.rows import read_row
from patchperf.study.verdicts import judge_candidates

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with script.logged(snakemake), script.workbench(snakemake) as bench:
    instance = snakemake.wildcards.instance
    reproduction = Reproduction.model_validate_json(Path(snakemake.input.reproduction).read_bytes())
    journal = Path("results/journal/grades", instance)
    verdicts = judge_candidates(bench, reproduction, read_row(instance).candidates, snakemake.params.spec, journal)
    Path(snakemake.output[0]).write_text(verdicts.model_dump_json(indent=1), "utf-8")
