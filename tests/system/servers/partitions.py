"""The scenario of a server without systemd: partitions with Docker, from the first `up` to a killed workflow."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from server import (
    CGROUPS,
    CONTAINER,
    IMAGE,
    ISOLATE,
    affinities,
    alive,
    changes,
    container,
    docker_daemon,
    group,
    image,
    isolate,
    last_line,
    machine,
    processes,
    read,
    run,
    tell,
    wait_until,
)  # fmt: skip

from patchperf.isolation.leases import lock_folder, try_lease
from patchperf.isolation.places import command_group, entering, place_of
from patchperf.isolation.state import read_state
from patchperf.isolation.verification import broken, observe, promise_of, sample

LOAD = (sys.executable, "/work/load.py")
ROOT_TYPE, ISOLATED_TYPE = Path("/tmp/root.yaml"), Path("/tmp/isolated.yaml")
SECONDS = "5"
MEMORY_MB = 4096
MORE_MB = str(MEMORY_MB + 200)
USE = """
import signal, sys
from patchperf.config import Isolation
from patchperf.isolation.sharing import use
isolation = Isolation(level="partition")
one = use(isolation.plan, isolation.partition, 4096, isolation.tuning)
print(one.plan.level, flush=True)
sys.stdin.read()
print(one.end(), flush=True)
"""
UP = """
from patchperf.config import Isolation
from patchperf.isolation.sharing import whole_topology
from patchperf.isolation.switch import Wanted, up
isolation, topology = Isolation(level="partition"), whole_topology()
up(Wanted(isolation.plan(topology), "root", 4096, tuple(topology.allowed), isolation.tuning), by_hand=True)
"""


def started(*argv, **options):
    return subprocess.Popen(list(map(str, argv)), stdout=subprocess.PIPE, text=True, **options)


def up_and_down():
    before = machine()
    code, text = isolate("up", "--configfile", ROOT_TYPE)
    after = machine()
    tell("first up", {"code": code, "text": text, "tree": after["tree"], "aslr": after["aslr"]})
    code, text = isolate("up", "--configfile", ROOT_TYPE)
    tell("second up", {"code": code, "text": text, "changes": changes(after, machine())})
    tell("other up", isolate("up"))
    return before


def leased():
    lease = try_lease(read_state().plan, lock_folder())
    tell("status", {"output": isolate("status"), "pid": os.getpid()})
    tell("down while leased", isolate("down"))
    lease.release()


def cases():
    """Docker and a plain command on two groups, while another user keeps the machine busy."""
    init = container("case", 0)
    first = group(0)
    promise = promise_of(first, "partition", "root", MEMORY_MB)
    neighbours = [
        started("setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", *LOAD, "threads", 3, 25),
        started("setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", *LOAD, "refused", *range(6, 14)),
    ]
    leaf = place_of(first, "partition").leaf
    earlier = sample(first, leaf)
    case = {
        "init": observe(init).model_dump(),
        "threads": last_line(run("docker", "exec", "case", "python3", "/work/load.py", "threads", 4, SECONDS)),
        "children": last_line(run("docker", "exec", "case", "python3", "/work/load.py", "children", 4, SECONDS)),
        "refused": last_line(run("docker", "exec", "case", "python3", "/work/load.py", "refused", *range(14))),
    }
    later = sample(first, leaf)
    case["broken"] = broken(promise, observe(init), earlier, later)
    case["busy"] = {cpu: later.busy[cpu] - earlier.busy[cpu] for cpu in later.busy}
    case["elapsed"] = later.at - earlier.at
    tell("processes", sorted(set(processes().values())))
    tell("container", case)
    tell("neighbours", [last_line((one.wait(), one.communicate()[0])) for one in neighbours])
    leaf = place_of(group(1), "partition").leaf
    with command_group(leaf, "command") as own:
        tell("command", last_line(run(*entering(own), *LOAD, "threads", 4, 2)))
        survivor = started(*entering(own), "sleep", "1000")
        wait_until(lambda: str(survivor.pid) in read(own / "cgroup.procs").split())
    tell("left of a command", {"group": own.exists(), "code": survivor.wait()})
    tell("docker with CPUs", run(*CONTAINER, "--rm", "--cpuset-cpus=6,8,10,12", IMAGE, "/bin/true"))


def explanations():
    """Who cannot partition a machine, and why: told by `status`, as `up` would."""
    inside = ("-e", "PYTHONPATH=/work/src:/work/packages", IMAGE, *ISOLATE)
    user = ("setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", *ISOLATE)
    told = {
        "user": run(*user, "up"),
        "container": run(*CONTAINER, "--rm", *inside, "status"),
        "read-only": run(*CONTAINER, "--rm", "--cgroupns=host", *inside, "status"),
    }
    before = machine()
    told["processes"] = run(*CONTAINER, "--rm", "--cgroupns=host", "--privileged", *inside, "up")
    tell("explanations", {**told, "changes": changes(before, machine())})


def written_to_swap():
    """Pages that the machine has written to swap so far."""
    return next(int(line.split()[1]) for line in read("/proc/vmstat").splitlines() if line.startswith("pswpout "))


def memory():
    """More than the limit, in the case and outside of it; there is swap to be had."""
    assert run("mkswap", "/dev/vdc")[0] == 0
    assert run("swapon", "/dev/vdc")[0] == 0
    leaf = place_of(group(0), "partition").leaf
    swapped = written_to_swap()
    inside = run("docker", "exec", "case", "python3", "/work/load.py", "fill", MORE_MB)
    told = {
        "inside": inside[0],
        "less": last_line(run("docker", "exec", "case", "python3", "/work/load.py", "fill", 1024)),
        "events": dict(line.split() for line in read(leaf / "memory.events").splitlines()),
        "swap now": read(leaf / "memory.swap.current"),
        "swapped": written_to_swap() - swapped,
    }
    told["outside"] = last_line(run(*LOAD, "fill", MORE_MB))
    tell("memory", {**told, "swap of the machine": read("/proc/swaps").splitlines()[-1].split()[2]})
    assert run("swapoff", "/dev/vdc")[0] == 0


def intruder():
    """Something that runs on a sibling after all, put there by root."""
    first = group(0)
    leaf = place_of(first, "partition").leaf
    promise = promise_of(first, "partition", "root", MEMORY_MB)
    with command_group(leaf.parent, "intruder") as own:
        (own / "cpuset.cpus").write_text("7")
        earlier = sample(first, leaf)
        run(*entering(own), *LOAD, "threads", 1, 3)
        later = sample(first, leaf)
        other = started(*entering(own), "sleep", "1000")
        wait_until(lambda: str(other.pid) in read(own / "cgroup.procs").split())
        init = int(run("docker", "inspect", "-f", "{{.State.Pid}}", "case")[1])
        tell("sibling", broken(promise, observe(init), earlier, later))
        tell("outside", broken(promise, observe(other.pid), earlier, later))
    other.wait()


def killed():
    """A workflow killed with a container on its group, and `up` killed half-way."""
    before = machine()
    workflow = started(sys.executable, "-c", USE, stdin=subprocess.PIPE)
    level = workflow.stdout.readline().strip()
    pid = container("orphan", 2)
    refused = isolate("down")
    workflow.kill()
    workflow.wait()
    running = alive(pid)
    down = isolate("down")
    run("docker", "rm", "-f", "orphan")
    changed = changes(before, machine())
    tell("killed workflow", {
        "level": level, "down while it runs": refused, "container before": running, "container after": alive(pid),
        "down": down, "changes": changed,
    })  # fmt: skip
    half = started(sys.executable, "-c", UP)
    wait_until((CGROUPS / "patchperf/group-3").exists)
    half.send_signal(signal.SIGSTOP)
    at = (CGROUPS / "patchperf/group-6").exists()
    half.kill()
    half.wait()
    status = isolate("status")
    down = isolate("down")
    tell("killed up", {"finished": at, "status": status, "down": down, "changes": changes(before, machine())})
    tell("nothing to undo", isolate("down"))


def shared():
    """Two workflows at once."""
    before = machine()
    first = started(sys.executable, "-c", USE, stdin=subprocess.PIPE)
    second = started(sys.executable, "-c", USE, stdin=subprocess.PIPE)
    levels = [one.stdout.readline().strip() for one in (first, second)]
    told = {"levels": levels, "by hand": read_state().by_hand}
    first.stdin.close()
    told["first"] = first.stdout.readline().strip()
    told["up"] = (CGROUPS / "patchperf").exists()
    second.stdin.close()
    told["second"] = second.stdout.readline().strip()
    first.wait(), second.wait()
    tell("shared", {**told, "changes": changes(before, machine())})


def of_type_isolated():
    """What becomes of several threads and children without load balancing."""
    tell("isolated up", isolate("up", "--configfile", ISOLATED_TYPE))
    place = place_of(group(0), "partition")
    with command_group(place.leaf, "command") as own:
        tell("isolated", {
            "threads": last_line(run(*entering(own), *LOAD, "threads", 4, SECONDS)),
            "children": last_line(run(*entering(own), *LOAD, "children", 4, SECONDS)),
        })  # fmt: skip
    isolate("down")


def main():
    ROOT_TYPE.write_text("isolation: {level: partition, tuning: {governor: performance, turbo: false, aslr: 'off'}}\n")
    ISOLATED_TYPE.write_text("isolation: {level: partition, partition: isolated}\n")
    with docker_daemon():
        image()
        explanations()
        pinned = subprocess.Popen(["taskset", "--cpu-list", "3,20", "sleep", "10000"])
        before = up_and_down()
        leased()
        cases()
        memory()
        intruder()
        code, text = isolate("down")
        run("docker", "rm", "-f", "case")
        tell(
            "down",
            {
                "code": code,
                "text": text,
                "changes": changes(before, machine()),
                "pinned": affinities()[f"{pinned.pid} sleep"],
            },
        )
        killed()
        shared()
        of_type_isolated()
        tell("in the end", changes(before, machine()))
    tell("end", True)


main()
