from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

import pandas as pd
import pytest

from patchperf.errors import InputError
from patchperf.stats.funnel import funnel_table, io_table, ledger_table, repeatability_table
from patchperf.study.ledger import build_ledger
from patchperf.study.probe import Probe
from patchperf.study.repeatability import CLASSES, RepeatabilityClass


def manifest(**f2p: int) -> pd.DataFrame:
    rows = [
        {
            "instance_id": name,
            "dataset": "d",
            "repo": "o/r",
            "f2p": tests,
            "selected": name != "left",
            "probe": f"p-{name}",
        }
        for name, tests in f2p.items()
    ]
    return pd.DataFrame(rows)


def call(kind: str, line: int) -> dict[str, Any]:
    return {"name": "a_call", "kind": kind, "arguments": "", "result": "0", "pid": 1, "line": line}


def probe(name: str, stage: str, reason: str = "", spec: str | None = None, **more: Any) -> Probe:
    return Probe.model_validate(
        {
            "instance_id": name,
            "spec": spec or f"p-{name}",
            "stage": stage,
            "reason": reason,
            "evidence": "seen",
            "confinement": "none",
            **more,
        }
    )


def io_probe(name: str, *kinds: str) -> Probe:
    deciding = [call(kind, line) for line, kind in enumerate(kinds, start=1)]
    io = {
        "io": True,
        "classes": {},
        "kinds": dict.fromkeys((one["kind"] for one in deciding), 1),
        "deciding": deciding,
        "exceptions": {},
        "unknown": [],
    }
    return probe(name, "io", "io", io=io)


RUN = {"what": "ground truth, single point", "command": "t", "ended": "exit", "exit_code": 1, "seconds": 1.0}

POINT = {
    "test": "t",
    "target": {"runner": "pytest", "file": "t.py", "qualname": "t", "selector": "t.py::t"},
    "shell": {"argv": ["pytest", "t.py::t"]},
}


def test_every_instance_has_one_row_one_stage_and_one_reason() -> None:
    probes = {
        "kept": probe("kept", "corpus"),
        "disk": io_probe("disk", "file data"),
        "twice": probe("twice", "repeatability", "not-repeatable"),
    }
    table = build_ledger(manifest(kept=1, disk=1, twice=1, many=2, none=0, left=1), probes).set_index("instance_id")
    assert table.stage.to_dict() == {
        "kept": "corpus",
        "disk": "io",
        "twice": "repeatability",
        "many": "single-test",
        "none": "single-test",
        "left": "configuration",
    }
    assert table.index[table.status == "kept"].tolist() == ["kept"]
    assert table.reason.to_dict() == {
        "kept": "",
        "disk": "io",
        "twice": "not-repeatable",
        "many": "several-f2p-tests",
        "none": "no-f2p-test",
        "left": "excluded-by-user",
    }


def test_the_class_stands_at_the_stage_repeatability_and_the_kind_at_io() -> None:
    probes = {
        "kept": probe("kept", "corpus"),
        "disk": io_probe("disk", "network", "file data"),
        "twice": probe("twice", "repeatability", "not-repeatable"),
        "alone": probe("alone", "repeatability", "depends-on-other-tests", runs=[RUN]),
        "flaky": probe("flaky", "repeatability", "ground-truth-flaky"),
    }
    table = build_ledger(manifest(kept=1, disk=1, twice=1, alone=1, flaky=1, many=2), probes).set_index("instance_id")
    assert table.repeatability.to_dict() == {
        "kept": "",
        "disk": "",
        "twice": "not repeatable in process",
        "alone": "not a single point",
        "flaky": "not reproducible",
        "many": "",
    }
    assert table.kind[table.kind != ""].to_dict() == {"disk": "network"}


def test_the_evidence_is_the_record_of_the_stage_that_excluded() -> None:
    probes = {
        "alone": probe("alone", "repeatability", "not-single-point", runs=[RUN]),
        "flaky": probe("flaky", "repeatability", "ground-truth-flaky"),
        "lost": probe("lost", "repeatability", "cannot-derive"),
        "late": probe("late", "repeatability", "install-failed", single_point=POINT, runs=[RUN]),
        "disk": io_probe("disk", "file data"),
    }
    table = build_ledger(manifest(alone=1, flaky=1, lost=1, late=1, disk=1, many=2, left=1), probes)
    assert dict(zip(table.instance_id, table.evidence, strict=True)) == {
        "alone": "results/probes/alone.json",
        "flaky": "results/reproductions/flaky.json",
        "lost": "results/probes/lost.json",
        "late": "results/probes/late.json",
        "disk": "results/probes/disk.json",
        "many": "results/instances/many.json",
        "left": "results/instances.parquet",
    }


@pytest.mark.parametrize(("reason", "its_class"), CLASSES.items())
def test_every_reason_has_one_of_three_classes_that_the_tables_count(reason: str, its_class: str) -> None:
    assert its_class in get_args(RepeatabilityClass)
    ledger = ledger_table(
        build_ledger(manifest(a=1, b=1), {"a": probe("a", "repeatability", reason), "b": probe("b", "corpus")})
    )
    table = repeatability_table(ledger, CLASSES.values())
    assert table["class"].unique().tolist() == list(get_args(RepeatabilityClass))
    assert table.loc[table["excluded"] > 0, ["class", "reason", "excluded"]].to_numpy().tolist() == [
        [its_class, reason, 1]
    ]


def test_an_unknown_reason_of_the_stage_repeatability_is_an_error() -> None:
    with pytest.raises(
        InputError, match=r"results/probes/a\.json: no class of repeatability has the reason 'moonlight'"
    ):
        build_ledger(manifest(a=1), {"a": probe("a", "repeatability", "moonlight")})


def test_the_ledger_counts_up_to_its_tables() -> None:
    probes = {"kept": probe("kept", "corpus"), "net": io_probe("net", "network"), "disk": io_probe("disk", "file data")}
    ledger = ledger_table(build_ledger(manifest(kept=1, net=1, disk=1, many=3), probes))
    assert funnel_table(ledger).set_index("filter")["removed"].to_dict() == {
        "input": 0, "single-test": 1, "repeatability": 0, "io": 2, "corpus": 0,
    }  # fmt: skip
    assert io_table(ledger).to_dict("records") == [
        {"repo": "o/r", "instances": 4, "reached": 3, "excluded": 2, "share": 0.5, "kinds": "file data 1, network 1"}
    ]


def test_a_probe_of_another_version_is_refused_and_its_file_named() -> None:
    with pytest.raises(InputError, match=r"results/probes/a\.json is missing or of another version"):
        build_ledger(manifest(a=1), {"a": probe("a", "corpus", spec="older")})
    with pytest.raises(InputError, match=r"results/probes/a\.json is missing"):
        build_ledger(manifest(a=1), {})


def test_every_reason_of_repeatability_is_explained_under_its_class() -> None:
    text = (Path(__file__).parents[3] / "docs" / "reasons.md").read_text("utf-8")
    sections = text.partition("## Replicates")[0].split("| repeatability: ")[1:]
    explained = {
        reason: title
        for title, _, rest in (section.partition(" |") for section in sections)
        for reason in re.findall(r"`([a-z-]+)`(?=[,` a-z-]* \|)", rest.partition("\n| io")[0])
    }
    assert explained == dict(CLASSES)
