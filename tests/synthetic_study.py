"""The raw records of a study that never ran: as many cases, sources and metrics as wanted, all numbers from a seed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from patchperf.config import load_config
from patchperf.counters.preflight import Choice
from patchperf.measure.records import DTYPES
from patchperf.quality.schema import COUNTS
from patchperf.sandbox.image_environment import ImageEnvironment
from patchperf.sandbox.image_spec import ImageSpec
from patchperf.sandbox.images import Image
from patchperf.stats.schema import OUTCOMES, typed
from patchperf.study.cases import CASE_COLUMNS
from patchperf.study.host import Host
from patchperf.study.instance import GROUND_TRUTH, Candidate, Instance
from patchperf.study.origins import DatasetOrigin, Origins, SourceOrigin
from patchperf.study.rows import Row, write_row

BACKENDS = {"instructions": "qemu", "wall_ns": "perf_counter_ns"}
STARTED = pd.Timestamp("2026-01-01T00:00:00Z")
PATCH = """\
diff --git a/pkg/core.py b/pkg/core.py
index 1111111..2222222 100644
--- a/pkg/core.py
+++ b/pkg/core.py
@@ -1,3 +1,3 @@
 def double(x):
-    return x
+    return {}
 # end
"""
_DEFAULTS = {"str": "", "int64": 0, "float64": 0.0, "bool": False, "object": None}


@dataclass(frozen=True)
class Wanted:
    """What a study has; ``spread`` is how far the solutions of a case lie apart, ``noise`` that of their replicates.

    ``patches`` replaces patches, by source; with ``images`` every case was measured in an image of its own.
    """

    cases: int = 5
    sources: Sequence[str] = ("model-a", "model-b")
    metrics: Sequence[str] = ("instructions", "wall_ns")
    replicates: int = 5
    excluded: int = 2
    spread: float = 0.02
    noise: float = 0.005
    repositories: int = 7
    seed: int = 1
    patches: Mapping[str, str] | None = None
    images: bool = False


def write_records(folder: Path, wanted: Wanted) -> Path:
    """Write the raw records into a folder that does not exist; every source has a solution of its own in every case."""
    (folder / "instances").mkdir(parents=True)
    (folder / "settings").mkdir()
    names = [_name(place, wanted) for place in range(wanted.cases)]
    everyone = (GROUND_TRUTH, *wanted.sources)
    solutions = {source: f"{place:02d}ab34cd56" for place, source in enumerate(everyone)}
    _cases(names, solutions).to_parquet(folder / "cases.parquet")
    _measurements(names, solutions, wanted).to_parquet(folder / "measurements.parquet")
    _ledger(names, wanted).to_parquet(folder / "ledger.parquet")
    _outcomes(names, solutions).to_parquet(folder / "outcomes.parquet")
    _sources(wanted).to_parquet(folder / "sources.parquet")
    _patches(names, solutions).to_parquet(folder / "patches.parquet")
    for name in names:
        write_row(_row(name, wanted), folder / "instances")
    if wanted.images:
        (folder / "environments").mkdir()
        for place, name in enumerate(names):
            (folder / "environments" / f"{place:064x}.json").write_text(_image(name, place).model_dump_json(), "utf-8")
    settings = {"datasets": [{"name": "made", "path": "made.jsonl"}], "repositories": {"mirrors": "mirrors"}}
    config = load_config(settings).model_dump(mode="json", exclude={"cache", "scratch"})
    (folder / "settings" / "study.json").write_text(json.dumps(config), "utf-8")
    (folder / "host.json").write_text(_host().model_dump_json(), "utf-8")
    (folder / "inputs.json").write_text(_origins(wanted).model_dump_json(), "utf-8")
    return folder


def _patches(names: Sequence[str], sources: Iterable[str]) -> pd.DataFrame:
    rows = [
        {"instance_id": name, "source": source, "compiles": True, "lines": 2 + len(name) % 3, "note": ""}
        | {"complexity": 9 + place, "complexity_reference": 9, "findings": 0, "findings_reference": 0}
        for name in names
        for place, source in enumerate(sources)
    ]
    return typed(rows, COUNTS)


def _name(place: int, wanted: Wanted) -> str:
    return f"owner{place % wanted.repositories}__project-{place}"


def _repo(name: str) -> str:
    return f"{name.partition('__')[0]}/project"


def _cases(names: Sequence[str], solutions: Mapping[str, str]) -> pd.DataFrame:
    rows = [
        (name, "c" * 64, code, code.ljust(64, "0"), [source], source)
        for name in names
        for source, code in solutions.items()
    ]
    return pd.DataFrame(rows, columns=list(CASE_COLUMNS))


def _measurements(names: Sequence[str], solutions: Mapping[str, str], wanted: Wanted) -> pd.DataFrame:
    random = np.random.default_rng(wanted.seed)
    rows: list[dict[str, Any]] = []
    for metric in wanted.metrics:
        for name in names:
            base = 10 ** random.uniform(6, 9)
            order = 0
            means = base * (1 + wanted.spread * random.standard_normal(len(solutions)))
            values = means * (1 + wanted.noise * random.standard_normal((wanted.replicates, len(solutions))))
            for replicate in range(wanted.replicates):
                for place, (source, code) in enumerate(solutions.items()):
                    rows.append(
                        {
                            "instance_id": name,
                            "solution": code,
                            "sources": [source],
                            "replicate": replicate,
                            "order": order,
                            "attempt": 1,
                            "repetitions": 100,
                            "metric": metric,
                            "value": float(np.rint(100 * abs(values[replicate, place]))),
                            "backend": BACKENDS[metric],
                            "hash_seed": replicate,
                            "layout": replicate,
                            "loop_seconds": 0.1,
                            "first_call_ns": 2_000_000,
                            "first_call_import_ns": 0,
                            "second_call_ns": 1_500_000,
                            "host": "a machine, 2 CPUs, x86_64",
                            "isolation": "none",
                            "confinement": "namespaces",
                            "python": "3.9.1",
                            "garbage_collector": "untouched",
                            "started_at": STARTED + pd.Timedelta(seconds=order),
                        }
                    )
                    order += 1
    frame = pd.DataFrame(rows, columns=list(DTYPES))
    for name, kind in DTYPES.items():
        if kind in _DEFAULTS and name not in (rows[0] if rows else {}):
            frame[name] = _DEFAULTS[kind]
    return frame.astype(DTYPES)


def _ledger(names: Sequence[str], wanted: Wanted) -> pd.DataFrame:
    kept = [
        (
            name,
            "made",
            _repo(name),
            "corpus",
            "kept",
            "",
            "",
            "",
            f"results/probes/{name}.json",
            "one repeatable test without I/O",
        )
        for name in names
    ]
    left = [
        (
            f"owner__left-{place}",
            "made",
            "owner/left",
            "single-test",
            "excluded",
            "several-f2p-tests",
            "",
            "",
            "e.json",
            "2 F2P tests",
        )
        for place in range(wanted.excluded)
    ]
    columns = [
        "instance_id",
        "dataset",
        "repo",
        "stage",
        "status",
        "reason",
        "repeatability",
        "kind",
        "evidence",
        "detail",
    ]
    return pd.DataFrame([*kept, *left], columns=columns)


def _outcomes(names: Sequence[str], solutions: Mapping[str, str]) -> pd.DataFrame:
    rows = [
        {
            "instance_id": name,
            "repo": "made/project",
            "source": source,
            "outcome": "Resolved",
            "f2p_passed": 1,
            "f2p_total": 1,
            "p2p_passed": 3,
            "p2p_total": 3,
            "dialect": "swe-bench",
            "reported_resolved": None if source == GROUND_TRUTH else True,
            "solution": code,
            "link": "git apply",
            "note": "",
            "f2p": "all",
            "p2p": "all",
            "other_dialect": "",
            "other_outcome": "",
        }
        for name in names
        for source, code in solutions.items()
    ]
    return pd.DataFrame(rows, columns=list(OUTCOMES)).astype({"reported_resolved": "boolean", "solution": "string"})


def _sources(wanted: Wanted) -> pd.DataFrame:
    rows = [(source, wanted.cases, 0, 0, wanted.cases) for source in wanted.sources]
    return pd.DataFrame(rows, columns=["source", "predictions", "outside", "left_out", "candidates"])


def _row(name: str, wanted: Wanted) -> Row:
    patches = {source: PATCH.format(f"{place} * x") for place, source in enumerate((GROUND_TRUTH, *wanted.sources), 2)}
    patches |= wanted.patches or {}
    instance = Instance(
        instance_id=name,
        dataset="made",
        dialect="swe-bench",
        repo=_repo(name),
        base_commit="c0ffee" + "0" * 34,
        patch=patches[GROUND_TRUTH],
        test_patch="",
        fail_to_pass=("tests/test_core.py::test_double",),
    )
    candidates = tuple(
        Candidate(instance_id=name, source=source, patch=patches[source], reported_resolved=True)
        for source in wanted.sources
    )
    return Row(
        instance=instance,
        candidates=candidates,
        environment=ImageSpec(image=f"made/images:{name}") if wanted.images else None,
    )


def _image(name: str, place: int) -> ImageEnvironment:
    pulled = None if place else f"made/images@sha256:{name[5]}{'d' * 63}"
    return ImageEnvironment(
        image=Image(reference=f"made/images:{name}", id=f"sha256:{place:064x}", repo_digest=pulled),
        python="/usr/bin/python",
        version="3.9.1",
        prefix="/usr",
        variables={},
        programs={},
        packages={},
        head="",
        commit="",
    )


def _host() -> Host:
    counter = Choice(backend="qemu", reason="qemu counts, hardware does not", tried={"perf": "not supported"})
    return Host(
        host="a machine, 2 CPUs, x86_64",
        counter=counter,
        confinement="namespaces",
        kernel="6.1",
        software={"patchperf": "0.1.0"},
    )


def _origins(wanted: Wanted) -> Origins:
    dataset = DatasetOrigin(
        name="made",
        origin="made.jsonl",
        split="",
        revision="r7",
        instances=wanted.cases,
        rows="d1" * 32,
        file="f1" * 32,
    )
    sources = tuple(
        SourceOrigin(
            name=source, predictions=f"{source}.jsonl", candidates=wanted.cases, patches="a1" * 32, file="b1" * 32
        )
        for source in wanted.sources
    )
    return Origins(datasets=(dataset,), sources=sources, software={"patchperf": "0.1.0"})
