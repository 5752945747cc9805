"""How long the Quality Index takes for a large study: tables with intervals from ready-made patches.

    .venv/bin/python benchmarks/quality_scale.py [--instances 500] [--sources 20]

Prints the seconds of each part. The patches are drawn with a fixed seed; a fifth of them does not compile.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from patchperf.analysis.files import table_files
from patchperf.analysis.quality import TABLES, write_quality
from patchperf.quality.decay import Decay
from patchperf.quality.patches import scored


def drawn_patches(instances: int, sources: int, seed: int = 1) -> pd.DataFrame:
    """Patches of every source for every instance, before they are scored."""
    random = np.random.default_rng(seed)
    size = instances * sources
    reference = np.repeat(random.integers(1, 200, instances), sources)
    compiles = random.uniform(size=size) < 0.8
    return pd.DataFrame(
        {
            "instance_id": np.repeat([f"instance-{number:04}" for number in range(instances)], sources),
            "source": np.tile([f"source-{number:02}" for number in range(sources)], instances),
            "correct": compiles & (random.uniform(size=size) < np.tile(np.linspace(0.1, 0.6, sources), instances)),
            "compiles": compiles,
            "complexity": np.maximum(0, reference + random.integers(-3, 9, size)),
            "complexity_reference": reference,
            "findings": random.poisson(0.3, size),
            "findings_reference": 0.0,
            "lines": np.repeat(random.integers(1, 60, instances), sources).astype(float),
            "tokens_per_second": random.uniform(20, 120, size),
            "runtime": random.lognormal(0, 0.1, size),
            "note": "",
        }
    )


def main() -> None:
    """Score, rate and write, and say how long that took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=int, default=500)
    parser.add_argument("--sources", type=int, default=20)
    arguments = parser.parse_args()
    raw = drawn_patches(arguments.instances, arguments.sources)
    with tempfile.TemporaryDirectory(prefix="patchperf-") as scratch:
        start = time.perf_counter()
        patches = scored(raw, Decay(), "drawn patches")
        between = time.perf_counter()
        write_quality(patches, table_files(Path(scratch), *TABLES), efficiency="both", seed=1)
        end = time.perf_counter()
    print(f"{len(raw)} patches: scored in {between - start:.1f} s, all tables with intervals in {end - between:.1f} s")


if __name__ == "__main__":
    main()
