"""``patchperf quality``: the Quality Index and its tables, from any benchmark's table of patches."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from patchperf.cli.errors import errors_in_one_line
from patchperf.errors import InputError
from patchperf.quality.dimensions import GIVEN, dimensions, wrong_weights


class _Efficiency(StrEnum):
    GENERATION = "generation"
    RUNTIME = "runtime"
    BOTH = "both"
    NONE = "none"


class _Formula(StrEnum):
    RECIPROCAL = "reciprocal"
    EXPONENTIAL = "exponential"
    LINEAR = "linear"


class _Severity(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


def quality(
    patches: Annotated[
        Path, typer.Argument(metavar="PATCHES", help="A CSV file with a row per patch.", show_default=False)
    ],
    out: Annotated[Path, typer.Option("--output", "-o", metavar="OUT", help="A folder.", show_default=False)],
    *,
    sources: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A CSV file with sources' speeds and sizes.", show_default=False),
    ] = None,
    efficiency: Annotated[_Efficiency, typer.Option(help="What the dimension efficiency is.")] = _Efficiency.GENERATION,
    scheme: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME:DIMENSION=WEIGHT,…",
            help="A further scheme of weights, e.g. mine:correctness=0.7,security=0.3.",
            show_default=False,
        ),
    ] = None,
    decay: Annotated[_Formula, typer.Option(help="How a score falls beyond the ground truth.")] = _Formula.RECIPROCAL,
    half: Annotated[float, typer.Option(help="The relative excess with the score 1/2.")] = 1.0,
    severity: Annotated[_Severity, typer.Option(help="Findings in reports count from here on.")] = _Severity.LOW,
    seed: Annotated[int, typer.Option(help="Of the bootstrap.")] = 1,
) -> None:
    """Rate sources by correctness, maintainability, security and efficiency of their patches.

    Writes, as CSV and LaTeX, the tables quality, quality_patches, mcnemar, quality_weights, correctness_by_size and
    generation_speed, and their figures as PDF and SVG.
    PATCHES needs the columns instance_id, source and correct, and complexity and findings beside the
    ground truth's; see docs/quality.md. Nothing is run.
    """
    with errors_in_one_line():
        from pydantic import ValidationError  # noqa: PLC0415  (seconds that others save)

        from patchperf.analysis.figures import write_figure  # noqa: PLC0415
        from patchperf.analysis.files import require_others, table_files  # noqa: PLC0415
        from patchperf.analysis.quality import require_efficiency, write_quality  # noqa: PLC0415
        from patchperf.plots.figures import QUALITY_FIGURES  # noqa: PLC0415
        from patchperf.quality.decay import Decay  # noqa: PLC0415
        from patchperf.quality.patches import read_patches, read_speeds  # noqa: PLC0415
        from patchperf.quality.schema import TABLES  # noqa: PLC0415
        from patchperf.quality.security import SpotBugs  # noqa: PLC0415

        try:
            chosen = Decay(formula=decay.value, half=half)
        except ValidationError:
            raise InputError(f"--half {half:g}: name a finite number above 0") from None
        if seed < 0:
            raise InputError(f"--seed {seed}: name a whole number of 0 or more")
        user = _schemes(scheme or [], dimensions(efficiency.value))
        require_others(out, table_files(out, *TABLES).values(), [patches, *([sources] if sources else [])])
        table = read_patches(patches, chosen, SpotBugs(severity.value))
        speeds = None
        if sources is not None:
            speeds = read_speeds(sources, set(table["source"]))
        require_efficiency(table, speeds, efficiency.value)
        write_quality(
            table,
            table_files(out, *TABLES),
            efficiency=efficiency.value,
            seed=seed,
            user=user,
            speeds=speeds,
        )
        for name, plot in QUALITY_FIGURES.items():
            write_figure(name, out / f"{plot.table}.csv", *(out / f"figure_{name}.{kind}" for kind in ("pdf", "svg")))
        typer.echo(f"tables and figures are in {out}")


def _schemes(texts: list[str], rated: tuple[str, ...]) -> dict[str, dict[str, float]]:
    """Weights by dimension, by the scheme's name; raises InputError."""
    found: dict[str, dict[str, float]] = {}
    for text in texts:
        name, _, rest = text.partition(":")
        try:
            weights = [(dimension, float(weight)) for dimension, weight in (one.split("=") for one in rest.split(","))]
        except ValueError:
            weights = []
        if not weights or not name.strip():
            raise InputError(f"--scheme {text}: write it as NAME:DIMENSION=WEIGHT,DIMENSION=WEIGHT")
        if not name.isprintable() or name != name.strip():
            raise InputError(f"--scheme {text}: a name has no blanks around it, and can be printed")
        if name in found or name in GIVEN:
            raise InputError(f"--scheme {text}: {name} is a scheme already: give each a name of its own")
        found[name] = dict(weights)
        if len(found[name]) < len(weights):
            raise InputError(f"--scheme {text}: a dimension stands in it twice: give it one weight")
        if wrong := wrong_weights(found[name], rated):
            raise InputError(f"--scheme {text}: {wrong}")
    return found
