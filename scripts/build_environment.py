"""Build the virtual environment that some instances share, or have their image and look into it."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from patchperf import script
from patchperf.config import cache_folder
from patchperf.errors import MachineError
from patchperf.sandbox.environments import EnvironmentSpec, build_environment
from patchperf.sandbox.image_spec import ImageSpec
from patchperf.study.image_bench import survey_image
from patchperf.study.rows import read_row

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake


def built(spec: EnvironmentSpec, users: str) -> dict[str, Any]:
    """The record of a virtual environment."""
    try:
        environment = build_environment(spec, cache_folder(config), config.timeouts.install)
    except MachineError as error:
        raise MachineError(
            f"{users}: {error}; correct its entry in {config.environments.file or 'environments.file'}, or see to the "
            "connection to the package index"
        ) from None
    return {
        "digest": environment.digest,
        "interpreter": str(environment.base_prefix),
        "packages": dict(environment.packages),
    }


with script.logged(snakemake), script.scratch(snakemake) as work:
    config = script.study(snakemake)
    manifest = pd.read_parquet(snakemake.input.manifest)
    first, *others = manifest.instance_id[manifest.environment == snakemake.wildcards.digest]
    spec = read_row(first).environment
    if isinstance(spec, ImageSpec):
        record = survey_image(spec, config, work).model_dump(mode="json")
    else:
        record = built(spec, f"{first} and {len(others)} more" if others else first)
    Path(snakemake.output[0]).write_text(json.dumps(record, indent=1), "utf-8")
