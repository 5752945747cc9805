"""The scenario of cases that are measured on partitions: in each sandbox, and with promises broken meanwhile."""

import json
import shutil
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path

from server import (
    CGROUPS,
    CONTAINER,
    IMAGE,
    changes,
    docker_daemon,
    image,
    isolate,
    machine,
    read,
    run,
    say,
    tell,
    wait_until,
)  # fmt: skip

from patchperf.config import Isolation
from patchperf.isolation.places import command_group, entering
from patchperf.measure.calibration import Window
from patchperf.measure.case import CasePlan, Solution
from patchperf.measure.conditions import leased_ground
from patchperf.measure.journal import read_journal
from patchperf.measure.native import measure_case
from patchperf.measure.result import UnmeasurableError
from patchperf.sandbox import engine
from patchperf.sandbox.container import DockerSandbox, Setup
from patchperf.sandbox.namespaces import Namespaces
from patchperf.sandbox.processes import Processes
from patchperf.sandbox.protocol import Limits
from patchperf.study.image_bench import parent_of

CASES, SANDBOXES = Path("/tmp/cases"), Path("/tmp/sandboxes")
LOAD = Path("/work/load.py")
DIGEST = "c0ffee" * 10 + "beef"
ATTEMPTS, FEW_ATTEMPTS = 3, 2
TEST = """
import subprocess, sys, unittest
from patchperf_inprocess import measured

class TotalTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        {first}

    @measured
    def test_total(self):
        self.assertEqual(sum(range(40)), 780)

unittest.main()
"""
LOADED = """with open("told", "ab") as file:
            for kind in ("threads", "children"):
                file.write(subprocess.check_output([sys.executable, "load.py", kind, "4", "1"]))"""
ENTERING = """with open("{group}/cgroup.procs", "w") as file:
            file.write("0")"""


def one_pass(completed):
    return None if "Ran 1 test in" in completed.output and "\nOK\n" in completed.output else "not one passed test"


def measured(name, sandbox, ground, first, *, progress=lambda _: None, attempts=ATTEMPTS):
    """A case of one replicate whose test does ``first`` in each process: its records, its journal, what loads told."""
    tree = CASES / name / "tree"
    tree.mkdir(parents=True)
    (tree / "test_total.py").write_text(TEST.format(first=first))
    shutil.copy(LOAD, tree)
    layout = sandbox.layout
    plan = CasePlan(
        instance_id="owner__name-1",
        digest=DIGEST,
        solutions=(Solution("a", ("a",), tree, "digest-a"),),
        argv=("/usr/bin/python3", "test_total.py", "-v"),
        environment={"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{layout.tree}:{layout.tools}"},
        passed=one_pass,
        warmup=2,
        window=Window(min_seconds=0.1, max_seconds=1),
        replicates=1,
        attempts=attempts,
        seed=1,
        timeout=300.0,
        ground=ground,
    )
    journal = CASES / name / f"{DIGEST}.jsonl"

    def said(one):
        say(name, one)
        progress(one)

    try:
        records, reason = measure_case(plan, sandbox, Limits(), journal, said).records, None
    except UnmeasurableError as error:
        records, reason = error.records, error.reason
    say(name, reason, *(entry.output_tail for entry in read_journal(journal, DIGEST)))
    return {
        "reason": reason,
        "records": [record.model_dump(mode="json") for record in records],
        "runs": [[entry.stage, entry.void] for entry in read_journal(journal, DIGEST)],
        "loads": [json.loads(line) for line in (read(tree / "told") or "").splitlines()],
    }


@contextmanager
def intruder(ground):
    """Another user's busy process on a sibling, put there by root."""
    with command_group(ground.leaf.parent, "intruder") as own:
        (own / "cpuset.cpus").write_text(str(ground.group.idle[0]))
        user = ("setpriv", "--reuid=1000", "--regid=1000", "--clear-groups")
        busy = subprocess.Popen([*entering(own), *user, sys.executable, LOAD, "threads", "1", "1000"])
        wait_until(lambda: str(busy.pid) in read(own / "cgroup.procs").split())
        yield
    busy.wait()


def disturbed_once(sandbox, ground):
    """Something runs on a sibling from before the replicate until it is void."""
    with ExitStack() as stack:

        def disturb(progress):
            if progress.void:
                stack.close()
            elif progress.stage == "calibration":
                stack.enter_context(intruder(ground))

        tell("disturbed", measured("disturbed", sandbox, ground, "pass", progress=disturb))


def leaving(sandbox, ground):
    """A test that goes to another control group, with the same CPUs and without limits."""
    with command_group(ground.leaf.parent, "beside") as own:
        (own / "cpuset.cpus").write_text(read(ground.leaf / "cpuset.cpus"))
        first = ENTERING.format(group=own)
        tell("leaving", measured("leaving", sandbox, ground, first, attempts=FEW_ATTEMPTS))


def taken_down(sandbox, ground):
    """The partitions are gone from before the replicate on."""

    def take_down(progress):
        if progress.stage == "calibration":
            (CGROUPS / "patchperf/cpuset.cpus.partition").write_text("member")

    told = measured("taken down", sandbox, ground, "pass", progress=take_down, attempts=FEW_ATTEMPTS)
    tell("taken down", told)


def main():
    with docker_daemon():
        image()
        run(*CONTAINER, "--rm", IMAGE, "/bin/true")  # Docker's first one has controllers switched on
        client = engine.connect()
        before = machine()
        assert isolate("up")[0] == 0
        with leased_ground(Isolation(level="partition").plan, say) as ground:
            plain = Processes(SANDBOXES / "processes", placement=ground.placement)
            tell("processes-only", measured("processes-only", plain, ground, LOADED))
            apart = Namespaces(placement=ground.placement)
            tell("namespaces+cgroup", measured("namespaces+cgroup", apart, ground, LOADED))
            setup = Setup(files={"/usr": Path("/usr")}, cgroup_parent=parent_of(ground.placement))
            image_id = client.images.get(IMAGE).id
            with DockerSandbox(client, image_id, SANDBOXES / "docker", "study", setup) as contained:
                tell("docker", measured("docker", contained, ground, LOADED))
            disturbed_once(plain, ground)
            leaving(plain, ground)
            taken_down(plain, ground)
        client.close()
        tell("down", {"output": isolate("down"), "changes": changes(before, machine())})
    tell("end", True)


main()
