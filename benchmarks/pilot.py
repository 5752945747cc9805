"""Whether a study counts what independent code counted: instructions per repetition at equal hash seeds.

    .venv/bin/python benchmarks/pilot.py PILOT_CSV [--results FOLDER] [--backend qemu] [--within 0.01]

PILOT_CSV has columns instance_id, source, instructions_seed0 and instructions_seed1; the study has at least two
replicates, whose hash seeds are 0 and 1. Prints one line per solution of the pilot that the study counted, and how many
cases agree in all their lines. "change" is what the hash seed does to the count in the pilot, "here" in the study;
"apart" is by how much the solution's ratio to its case's ground truth differs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd

SEEDS = (0, 1)


def counted(measurements: pd.DataFrame, backend: str) -> pd.DataFrame:
    """Instructions per repetition of every source, by instance_id, source and hash seed."""
    valid = measurements[(measurements.metric == "instructions") & (measurements.backend == backend)]
    valid = valid[~valid.void & valid.hash_seed.isin(SEEDS)].explode("sources")
    valid["count"] = valid.value / valid.repetitions
    return valid.pivot_table(index=["instance_id", "sources"], columns="hash_seed", values="count")


def compared(pilot: pd.DataFrame, ours: pd.DataFrame) -> pd.DataFrame:
    """One row per solution of the pilot: both counts at both seeds and their ratios less one; NaN where not counted.

    ``apart`` is by how much the solution's ratio to its case's ground truth differs, at the seed where it does more.
    """
    both = pilot.set_index(["instance_id", "source"]).join(ours.rename_axis(["instance_id", "source"]))
    for seed in SEEDS:
        both[f"differs_{seed}"] = both[seed] / both[f"instructions_seed{seed}"] - 1
        truth = both[f"differs_{seed}"].xs("ground_truth", level="source")
        of_truth = both.index.get_level_values("instance_id").map(truth)
        both[f"apart_{seed}"] = ((1 + both[f"differs_{seed}"]) / (1 + of_truth) - 1).abs()
    both["apart"] = both[["apart_0", "apart_1"]].max(axis=1)
    return both


def main() -> None:
    """Print the comparison."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("pilot", type=Path)
    parser.add_argument("--results", type=Path, default=Path("results"), help="of the study (%(default)s)")
    parser.add_argument("--backend", default="qemu", help="(%(default)s)")
    parser.add_argument("--within", type=float, default=0.01, help="what counts as agreement (%(default)s)")
    options = parser.parse_args()
    ours = counted(pd.read_parquet(options.results / "measurements.parquet"), options.backend)
    both = compared(pd.read_csv(options.pilot), ours)
    heads = ("seed 0", "seed 1", "change", "here", "apart")
    print(f"{'instance':24}{'source':20}{'pilot':>15}{'study':>15}", *(f"{head:>9}" for head in heads), sep="")
    for (instance, source), row in both.iterrows():
        cells = (f"{instance:24}{source:20}{row.instructions_seed0:>15,.0f}", f"{row[0]:>15,.0f}")
        change, here = row.instructions_seed1 / row.instructions_seed0 - 1, row[1] / row[0] - 1
        ratios = (row.differs_0, row.differs_1, change, here, row.apart)
        print(*cells, *(f"{ratio:>9.3%}" for ratio in ratios), sep="")
    far = both[["differs_0", "differs_1"]].abs().max(axis=1).dropna().groupby("instance_id").max()
    lacking = both[list(SEEDS)].isna().any(axis=1).sum()
    print(
        f"{(far <= options.within).sum()} of {len(far)} cases agree within {options.within:.1%} in all their solutions"
        f" at both seeds; {lacking} of {len(both)} solutions were not counted here"
    )


if __name__ == "__main__":
    main()
