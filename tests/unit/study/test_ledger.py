from __future__ import annotations

import pandas as pd
import pytest

from patchperf.errors import InputError
from patchperf.study.ledger import build_ledger
from patchperf.study.probe import Probe


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


def probe(name: str, stage: str, reason: str = "", spec: str | None = None) -> Probe:
    return Probe.model_validate(
        {
            "instance_id": name,
            "spec": spec or f"p-{name}",
            "stage": stage,
            "reason": reason,
            "evidence": "seen",
            "confinement": "none",
        }
    )


def test_every_instance_has_one_row_one_stage_and_one_reason() -> None:
    probes = {
        "kept": probe("kept", "corpus"),
        "disk": probe("disk", "io", "io"),
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


def test_a_probe_of_another_version_is_refused_and_its_file_named() -> None:
    with pytest.raises(InputError, match=r"results/probes/a\.json is missing or of another version"):
        build_ledger(manifest(a=1), {"a": probe("a", "corpus", spec="older")})
    with pytest.raises(InputError, match=r"results/probes/a\.json is missing"):
        build_ledger(manifest(a=1), {})
