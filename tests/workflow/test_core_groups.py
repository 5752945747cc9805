"""The executor that leases core groups: who gets one, for how long, and what of all that can go wrong frees it."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from patchperf.isolation.plan import Sizes, plan
from patchperf.isolation.topology import format_cpus, parse_cpus, read_topology

RULE_ALL = """
rule all:
    input: expand("done/{{i}}", i=range({jobs}))
"""

TIMED = (
    RULE_ALL
    + """
rule timed:
    output: "done/{{i}}"
    resources: core_group=1
    threads: workflow.cores
    shell: "echo ${{{{PATCHPERF_LEASE%%:*}}}} $(date +%s.%N) >{{output}}; sleep {seconds}; date +%s.%N >>{{output}}"
"""
)

LASTING = (
    RULE_ALL
    + """
rule lasting:
    output: "done/{{i}}"
    resources: core_group=1
    threads: 0
    shell: "trap '{trap}' INT TERM; echo $$ >pid{{wildcards.i}}; sleep {seconds} & wait; touch {{output}}"
"""
)


@dataclass(frozen=True)
class Timed:
    """One job of rule ``timed``, from what it wrote."""

    group: int
    start: float
    end: float


@dataclass(frozen=True)
class Workflow:
    """A small workflow in a folder of its own, on pretended core groups."""

    folder: Path
    locks: Path

    def command(self, *arguments: str, groups: int | None = 2) -> list[str]:
        pretended = ["--core-groups-groups", str(groups)] if groups else []
        return [
            sys.executable, "-m", "snakemake", "--executor", "core-groups", *pretended, "--core-groups-lock-folder",
            str(self.locks), "--cores", "2", "--scheduler", "greedy", *arguments,
        ]  # fmt: skip

    def run(self, *arguments: str, groups: int | None = 2) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments, groups=groups),
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=600,
        )

    @contextmanager
    def started(self, *arguments: str, groups: int | None = 2) -> Iterator[subprocess.Popen[str]]:
        """In a session of its own, as in a terminal of its own; nothing of it is left in the end."""
        with subprocess.Popen(
            self.command(*arguments, groups=groups),
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as run:
            try:
                yield run
            finally:
                run.kill()
                for pid in self.pids(0):
                    end(pid)

    def timed(self) -> list[Timed]:
        words = [file.read_text().split() for file in (self.folder / "done").iterdir()]
        return [Timed(int(group), float(start), float(end)) for group, start, end in words]

    def pids(self, jobs: int) -> list[int]:
        """The processes of jobs of rule ``lasting``, as soon as there are so many."""

        def told() -> list[str]:
            return [text for file in self.folder.glob("pid*") if (text := file.read_text()).endswith("\n")]

        wait_until(lambda: len(told()) >= jobs)
        return list(map(int, told()))

    def leased(self) -> int:
        """How many groups are leased, as the kernel tells, without touching the locks."""
        inodes = {str(file.stat().st_ino) for file in self.locks.iterdir()}
        locks = [line.split() for line in Path("/proc/locks").read_text().splitlines()]
        return len({words[-3].split(":")[-1] for words in locks if "->" not in words} & inodes)


@pytest.fixture
def new_workflow(tmp_path: Path) -> Callable[..., Workflow]:
    def make(snakefile: str, name: str = "workflow", config: Mapping[str, Any] | None = None) -> Workflow:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "Snakefile").write_text(snakefile)
        if config is not None:
            (folder / "config.yaml").write_text(yaml.safe_dump(dict(config)))
        return Workflow(folder, tmp_path / "locks")

    return make


def wait_until(true: Callable[[], bool], seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not come to that in time"
        time.sleep(0.05)


def end(pid: int) -> None:
    """Kill the session of a process, if it is still there."""
    with suppress(ProcessLookupError):
        os.killpg(os.getpgid(pid), signal.SIGKILL)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def shared(jobs: Sequence[Timed]) -> list[tuple[Timed, Timed]]:
    """Pairs of jobs that were on one group at the same time."""
    ordered = sorted(jobs, key=lambda job: (job.group, job.start))
    return [
        (one, next_one)
        for one, next_one in itertools.pairwise(ordered)
        if one.group == next_one.group and next_one.start < one.end
    ]


def test_many_short_jobs_never_share_a_group_and_leave_none_idle(new_workflow):
    workflow = new_workflow(TIMED.format(jobs=50, seconds=0.5))
    samples: list[tuple[float, int]] = []
    over = threading.Event()

    def watch() -> None:
        while not over.wait(0.05):
            if workflow.locks.exists():
                samples.append((time.time(), workflow.leased()))

    watcher = threading.Thread(target=watch)
    watcher.start()
    done = workflow.run(groups=3)
    over.set()
    watcher.join()
    assert done.returncode == 0, done.stdout
    jobs = workflow.timed()
    assert len(jobs) == 50
    assert {job.group for job in jobs} == {0, 1, 2}
    assert shared(jobs) == []
    starts = [job.start for job in jobs]
    leased = [count for moment, count in samples if min(starts) <= moment <= max(starts)]
    assert sum(leased) / len(leased) / 3 >= 0.95
    assert workflow.leased() == 0


def test_two_workflows_at_once_never_share_a_group(new_workflow):
    workflows = [new_workflow(TIMED.format(jobs=4, seconds=0.3), name) for name in ("one", "other")]
    with workflows[0].started() as one, workflows[1].started() as other:
        told = [process.communicate(timeout=600)[0] for process in (one, other)]
    assert (one.returncode, other.returncode) == (0, 0), told
    jobs = [job for workflow in workflows for job in workflow.timed()]
    assert len(jobs) == 8
    assert shared(jobs) == []


def test_a_failing_and_a_killed_job_free_their_groups_for_their_next_attempts(new_workflow):
    workflow = new_workflow(
        """
rule all:
    input: "exits", "killed"
rule failing:
    output: "exits"
    resources: core_group=1
    threads: 0
    shell: "test {resources.attempt} -gt 1 || exit 3; touch {output}"
rule killed:
    output: "killed"
    resources: core_group=1
    threads: 0
    shell: "test {resources.attempt} -gt 1 || kill -KILL $PPID; touch {output}"
""".replace("core_group=1", "core_group=1, attempt=lambda wildcards, attempt: attempt")
    )
    done = workflow.run("--retries", "1", "--keep-going", groups=1)
    assert done.returncode == 0, done.stdout
    assert "returned non-zero exit status 3" in done.stdout
    assert "its process was killed by signal 9" in done.stdout
    assert done.stdout.count(" runs on core group 0") == 4
    assert workflow.leased() == 0


def test_a_failed_job_says_why_and_the_others_go_on_if_asked_to(new_workflow):
    workflow = new_workflow("""
rule all:
    input: "missing", "made"
rule missing:
    output: "missing"
    resources: core_group=1
    threads: 0
    priority: 1
    shell: "true"
rule made:
    output: "made"
    resources: core_group=1
    threads: 0
    shell: "touch {output}"
""")
    done = workflow.run("--latency-wait", "0", groups=1)
    assert done.returncode == 1
    assert done.stdout.count("MissingOutputException in rule missing") == 1
    assert not (workflow.folder / "made").exists()
    assert workflow.run("--latency-wait", "0", "--keep-going", groups=1).returncode == 1
    assert (workflow.folder / "made").exists()


@pytest.mark.parametrize(("trap", "grace", "groups"), [("exit 1", "60", 2), ("", "0.5", 1)], ids=["obedient", "deaf"])
def test_ctrl_c_ends_all_jobs_and_frees_their_groups(new_workflow, trap: str, grace: str, groups: int):
    workflow = new_workflow(LASTING.format(jobs=3, seconds=600, trap=trap))
    with workflow.started("--core-groups-grace", grace, groups=groups) as run:
        pids = workflow.pids(groups)
        pressed = time.monotonic()
        os.killpg(run.pid, signal.SIGINT)
        told, _ = run.communicate(timeout=120)
    assert time.monotonic() - pressed < 50
    assert run.returncode == 1, told
    assert not any(map(is_alive, pids))
    assert workflow.leased() == 0
    assert len(workflow.pids(groups)) == groups


def test_a_lease_outlives_a_killed_workflow_until_its_job_has_ended(new_workflow):
    first = new_workflow(LASTING.format(jobs=1, seconds=600, trap="exit 1"), "first")
    second = new_workflow(TIMED.format(jobs=1, seconds=0), "second")
    with first.started(groups=1) as killed:
        (job,) = first.pids(1)
        killed.kill()
        killed.wait(60)
        with second.started(groups=1) as waiting:
            assert waiting.stdout is not None
            told = next(line for line in waiting.stdout if "waiting for a core group" in line)
            assert str(job) in told
            assert is_alive(job)
            assert first.leased() == 1
            assert not (second.folder / "done").exists()
            end(job)
            waiting.communicate(timeout=120)
    assert waiting.returncode == 0
    assert len(second.timed()) == 1


SEEN = """
import json, sys
from pathlib import Path
from patchperf.isolation import leases
from patchperf.isolation.topology import read_topology
lease = leases.inherited(read_topology())
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
seen = {"allowed": status["Cpus_allowed_list"].strip(), "threads": snakemake.threads}
if lease is not None:
    seen |= {"group": lease.group.index, "cpus": lease.group.cpus, "level": lease.level}
Path(snakemake.output[0]).write_text(json.dumps(seen))
"""

MIXED = """
configfile: "config.yaml"
rule all:
    input: "leased", "usual"
rule leased:
    output: "leased"
    resources: core_group=1
    threads: workflow.cores
    script: "seen.py"
rule usual:
    output: "usual"
    threads: 64
    script: "seen.py"
"""


@pytest.fixture
def mixed(new_workflow) -> Callable[..., Workflow]:
    """One leased job and one other, which tell what they see, with an ``isolation`` in the configuration."""

    def make(**isolation: Any) -> Workflow:
        workflow = new_workflow(MIXED, config={"isolation": isolation})
        (workflow.folder / "seen.py").write_text(SEEN)
        return workflow

    return make


def seen(workflow: Workflow, name: str) -> dict[str, Any]:
    return json.loads((workflow.folder / name).read_text())


def test_a_leased_job_knows_its_cpus_and_all_else_stays_off_them(mixed):
    sizes = {"group_cores": 1, "daemon_cores": 0, "system_cores": 1}
    expected = plan(read_topology(), Sizes(**sizes))
    workflow = mixed(level="affinity", **sizes)
    done = workflow.run(groups=None)
    assert done.returncode == 0, done.stdout
    housekeeping = format_cpus(expected.housekeeping)
    leased = seen(workflow, "leased")
    assert tuple(leased["cpus"]) == expected.groups[leased["group"]].cpus
    assert (leased["level"], leased["allowed"]) == ("affinity", housekeeping)
    assert seen(workflow, "usual") == {"allowed": housekeeping, "threads": min(2, len(expected.housekeeping))}


def test_a_machine_without_so_many_cores_is_refused_in_one_line(mixed):
    done = mixed(level="affinity", group_cores=4000).run(groups=None)
    assert done.returncode == 1
    (line,) = [line for line in done.stdout.splitlines() if "isolation" in line]
    assert line.startswith("error: ")
    assert "4003 needed" in line
    assert "executor.py" not in done.stdout


def test_a_machine_without_so_many_cores_is_one_group_if_that_is_allowed(mixed):
    workflow = mixed(level="affinity", group_cores=4000, weaker="allow")
    done = workflow.run(groups=None)
    assert done.returncode == 0, done.stdout
    assert "isolation none instead of affinity" in done.stdout
    leased = seen(workflow, "leased")
    assert (leased["level"], leased["group"]) == ("none", 0)
    assert frozenset(leased["cpus"]) == frozenset(os.sched_getaffinity(0)) == parse_cpus(leased["allowed"])
