"""The manifest: one row per instance with the digests of all that its later stages depend on.

A stage is run again when its digest here differs from the digest its last result was made with, and only then. What
does not change a result (time-outs, limits, paths of mirrors) is in no digest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd

from patchperf.config import Config
from patchperf.sandbox.environments import EnvironmentSpec
from patchperf.sandbox.image_spec import ImageSpec
from patchperf.study.instance import Candidate, Instance, content_digest

PROTOCOL = 6
"""Raised when a change of this package makes earlier verdicts or measurements incomparable."""

COLUMNS = ("instance_id", "dataset", "repo", "f2p", "selected", "environment", "reproduce", "probe", "grade", "quality")


def build_manifest(
    instances: Sequence[Instance],
    candidates: Mapping[str, Sequence[Candidate]],
    environments: Mapping[str, EnvironmentSpec | ImageSpec],
    config: Config,
) -> pd.DataFrame:
    """The manifest, sorted by instance id; ``candidates`` and ``environments`` are by instance id.

    Columns: ``f2p`` number of F2P tests, ``selected`` False for instances that the configuration excludes,
    ``environment``, ``reproduce``, ``probe``, ``grade``, ``quality`` digests (SHA-256, hex;
    empty for instances that are not run).
    """
    rows: list[tuple[str | int | bool, ...]] = []
    for instance in sorted(instances, key=lambda one: one.instance_id):
        name = instance.instance_id
        about = (name, instance.dataset, instance.repo, len(instance.fail_to_pass))
        if name not in environments:
            rows.append((*about, name not in config.exclude, "", "", "", "", ""))
            continue
        environment = environments[name].digest
        reproduce = content_digest(
            [
                PROTOCOL,
                instance.digest,
                environment,
                config.reproductions,
                config.environments.pythonpath,
                config.environments.install,
            ]
        )
        written = sorted((one.source, one.digest, one.reported_resolved) for one in candidates.get(name, ()))
        probe, grade = content_digest([reproduce, config.warmup]), content_digest([reproduce, written])
        quality = content_digest([PROTOCOL, instance.digest, environment, written, config.quality.severity])
        rows.append((*about, True, environment, reproduce, probe, grade, quality))
    return pd.DataFrame(rows, columns=list(COLUMNS))
