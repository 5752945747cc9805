from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from machines import machine

from patchperf.errors import MachineError
from patchperf.isolation import leases
from patchperf.isolation.leases import Lease, held, holders, inherited, lock_folder, try_lease, wait_for_lease
from patchperf.isolation.plan import Plan, Sizes, plan, pretended, whole_machine

SERVER = machine("node 0: 0+1 2+3 ... 22+23")
PLAN = plan(SERVER, Sizes())
"""Two groups: 6,8,10,12 and 14,16,18,20."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of leases, for this process and those it starts."""
    for name in (leases.LEASE, leases.LEVEL):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(leases.LOCK_FOLDER, str(tmp_path / "locks"))
    return lock_folder()


def leased(plan: Plan, folder: Path) -> Lease:
    lease = try_lease(plan, folder)
    assert lease is not None
    return lease


def python(program: str, stdin: int, variables: Mapping[str, str], *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **variables},
    )


def test_each_group_is_leased_once_and_again_when_it_is_free(folder: Path):
    first, second = leased(PLAN, folder), leased(PLAN, folder)
    assert (first.group, second.group) == PLAN.groups
    assert try_lease(PLAN, folder) is None
    first.release()
    assert leased(PLAN, folder).group == PLAN.groups[0]


def test_a_lease_says_what_is_promised(folder: Path):
    assert leased(PLAN, folder).level == "affinity"
    assert leased(pretended(1), folder).level == "none"


@pytest.mark.parametrize(
    "other",
    [
        plan(SERVER, Sizes(group_cores=8, daemon_cores=0)),
        plan(SERVER, Sizes(group_cores=2)),
        plan(machine("node 0: 0+1 2+3 ... 22+23\nallowed: 0-5 7 9 11 13 15 17 19 21"), Sizes()),
        whole_machine(SERVER),
    ],
    ids=["larger groups", "smaller groups", "the siblings", "the whole machine"],
)
def test_groups_with_a_core_in_common_exclude_each_other(folder: Path, other: Plan):
    lease = leased(other, folder)
    free = [group for group in PLAN.groups if not {*lease.group.cpus, *lease.group.idle} & {*group.cpus, *group.idle}]
    assert len(free) < len(PLAN.groups)
    assert [leased(PLAN, folder).group for _ in free] == free
    assert try_lease(PLAN, folder) is None
    lease.release()
    assert try_lease(PLAN, folder) is not None


def test_a_whole_machine_waits_for_each_group_of_it(folder: Path):
    lease = leased(PLAN, folder)
    assert try_lease(whole_machine(SERVER), folder) is None
    lease.release()
    assert try_lease(whole_machine(SERVER), folder) is not None


def test_files_of_others_in_the_folder_are_none_of_our_business(folder: Path):
    for name in ("cpus-.lock", "cpus-x.lock", "cpus-6.lock.bak", "notes"):
        (folder / name).write_text("")
    assert leased(PLAN, folder).group == PLAN.groups[0]


RELAY = """
import subprocess, sys, time
from patchperf.isolation.leases import lock_folder, try_lease
from patchperf.isolation.plan import pretended
lease = try_lease(pretended(1), lock_folder())
job = subprocess.Popen(["sleep", "600"], stdin=lease.descriptor, stdout=subprocess.DEVNULL)
print(job.pid, flush=True)
time.sleep(600)
"""


def test_a_lease_outlives_whoever_took_it_as_long_as_its_job_lives(folder: Path):
    with python(RELAY, subprocess.DEVNULL, {}) as relay:
        assert relay.stdout is not None
        job = int(relay.stdout.readline())
        relay.kill()
        relay.wait()
        try:
            assert try_lease(pretended(1), folder) is None
            assert holders([folder / "pretended-0.lock"]) == (job,)
        finally:
            os.kill(job, signal.SIGKILL)
    assert wait_for_lease(pretended(1), folder, print).group.index == 0


WORKER = """
import sys, time
from patchperf.isolation.leases import lock_folder, wait_for_lease
from patchperf.isolation.plan import pretended
for _ in range(20):
    lease = wait_for_lease(pretended(2), lock_folder(), lambda told: None, lambda seconds: time.sleep(0.002))
    start = time.monotonic()
    time.sleep(0.003)
    print(lease.group.index, start, time.monotonic())
    lease.release()
"""


def test_processes_that_compete_are_never_on_one_group_at_once(folder: Path):
    workers = [python(WORKER, subprocess.DEVNULL, {}) for _ in range(3)]
    told = [worker.communicate(timeout=120) for worker in workers]
    assert [worker.returncode for worker in workers] == [0] * 3, told
    spans = sorted(tuple(map(float, line.split())) for out, _ in told for line in out.splitlines())
    assert len(spans) == 60
    for (group, _, end), (next_group, start, _) in itertools.pairwise(spans):
        assert group != next_group or end <= start


class Clock:
    """Seconds that pass only while someone waits; who waits for the end gives up."""

    def __init__(self, end: float) -> None:
        self.now = 1000.0
        self.end = self.now + end

    def pause(self, seconds: float) -> None:
        self.now += seconds
        if self.now >= self.end:
            raise TimeoutError


def test_a_wait_is_told_when_it_begins_and_once_a_minute_with_who_is_in_the_way(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    clock = Clock(150)
    monkeypatch.setattr(time, "monotonic", lambda: clock.now)
    lease = leased(whole_machine(SERVER), folder)
    told: list[str] = []
    with pytest.raises(TimeoutError):
        wait_for_lease(PLAN, folder, told.append, clock.pause)
    assert (
        told
        == [
            f"waiting for a core group: all 2 are leased in {folder}, by processes {os.getpid()}",
        ]
        * 3
    )
    lease.release()
    assert wait_for_lease(PLAN, folder, told.append).group.index == 0
    assert len(told) == 3


INHERIT = """
import json, sys
from machines import machine
from patchperf.errors import MachineError
from patchperf.isolation.leases import inherited
sys.path.insert(0, sys.argv[1])
try:
    lease = inherited(machine(sys.argv[2]))
except MachineError as error:
    print(json.dumps(str(error)))
else:
    print(json.dumps(lease and [lease.group.index, lease.group.cpus, lease.group.idle, lease.group.node, lease.level]))
"""


@pytest.fixture
def job(folder: Path) -> Callable[..., object]:
    """What a job sees of a lease: with a descriptor as its standard input, and with variables."""
    program = INHERIT.replace("from machines", "sys.path.insert(0, sys.argv[1])\nfrom machines")

    def run(stdin: int, variables: Mapping[str, str]) -> object:
        started = python(program, stdin, variables, str(Path(__file__).parent), "node 0: 0+1 2+3 ... 22+23")
        out, err = started.communicate(timeout=120)
        assert started.returncode == 0, err
        return json.loads(out)

    return run


def test_a_job_finds_the_lease_it_was_started_with(job, folder: Path):
    leased(PLAN, folder)
    lease = leased(PLAN, folder)
    assert job(lease.descriptor, lease.variables) == [1, [14, 16, 18, 20], [15, 17, 19, 21], 0, "affinity"]


def test_a_job_without_a_lease_finds_none(job):
    assert job(subprocess.DEVNULL, {}) is None


def test_a_job_with_a_pretended_group_has_no_cpus(job, folder: Path):
    lease = leased(pretended(1), folder)
    assert job(lease.descriptor, lease.variables) == [0, [], [], None, "none"]


def test_a_lease_that_is_not_so_is_refused_in_one_line(job, folder: Path, tmp_path: Path):
    lease = leased(PLAN, folder)
    variables = lease.variables
    other = os.open(lease.file, os.O_RDONLY)
    stranger = os.open(tmp_path / "stranger", os.O_RDONLY | os.O_CREAT)
    cases = {
        "it does not hold": (other, variables),
        f"descriptor 0 is {tmp_path / 'stranger'}": (stranger, variables),
        "descriptor 77: No such file": (lease.descriptor, {**variables, leases.LEASE: "0:77"}),
        "<group>:<descriptor>": (lease.descriptor, {**variables, leases.LEASE: "0"}),
        f"{leases.LEVEL} are needed": (lease.descriptor, {**variables, leases.LEVEL: "much"}),
        f"descriptor 0 is {lease.file}": (lease.descriptor, {**variables, leases.LOCK_FOLDER: str(tmp_path)}),
    }
    for said, (stdin, given) in cases.items():
        told = job(stdin, given)
        assert isinstance(told, str)
        assert told.startswith(f"PATCHPERF_LEASE={given[leases.LEASE]} is not a lease of this job: ")
        assert said in told
        assert told.endswith("run it with --executor core-groups, or without this variable")
    lease.release()
    assert "it does not hold" in str(job(other, variables))


def test_a_job_that_nobody_leased_for_leases_by_itself(folder: Path):
    with held(SERVER, lambda topology: plan(topology, Sizes()), print) as lease:
        assert lease.group == PLAN.groups[0]
        assert leased(PLAN, folder).group == PLAN.groups[1]
    assert leased(PLAN, folder).group == PLAN.groups[0]


@pytest.fixture
def given(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lease]:
    """A lease that this process was started with, but for the descriptor's number."""
    lease = leased(PLAN, folder)
    monkeypatch.setenv(leases.LEASE, f"0:{lease.descriptor}")
    monkeypatch.setenv(leases.LEVEL, "affinity")
    yield lease
    lease.release()


def test_a_job_with_a_lease_takes_no_other_and_keeps_it_to_its_end(given: Lease, folder: Path):
    def refuse(topology: object) -> Plan:
        raise AssertionError("a job with a lease has no plan to make")

    with held(SERVER, refuse, print) as lease:
        assert lease == given
    assert inherited(SERVER) == given


def test_the_folder_of_leases_is_the_one_that_is_named_and_open_to_all(tmp_path: Path, monkeypatch):
    monkeypatch.setenv(leases.LOCK_FOLDER, str(tmp_path / "a" / "b"))
    assert lock_folder() == tmp_path / "a" / "b"
    assert lock_folder().stat().st_mode & 0o7777 == 0o1777
    assert Path(leased(PLAN, lock_folder()).file).stat().st_mode & 0o7777 == 0o644


def test_the_folder_of_leases_is_the_machine_s_else_the_user_s(tmp_path: Path, monkeypatch):
    monkeypatch.delenv(leases.LOCK_FOLDER, raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "own"))
    monkeypatch.setattr(leases, "MACHINE_FOLDER", tmp_path / "machine")
    assert lock_folder() == tmp_path / "machine"
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(leases, "MACHINE_FOLDER", tmp_path / "file" / "patchperf")
    assert lock_folder() == tmp_path / "own" / "patchperf"


def test_a_machine_without_a_folder_for_leases_is_refused_with_all_that_was_tried(tmp_path: Path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.delenv(leases.LOCK_FOLDER, raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "file"))
    monkeypatch.setattr(leases, "MACHINE_FOLDER", tmp_path / "file" / "patchperf")
    with pytest.raises(MachineError) as raised:
        lock_folder()
    line = str(raised.value)
    assert line.count(f"{tmp_path / 'file' / 'patchperf'}: Not a directory") == 2
    assert "name another folder in PATCHPERF_LOCK_FOLDER" in line
    monkeypatch.setenv(leases.LOCK_FOLDER, str(tmp_path / "file"))
    with pytest.raises(MachineError, match="file: File exists: make"):
        lock_folder()
