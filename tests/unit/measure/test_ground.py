"""Cases measured on CPUs of their own, by real processes: what is promised, seen, and void where it is not kept."""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from pathlib import Path

import pytest
from small_cases import FAST, UNITTEST_FILE, plan, solution

from patchperf.config import Isolation, SandboxSettings
from patchperf.errors import MachineError
from patchperf.isolation.leases import LOCK_FOLDER
from patchperf.isolation.plan import Group
from patchperf.isolation.topology import parse_cpus
from patchperf.isolation.verification import Promise, promise_of
from patchperf.measure.case import CasePlan
from patchperf.measure.conditions import Ground, leased_ground
from patchperf.measure.native import measure_case
from patchperf.measure.result import UnmeasurableError
from patchperf.sandbox.local import local_sandbox
from patchperf.sandbox.processes import Processes
from patchperf.sandbox.protocol import Limits, Sandbox

LAST = max(os.sched_getaffinity(0))
GROUP = Group(3, (LAST,))
GROUND = Ground(GROUP, promise_of(GROUP, "affinity"))


def sandboxes(folder: Path, ground: Ground) -> list[Sandbox]:
    return [
        local_sandbox(SandboxSettings(), folder / "sandbox", ground.placement),
        Processes(folder / "processes", placement=ground.placement),
    ]


def on_ground(sandbox: Sandbox, folder: Path, ground: Ground, test: str = UNITTEST_FILE) -> CasePlan:
    case = plan(sandbox.layout, solution(folder, "a", FAST, test), replicates=1, attempts=2)
    return replace(case, ground=ground)


@pytest.mark.parametrize("kind", [0, 1])
def test_a_case_runs_on_the_cpus_of_its_group_and_we_do_not(tmp_path, kind):
    usual = os.sched_getaffinity(0)
    sandbox = sandboxes(tmp_path, GROUND)[kind]
    (record,) = measure_case(on_ground(sandbox, tmp_path, GROUND), sandbox, Limits(), tmp_path / "journal").records
    assert (record.reason, record.isolation, record.core_group) == ("", "affinity", 3)
    assert parse_cpus(record.cpus_allowed) == {LAST}
    assert record.mems_allowed == Path("/proc/self/status").read_text().split("Mems_allowed_list:")[1].split()[0]
    assert (record.sibling_busy_seconds, record.throttled) == (0.0, 0)
    assert record.group_steal_seconds >= 0
    assert os.sched_getaffinity(0) == usual


LEAVING = UNITTEST_FILE.replace("self.assert", "import os; os.sched_setaffinity(0, {cpus}); self.assert")


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs a CPU to leave for")
def test_a_test_that_leaves_its_cpus_is_void_each_time(tmp_path):
    sandbox = sandboxes(tmp_path, GROUND)[0]
    leaving = LEAVING.format(cpus=os.sched_getaffinity(0))
    case = on_ground(sandbox, tmp_path, GROUND, leaving)
    with pytest.raises(UnmeasurableError) as caught:
        measure_case(case, sandbox, Limits(), tmp_path / "journal")
    assert caught.value.reason == "trial-cpus-outside"
    assert f"{LAST} was promised" in caught.value.evidence


def test_a_promise_that_nothing_here_keeps_is_void(tmp_path):
    """Measured without any partition, where one is promised."""
    ground = Ground(GROUP, Promise(level="partition", cpus=(LAST,), leaf="patchperf/group-3/leaf", kind="root"))
    sandbox = sandboxes(tmp_path, GROUND)[0]
    with pytest.raises(UnmeasurableError, match=r"cgroup-outside|not-told"):
        measure_case(on_ground(sandbox, tmp_path, ground), sandbox, Limits(), tmp_path / "journal")


def test_without_promises_the_conditions_are_told_all_the_same(tmp_path):
    ground = Ground(GROUP, promise_of(GROUP, "none"))
    sandbox = sandboxes(tmp_path, ground)[0]
    (record,) = measure_case(on_ground(sandbox, tmp_path, ground), sandbox, Limits(), tmp_path / "journal").records
    assert (record.void, record.isolation, record.core_group) == (False, "none", 3)
    assert parse_cpus(record.cpus_allowed) == os.sched_getaffinity(0)


def test_a_job_without_a_lease_takes_one_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv(LOCK_FOLDER, str(tmp_path / "locks"))
    sizes = {"group_cores": 1, "daemon_cores": 0, "system_cores": 1}
    isolation = Isolation(level="affinity", weaker="allow", **sizes)
    with leased_ground(isolation.plan, logging.info) as ground:
        assert list((tmp_path / "locks").iterdir())
        if ground.promise.level == "affinity":
            assert ground.placement.cpus == ground.group.cpus
            assert len(ground.group.cpus) == 1
        else:
            assert ground.placement.cpus == ()


def test_a_partition_that_is_not_up_is_said_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv(LOCK_FOLDER, str(tmp_path / "locks"))
    partitioned = Isolation(level="partition", group_cores=1, daemon_cores=0, system_cores=1)
    with (
        pytest.raises(MachineError, match=r"patchperf isolate up|2 needed"),
        leased_ground(partitioned.plan, logging.info),
    ):
        pass
