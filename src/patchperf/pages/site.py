"""The folder of pages: an index, a page per case, and the two small files that they share."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from patchperf.analysis.files import Files
from patchperf.errors import InputError
from patchperf.pages.case import CONDITIONS, REPLICATE, case_view
from patchperf.pages.index import index_view
from patchperf.pages.numbers import NAMES, metric_name
from patchperf.pages.provenance import Provenance, provenance, sections
from patchperf.pages.strips import LABEL, WIDTH
from patchperf.pages.study import read_study

ASSETS = ("pages.css", "pages.js")
INDEX = "index.html"


def write_pages(given: Files, out: Path) -> None:
    """Write all pages into the folder ``out``, which is made; ``given`` as in ``read_study``, and ``provenance``.

    Every text is escaped, and the pages refuse whatever is not in their folder. Raises InputError.
    """
    study = read_study(given, (*REPLICATE, *CONDITIONS))
    known = _provenance(Path(given["provenance"]))
    out.mkdir(parents=True, exist_ok=True)
    for name in ASSETS:
        with as_file(files("patchperf.pages") / "assets" / name) as asset:
            shutil.copyfile(asset, out / name)
    index = index_view(study)
    missing = [name for metric, name in NAMES.items() if metric not in study.metrics]
    page = render(INDEX, index=index, missing=missing, provenance=sections(known))
    (out / INDEX).write_text(page, "utf-8")
    for place, instance in enumerate(study.instances):
        if page_name(instance) == INDEX:
            raise InputError(f"{instance}: no case can have this name: its page would be the index of all cases")
        around = {"before": study.instances[place - 1] if place else None, "after": _next(study.instances, place)}
        view = case_view(study.case(instance), study.metrics)
        page = render("case.html", case=view, missing=missing, **around)
        (out / page_name(instance)).write_text(page, "utf-8")


def write_provenance(results: Path, record: Path, page: Path) -> None:
    """Write the provenance of a study as a record, and as one page that needs no other file; raises InputError."""
    known = provenance(results)
    record.write_text(known.model_dump_json(indent=1) + "\n", "utf-8")
    style = (files("patchperf.pages") / "assets" / "pages.css").read_text("utf-8")
    page.write_text(render("provenance.html", provenance=sections(known), style=style), "utf-8")


def page_name(instance_id: str) -> str:
    """The file of a case's page."""
    return f"{instance_id}.html"


def _next(instances: tuple[str, ...], place: int) -> str | None:
    return instances[place + 1] if place + 1 < len(instances) else None


def _provenance(path: Path) -> Provenance:
    try:
        return Provenance.model_validate_json(path.read_bytes())
    except (OSError, ValueError):
        raise InputError(f"{path}: missing, cut short, or of another version: delete it and run again") from None


@functools.cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("patchperf.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"page": page_name, "metric": metric_name}
    environment.globals |= {"width": WIDTH, "label_width": LABEL}
    return environment


def render(template: str, **values: Any) -> str:
    """A template of this package, filled; all text is escaped."""
    told: Mapping[str, Any] = values
    return _environment().get_template(template).render(told)
