"""``patchperf outcomes``: what became of patches, from harnesses' reports or tables, without running anything."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from patchperf.cli.errors import errors_in_one_line
from patchperf.errors import InputError

if TYPE_CHECKING:
    from patchperf.study.instance import Instance


def outcomes(
    given: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]PATH...",
            help="Folders of a harness's reports, or tables (CSV, Parquet); NAME is the source.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option("--output", "-o", metavar="OUT", help="A folder.", show_default=False)],
    *,
    dataset: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", help="The benchmark's rows, for the number of tests and repositories.", show_default=False
        ),
    ] = None,
    previous: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=EARLIER", help="Two runs of one source, for what changed between them.", show_default=False
        ),
    ] = None,
) -> None:
    """Tell resolved and failed patches apart: Resolved, Breaking Resolved, Partially Resolved, Work in Progress, …

    Writes, as CSV and LaTeX, the tables outcomes, outcome_rates, outcome_flows, outcome_changes and agreement, and
    their figures as PDF and SVG; see docs/outcomes.md. A folder is what SWE-bench's or SWE-bench-Live's evaluation left
    (a report.json for each instance); a table has instance_id, source, and outcome or the numbers of tests. Nothing is
    run.
    """
    with errors_in_one_line():
        from patchperf.analysis.figures import write_figure  # noqa: PLC0415  (seconds that others save)
        from patchperf.analysis.files import require_others, table_files  # noqa: PLC0415
        from patchperf.analysis.outcomes import JUDGED, write_judged  # noqa: PLC0415
        from patchperf.config import Dataset  # noqa: PLC0415
        from patchperf.plots.figures import OUTCOME_FIGURES  # noqa: PLC0415
        from patchperf.study.datasets import load_instances  # noqa: PLC0415
        from patchperf.study.given_outcomes import path_of, read_given  # noqa: PLC0415

        files = table_files(out, *JUDGED)
        require_others(out, files.values(), [*map(path_of, given), *(dataset or [])])
        instances: dict[str, Instance] = {}
        for file in dataset or []:
            for one in load_instances(Dataset(name="given", path=str(file)), (Path(),)):
                if instances.setdefault(one.instance_id, one) != one:
                    raise InputError(f"{file}: has another {one.instance_id} than the dataset before it: name one")
        table = read_given(given, instances)
        earlier = _previous(previous or [], set(table["source"]))
        write_judged(table, files, earlier)
        for name, plot in OUTCOME_FIGURES.items():
            write_figure(name, files[plot.table], *(out / f"figure_{name}.{kind}" for kind in ("pdf", "svg")))
        typer.echo(f"tables and figures are in {out}")


def _previous(pairs: list[str], sources: set[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in pairs:
        name, equals, earlier = pair.partition("=")
        if not equals or name == earlier or not {name, earlier} <= sources:
            raise InputError(f"--previous {pair}: write NAME=EARLIER with two of {', '.join(sorted(sources))}")
        if name in found or found.get(earlier) == name:
            raise InputError(f"--previous {pair}: {name} has an earlier run already, or is that of {earlier}")
        found[name] = earlier
    return found
