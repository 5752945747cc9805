"""The ledger: one row per instance, kept, or excluded at exactly one stage for one reason with its evidence."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from patchperf.errors import InputError
from patchperf.study.probe import Probe

COLUMNS = ("instance_id", "dataset", "repo", "stage", "status", "reason", "evidence", "detail")


def build_ledger(manifest: pd.DataFrame, probes: Mapping[str, Probe]) -> pd.DataFrame:
    """The ledger in the manifest's order.

    ``stage``: configuration, single-test, repeatability, io, or corpus (kept). ``evidence`` is the file that holds the
    whole story, ``detail`` one line of it. Raises InputError if a probe is missing or was made for another version of
    its instance.
    """
    rows = [(row.instance_id, row.dataset, row.repo, *_entry(row, probes)) for row in manifest.itertuples()]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _entry(row: object, probes: Mapping[str, Probe]) -> tuple[str, str, str, str, str]:
    name: str = row.instance_id  # type: ignore[attr-defined]
    tests: int = row.f2p  # type: ignore[attr-defined]
    if not row.selected:  # type: ignore[attr-defined]
        return "configuration", "excluded", "excluded-by-user", "results/instances.parquet", "listed under exclude"
    if tests != 1:
        reason = "several-f2p-tests" if tests else "no-f2p-test"
        return "single-test", "excluded", reason, f"results/instances/{name}.json", f"{tests} F2P tests"
    probe = probes.get(name)
    if probe is None or probe.spec != row.probe:  # type: ignore[attr-defined]
        raise InputError(
            f"results/probes/{name}.json is missing or of another version of {name}: delete it and run again"
        )
    status = "kept" if probe.kept else "excluded"
    return probe.stage, status, probe.reason, f"results/probes/{name}.json", probe.evidence
