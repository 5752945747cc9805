"""The whole analysis, from raw records alone: the same stages as the workflow's rules, in their order."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from patchperf.analysis.cases import write_cases
from patchperf.analysis.comparisons import write_comparisons
from patchperf.analysis.figures import write_figure
from patchperf.analysis.files import Files, table_files
from patchperf.analysis.findings import FINDINGS_TABLES, write_findings
from patchperf.analysis.ledger import write_ledger
from patchperf.analysis.outcomes import TABLES as OUTCOME_TABLES
from patchperf.analysis.outcomes import write_outcomes
from patchperf.analysis.quality import write_study_quality
from patchperf.analysis.records import check_records, read_settings
from patchperf.analysis.warmth import write_warmth
from patchperf.errors import InputError
from patchperf.pages.site import write_pages, write_provenance
from patchperf.pages.study import OPTIONAL
from patchperf.pages.study import TABLES as SHOWN
from patchperf.plots.figures import FIGURES, QUALITY_FIGURES
from patchperf.quality.schema import TABLES as QUALITY_TABLES


def recompute(raw: Path, out: Path) -> None:
    """Make tables, figures, findings, provenance and pages from the records in ``raw``; ``out`` is new or empty.

    Equal records give the bytes that the workflow writes. ``out`` is there as a whole, or as it was. Raises InputError
    for records that are missing or unreadable, and where ``out`` has anything in it or cannot be made.
    """
    check_records(raw)
    with _made_whole(out) as folder:
        tables = write_tables(raw, folder / "tables")
        write_findings({name: tables[name] for name in FINDINGS_TABLES}, folder / "findings.json")
        write_site(raw, tables, folder)
        for name, plot in (FIGURES | QUALITY_FIGURES).items():
            files = [folder / "figures" / f"{name}.{kind}" for kind in ("svg", "pdf")]
            write_figure(name, tables[plot.table], *files)


def write_tables(raw: Path, folder: Path) -> Files:
    """Write all tables from the records in ``raw``; returns the CSV file of each."""
    settings = read_settings(raw)
    folder.mkdir(parents=True)

    def records(*names: str) -> Files:
        return {name: raw / f"{name}.parquet" for name in names}

    def made(*names: str) -> Files:
        return {name: folder / f"{name}.csv" for name in names}

    write_ledger(records("ledger"), table_files(folder, "ledger", "funnel", "repeatability", "io"))
    write_outcomes(records("sources", "outcomes"), table_files(folder, *OUTCOME_TABLES), settings.previous)
    measured = records("ledger", "cases", "measurements")
    write_warmth(measured, table_files(folder, "warmth"), settings.collapse)
    write_cases(
        {**measured, **made("warmth")},
        table_files(folder, "solutions", "cases", "contrasts", "distinguishable"),
        alpha=settings.alpha,
        practical_threshold=settings.practical_threshold,
        seed=settings.seed,
    )
    compared = {**records("ledger"), "members": raw / "cases.parquet", **made("solutions", "cases")}
    write_comparisons(compared, table_files(folder, "pairs", "speedups", "champions"), settings.seed)
    rated = {**records("patches", "outcomes"), **made("pairs")}
    write_study_quality(rated, table_files(folder, *QUALITY_TABLES), settings.quality, settings.seed)
    return {file.stem: file for file in sorted(folder.glob("*.csv"))}


def write_site(raw: Path, tables: Files, folder: Path) -> None:
    """Write the provenance and the pages of all cases from records and tables."""
    write_provenance(raw, folder / "provenance.json", folder / "provenance.html")
    records = {"records": "ledger.parquet", "members": "cases.parquet", "measurements": "measurements.parquet"}
    given = {name: raw / file for name, file in {**records, "rows": "instances"}.items()}
    shown = {name: tables[name] for name in (*SHOWN, *OPTIONAL) if name in tables}
    write_pages({**shown, **given, "provenance": folder / "provenance.json"}, folder / "pages")


@contextmanager
def _made_whole(out: Path) -> Iterator[Path]:
    """A folder beside ``out`` that takes its place when all is done."""
    out = out.resolve()
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise InputError(f"{out}: not an empty folder: name a new one, nothing is overwritten")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        scratch = tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-")
    except OSError as error:
        raise InputError(f"{out}: {error.strerror}: name a folder that can be made") from None
    with scratch as beside:
        folder = Path(beside) / "out"
        folder.mkdir()
        yield folder
        folder.rename(out)
