"""The ledger: one row per instance, kept, or excluded at exactly one stage for one reason with its evidence."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from patchperf.errors import InputError
from patchperf.study.entry import Entry, probed, unprobed
from patchperf.study.probe import Probe

COLUMNS = ("instance_id", "dataset", "repo", *Entry._fields)


def build_ledger(manifest: pd.DataFrame, probes: Mapping[str, Probe]) -> pd.DataFrame:
    """The ledger in the manifest's order; its stages are configuration, single-test, repeatability, io, and corpus.

    Raises InputError if a probe is missing, was made for another version of its instance, or gives an unknown reason.
    """
    rows = [(row.instance_id, row.dataset, row.repo, *_entry(row, probes)) for row in manifest.itertuples()]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _entry(row: object, probes: Mapping[str, Probe]) -> Entry:
    name: str = row.instance_id  # type: ignore[attr-defined]
    entry = unprobed(name, row.f2p, selected=row.selected)  # type: ignore[attr-defined]
    if entry is not None:
        return entry
    probe = probes.get(name)
    if probe is None or probe.spec != row.probe:  # type: ignore[attr-defined]
        raise InputError(
            f"results/probes/{name}.json is missing or of another version of {name}: delete it and run again"
        )
    return probed(probe)
