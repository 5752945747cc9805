"""Have Snakemake write its report on everything that the rule `reported` lists."""

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from patchperf import script
from patchperf.errors import MachineError

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with script.logged(snakemake):
    settings = Path(snakemake.log[0]).with_suffix(".config.json")
    settings.write_text(json.dumps(snakemake.config), "utf-8")
    snakefile = Path(snakemake.scriptdir).parent / "Snakefile"
    command = [sys.executable, "-m", "snakemake", "--snakefile", snakefile, "--configfile", settings]
    command += ["--report", snakemake.output[0], "--", "reported"]
    done = subprocess.run(command, stdout=sys.stderr, stderr=sys.stderr, check=False)
    if done.returncode or not Path(snakemake.output[0]).exists():
        raise MachineError(f"snakemake --report failed, see {snakemake.log[0]}")
