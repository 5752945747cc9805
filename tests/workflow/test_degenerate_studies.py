"""Studies with next to nothing in them come to their report all the same, and it says what there is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from studies import Study, mini_settings

KEPT, EXCLUDED = "abacus-lab__minalg-7", "abacus-lab__minalg-28"
SOURCES = mini_settings()["sources"]
SHORT = {
    "calibration": {"min_seconds": 0.02, "max_seconds": 0.04},
    "reproductions": 1,
    "replicates": 2,
    "counter": "none",
}

STUDIES: dict[str, tuple[dict[str, Any], int, int]] = {
    "no case": ({"instances": [EXCLUDED], "sources": SOURCES[:2]}, 0, 2),
    "one case, one source": ({"instances": [KEPT], "sources": SOURCES[:1]}, 1, 1),
    "no source": ({"instances": [KEPT, EXCLUDED], "sources": []}, 1, 0),
}


@pytest.mark.parametrize(("settings", "cases", "sources"), STUDIES.values(), ids=STUDIES)
def test_a_small_study_comes_to_its_report(
    new_study: Callable[..., Study], cache: str, settings: dict[str, Any], cases: int, sources: int
) -> None:
    study = new_study(mini_settings(cache=cache, **SHORT, **settings))
    done = study.snakemake()
    assert done.code == 0, done.output
    assert study.result("report.html").stat().st_size > 100_000
    tables = {path.stem: path for path in study.result("tables").glob("*.csv")}
    figures = {path.stem for path in study.result("figures").glob("*.svg")}
    assert {"cases", "outcomes", "quality", "generation_speed"} <= tables.keys()
    assert {"ratios", "quality", "generation_speed"} <= figures
    assert len(list(study.result("pages").glob("*__*.html"))) == cases
    assert len(pd.read_csv(tables["cases"])) == cases
    assert pd.read_csv(tables["quality"])["source"].nunique() == sources
    assert len(json.loads(_read(study, "provenance.json"))["inputs"]["sources"]) == sources
    again = study.snakemake()
    assert (again.code, again.started.total()) == (0, 0), again.output


def _read(study: Study, name: str) -> str:
    return Path(study.result(name)).read_text("utf-8")
