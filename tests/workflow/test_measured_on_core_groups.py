"""A real study on core groups: cases are measured on them, everything else runs beside them, and the records say so."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

import pandas as pd
import pytest
from studies import Run, Study, make_study, mini_settings

from patchperf.isolation.plan import Sizes, plan
from patchperf.isolation.topology import parse_cpus, read_topology

ONE, OTHER = "abacus-lab__minalg-15", "fernbank__trellis-12"
SMALLEST = {"group_cores": 1, "daemon_cores": 0, "system_cores": 1}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory, cache: str) -> tuple[Study, Run]:
    """Two cases of one source, on groups of one core that their own affinity keeps them to."""
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs a core to measure on and one for the rest")
    folder = tmp_path_factory.mktemp("groups")
    settings = mini_settings(
        instances=[ONE, OTHER],
        calibration={"min_seconds": 0.02, "max_seconds": 0.04},
        isolation={"level": "affinity", **SMALLEST},
        reproductions=1,
        replicates=2,
        cache=cache,
    )
    study = make_study(folder / "study", settings | {"sources": settings["sources"][:1]})
    run = study.snakemake(
        "--executor", "core-groups", "--core-groups-lock-folder", str(folder / "locks"), "results/measurements.parquet"
    )
    return study, run


def test_each_case_is_measured_on_one_group_and_the_log_says_on_which(measured: tuple[Study, Run]) -> None:
    study, run = measured
    assert run.code == 0, run.output
    table = pd.read_parquet(study.result("measurements.parquet"))
    groups = plan(read_topology(), Sizes(**SMALLEST)).groups
    told = dict(re.findall(r"measure \(instance=(\S+)\) runs on core group (\d+)", run.log + run.output))
    assert told.keys() == {ONE, OTHER}
    for instance, rows in table.groupby("instance_id"):
        assert set(rows.isolation) == {"affinity"}
        assert {str(group) for group in rows.core_group} == {told[instance]}
        group = groups[int(told[str(instance)])]
        assert {tuple(sorted(parse_cpus(cpus))) for cpus in rows.cpus_allowed} == {group.cpus}
        assert not rows.void.any()


def test_a_case_needs_no_executor_to_be_measured_on_a_group(
    measured: tuple[Study, Run], new_study: Callable[..., Study], cache: str
) -> None:
    """Its job then leases one itself."""
    settings = mini_settings(
        instances=[ONE],
        sources=[],
        calibration={"min_seconds": 0.02, "max_seconds": 0.04},
        isolation={"level": "affinity", **SMALLEST},
        reproductions=1,
        replicates=1,
        cache=cache,
    )
    study = new_study(settings)
    run = study.snakemake("results/measurements.parquet", environment={"PATCHPERF_LOCK_FOLDER": str(study.folder)})
    assert run.code == 0, run.output
    table = pd.read_parquet(study.result("measurements.parquet"))
    assert set(table.isolation) == {"affinity"}
    assert all(len(parse_cpus(cpus)) == 1 for cpus in table.cpus_allowed)


def test_isolation_that_cannot_be_had_is_refused_in_one_line(new_study: Callable[..., Study], cache: str) -> None:
    study = new_study(mini_settings(isolation={"level": "affinity", "group_cores": 4096}, cache=cache))
    run = study.snakemake("--executor", "core-groups", "results/instances.parquet")
    assert run.code != 0
    assert re.search(r"isolation affinity: \d+ cores? usable .* 4099 needed", run.output)
