"""The processor's own counters, read in a machine that has them: an emulated one, whose counts are exact.

Its processor knows no branch misses, without which cirron does not start: where cirron is to count, that event is
replaced by a software event (context switches) in a copy of its source. All else of it is as published.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from debian_packages import need
from emulated_machine import TOOLS, WITH_COUNTERS, WITHOUT, Done, Job, boot
from pydantic import TypeAdapter
from replicates import instructions, judged, replicate_spec

from patchperf.counters import cirron
from patchperf.counters.perf import Perf
from patchperf.counters.preflight import choose, judge
from patchperf.counters.protocol import Backend, Count
from patchperf.measure.coverage import not_covered

REPETITIONS = 40
STEPS = 100_000
"""Steps are two instructions each; a count less that of the same body with one step is known beforehand."""

KNOWN = 2 * (STEPS - 1) * REPETITIONS
BODIES = ("alone", "in_a_new_thread", "in_an_older_thread", "in_a_child")
CROWDED = ("while_counters_are_taken", "in_a_child_while_counters_are_taken")

NO_COUNTER = "counter-unreadable: perf_event_open: this machine has no such hardware counter (no PMU) (ENOENT)"

USER = ("setpriv", "--reuid=1000", "--regid=1000", "--clear-groups")
WITH_CAPABILITY = (*USER, "--inh-caps=+sys_admin", "--ambient-caps=+sys_admin")


def replicate(
    name: str,
    body: str,
    steps: int = STEPS,
    *,
    repetitions: int = REPETITIONS,
    counter: Backend = "perf",
    under: tuple[str, ...] = (),
    folder: Path | None = None,
) -> Job:
    """A replicate of a body, ``under`` other programs; ``folder`` is cirron's package."""
    spec = replicate_spec(name, repetitions, counter) | {"counter_folder": "."}
    argv = (*under, "python3", "crowded.py" if body in CROWDED else "bodies.py", body, str(steps))
    return Job(name, argv, spec, folders=(folder,) if folder else ())


def paranoid(level: int, under: tuple[str, ...]) -> tuple[str, ...]:
    """Words that set the kernel's permission for counting before they run a command."""
    return ("python3", "paranoid.py", str(level), *under)


@pytest.fixture(scope="module")
def cirron_packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """cirron's package for the guest: as published, and with another event for the branch misses."""
    need(TOOLS)
    published = cirron.prepare(tmp_path_factory.mktemp("cirron"), Path(sys.executable)) / "cirron"
    packages = {}
    for name, event in (
        ("published", "{PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES}"),
        ("adapted", "{PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES}"),
    ):
        packages[name] = tmp_path_factory.mktemp(name) / "cirron"
        shutil.copytree(published, packages[name])
        source, library = packages[name] / "cirronlib.cpp", packages[name] / "cirronlib.so"
        text = source.read_text()
        assert text.count("{PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES}") == 1
        source.write_text(text.replace("{PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES}", event))
        compiler = ("aarch64-linux-gnu-g++", "-std=c++17", "-O3", "-shared", "-fPIC")
        subprocess.run([*compiler, "-o", library, source], check=True)
    return packages


@pytest.fixture(scope="module")
def done(cirron_packages: dict[str, Path]) -> dict[str, Done]:
    """What came of all jobs on the machine with counters."""
    jobs = [Job("trying out", ("python3", "patchperf_inprocess.py", "perf"))]
    jobs += [replicate(f"python {factor}", "python", 250, repetitions=factor * REPETITIONS) for factor in (1, 2, 4)]
    jobs += [replicate(f"{body} {steps}", body, steps) for body in BODIES for steps in (1, STEPS)]
    adapted, published = cirron_packages["adapted"], cirron_packages["published"]
    jobs += [
        replicate(f"cirron {body} {steps}", body, steps, counter="cirron", folder=adapted)
        for body, steps in (("alone", 1), ("alone", STEPS), ("in_a_new_thread", STEPS))
    ]
    jobs += [replicate(body, body) for body in CROWDED]
    jobs += [
        replicate("published cirron", "alone", counter="cirron", folder=published),
        replicate("crowded cirron", "while_counters_are_taken", counter="cirron", folder=adapted),
        replicate("occupied", "alone", under=("python3", "occupant.py")),
        replicate("occupied cirron", "alone", counter="cirron", folder=adapted, under=("python3", "occupant.py")),
        replicate("filtered", "alone", under=("python3", "filtered.py")),
        replicate("user, paranoid 3", "alone", under=paranoid(3, USER)),
        replicate("user, paranoid 3, capability", "alone", under=paranoid(3, WITH_CAPABILITY)),
        replicate("user, paranoid 2", "alone", under=paranoid(2, USER)),
    ]
    return boot(WITH_COUNTERS, jobs)


@pytest.fixture(scope="module")
def done_without_counters() -> dict[str, Done]:
    """The same machine without its counters."""
    need(TOOLS)
    jobs = [Job("trying out", ("python3", "patchperf_inprocess.py", "perf")), replicate("replicate", "alone")]
    return boot(WITHOUT, jobs)


def count(done: Done) -> int:
    """The instructions of a good replicate."""
    return instructions(*judged(done.job.spec, done.completed, done.results))


def void(done: Done) -> str:
    """Why a replicate is not used, although its test passed."""
    report, problem = judged(done.job.spec, done.completed, done.results)
    assert report.failed is None
    assert problem is not None
    return problem


def tried_out(done: Done) -> str | None:
    """What trying a counter out leads to: None if it counts."""
    first, second = TypeAdapter(list[Count]).validate_json(done.completed.output.splitlines()[-1])
    return judge(Perf(), first, second)


def descriptors(done: Done) -> dict[str, list[str]]:
    """The open files of a replicate's process before and after it."""
    told: dict[str, Any] = json.loads(done.completed.output.splitlines()[-1])
    return told


def times(problem: str) -> tuple[int, int]:
    """Nanoseconds running and enabled, from the reason of a void replicate."""
    found = re.fullmatch(r"counter-multiplexed: running (\d+) of (\d+) ns enabled", problem)
    assert found is not None, problem
    return int(found[1]), int(found[2])


def test_trying_perf_out_finds_a_counter_that_counts(done):
    assert tried_out(done["trying out"]) is None


def test_counts_are_linear_in_the_repetitions(done):
    once, twice, four_times = (count(done[f"python {factor}"]) for factor in (1, 2, 4))
    assert (four_times - twice) / (twice - once) == pytest.approx(2, rel=0.005)


@pytest.mark.parametrize("body", BODIES)
def test_known_instructions_are_counted_wherever_the_body_has_them_run(done, body):
    difference = count(done[f"{body} {STEPS}"]) - count(done[f"{body} 1"])
    assert difference == pytest.approx(KNOWN, rel=0.005)


@pytest.mark.parametrize("body", BODIES)
def test_a_replicate_closes_the_descriptors_of_its_counters(done, body):
    open_files = descriptors(done[f"{body} {STEPS}"])
    assert open_files["before"] == open_files["after"]


def test_a_body_that_finds_no_counter_free_is_void(done):
    running, enabled = times(void(done["occupied"]))
    assert running == 0 < enabled


@pytest.mark.parametrize("body", CROWDED)
def test_a_body_that_lost_its_counter_for_a_part_of_the_time_is_void(done, body):
    running, enabled = times(void(done[body]))
    assert 0 < running < enabled


def test_an_unprivileged_user_counts_where_the_kernel_lets_him(done):
    assert count(done["user, paranoid 2"]) == pytest.approx(count(done[f"alone {STEPS}"]), rel=0.005)


def test_a_strict_kernel_is_named_with_its_setting_and_the_remedy(done):
    assert void(done["user, paranoid 3"]) == (
        "counter-unreadable: perf_event_open: kernel.perf_event_paranoid is 3, which permits it with "
        "CAP_SYS_ADMIN only: set it to 2 or less (EACCES)"
    )


def test_a_user_with_the_capability_counts_under_a_strict_kernel(done):
    assert count(done["user, paranoid 3, capability"]) == pytest.approx(count(done[f"alone {STEPS}"]), rel=0.005)


def test_a_system_call_filter_is_told_from_a_strict_kernel(done):
    assert void(done["filtered"]) == (
        "counter-unreadable: perf_event_open: a system call filter does not permit it, as containers have one: "
        "let the call through (EPERM)"
    )


def test_a_machine_without_counters_is_told_so(done_without_counters):
    assert void(done_without_counters["replicate"]) == NO_COUNTER


def test_a_machine_without_counters_measures_wall_time_alone_and_says_it_loudly(done_without_counters):
    """The emulators, which are for another processor, are said to be missing."""

    def attempt(backend):
        return tried_out(done_without_counters["trying out"]) if backend == "perf" else "not for this processor"

    choice = choose("auto", attempt)
    assert choice.backend == "none"
    told = f"perf: {NO_COUNTER}; qemu: not for this processor; callgrind: not for this processor"
    assert choice.reason == f"NO INSTRUCTION COUNTS, WALL TIME ONLY: {told}"


def test_cirron_counts_known_instructions_of_the_calling_thread(done):
    difference = count(done[f"cirron alone {STEPS}"]) - count(done["cirron alone 1"])
    assert difference == pytest.approx(KNOWN, rel=0.005)


def test_cirron_agrees_with_perf(done):
    assert count(done[f"cirron alone {STEPS}"]) == pytest.approx(count(done[f"alone {STEPS}"]), rel=0.005)


def test_cirron_misses_a_thread_and_the_record_tells(done):
    threaded = done[f"cirron in_a_new_thread {STEPS}"]
    assert count(threaded) < 0.5 * KNOWN
    report, _ = judged(threaded.job.spec, threaded.completed, threaded.results)
    left_out = not_covered("cirron", report.counter, report, None, (), own_pids=True, scaled=False)
    assert left_out.startswith("threads")


def test_cirron_without_its_branch_misses_says_that_it_cannot_start(done):
    assert void(done["published cirron"]).startswith("counter-unreadable: Exception: Failed to start collector")


@pytest.mark.parametrize("job", ["occupied cirron", "crowded cirron"])
def test_cirron_off_the_hardware_is_void_too(done, job):
    running, enabled = times(void(done[job]))
    assert running < enabled
