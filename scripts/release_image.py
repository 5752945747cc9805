"""Remove an image that was pulled for the study, now that nothing more is run in it; any other image stays."""

import json
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from patchperf import script
from patchperf.study.image_bench import release_image

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

with script.logged(snakemake):
    image, removed = release_image(Path(snakemake.input.environment), script.study(snakemake))
    logging.info("image %s %s", image.reference, "is removed" if removed else "stays")
    Path(snakemake.output[0]).write_text(json.dumps({**image.model_dump(), "removed": removed}, indent=1), "utf-8")
