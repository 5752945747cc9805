"""What the scenarios of the emulated server have in common."""

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from patchperf.isolation.places import place_of
from patchperf.isolation.state import read_state

CGROUPS = Path("/sys/fs/cgroup")
ISOLATE = (sys.executable, "-c", "from patchperf.cli.isolate import app; app()")
IMAGE = "base:1"
CONTAINER = (
    "docker", "run", "--network=none", "-v", "/usr:/usr:ro", "-v", "/work:/work:ro",
    "-e", "PYTHONDONTWRITEBYTECODE=1",
)  # fmt: skip
DOCKER_SECONDS = 300


def tell(name, value):
    """A result for the test."""
    print(json.dumps([name, value]), flush=True)


def say(*words):
    """Something for whoever looks for what went wrong."""
    print(f"{time.monotonic():.1f}", *words, flush=True)


def run(*argv):
    """A command's exit code and what it printed."""
    started = time.monotonic()
    done = subprocess.run(
        list(map(str, argv)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    text = done.stdout.decode("utf-8", "replace")
    say(f"({time.monotonic() - started:.1f} s)", *argv, "->", done.returncode, text[-600:])
    return done.returncode, text


def isolate(*words):
    """``patchperf isolate`` as a user has it."""
    return run(*ISOLATE, *words)


def image():
    """Import an image that has all from the server itself."""
    folder = Path("/tmp/image")
    for name in ("usr", "proc", "dev", "sys", "tmp", "etc", "work"):
        (folder / name).mkdir(parents=True)
    for name in ("bin", "lib", "lib64"):
        (folder / name).symlink_to(f"usr/{name}")
    assert run("sh", "-c", f"tar -C {folder} -c . | docker import - {IMAGE}")[0] == 0


@contextlib.contextmanager
def docker_daemon():
    """Docker where no first process has started it; ended in the end."""
    run("ip", "link", "set", "lo", "up")
    with Path("/tmp/dockerd.log").open("w") as log:
        daemon = subprocess.Popen(
            ["dockerd", "--data-root=/tmp/docker", "--exec-root=/run/docker"],
            stdout=log,
            stderr=log,
        )
    wait_for_docker()
    yield
    daemon.terminate()
    daemon.wait()


def wait_for_docker():
    deadline = time.monotonic() + DOCKER_SECONDS
    while subprocess.run(["docker", "version"], capture_output=True, check=False).returncode:
        assert time.monotonic() < deadline, "dockerd does not answer"
        time.sleep(0.5)


def read(path):
    """A file's text; None where there is no such file."""
    try:
        return Path(path).read_text().strip()
    except OSError:
        return None


def tree():
    """The control groups with all that concerns CPUs, memory and controllers.

    A group with all CPUs and one with none of its own are the same: a kernel may refuse to let it have none again.
    """
    files = (
        "cgroup.subtree_control", "cpuset.cpus", "cpuset.cpus.effective", "cpuset.cpus.partition", "cpuset.mems",
        "memory.max", "memory.swap.max",
    )  # fmt: skip
    groups = [CGROUPS, *sorted(path for path in CGROUPS.rglob("*") if path.is_dir())]
    found = {str(group.relative_to(CGROUPS)): {name: read(group / name) for name in files} for group in groups}
    every = read("/sys/devices/system/cpu/online")
    return {name: told | {"cpuset.cpus": ""} if told["cpuset.cpus"] == every else told for name, told in found.items()}


def processes():
    """All processes but the kernel's and those that have ended: name, group, and CPUs they may run on."""
    found = {}
    for path in Path("/proc").iterdir():
        if path.name.isdecimal() and read(path / "cmdline"):
            with contextlib.suppress(TypeError, AttributeError, KeyError):
                status = dict(line.split(":\t", 1) for line in read(path / "status").splitlines() if ":\t" in line)
                group = read(path / "cgroup").removeprefix("0::/")
                found[int(path.name)] = (status["Name"], group, status["Cpus_allowed_list"])
    return found


def affinities():
    """The CPUs that each process may run on, by number and name."""
    return {f"{pid} {name}": cpus for pid, (name, _, cpus) in processes().items()}


def machine():
    """All that `down` has to leave as it was."""
    return {"tree": tree(), "aslr": read("/proc/sys/kernel/randomize_va_space"), "affinities": affinities()}


def changes(before, after):
    """What differs, but for processes that came or went."""
    both = before["affinities"].keys() & after["affinities"].keys()
    found = [f"{name}: {before['affinities'][name]} {after['affinities'][name]}" for name in sorted(both)]
    found = [one for one in found if len(set(one.rpartition(": ")[2].split())) > 1]
    for group in sorted(before["tree"].keys() | after["tree"].keys()):
        was, now = before["tree"].get(group), after["tree"].get(group)
        if was != now:
            found.append(f"{group}: {was} {now}")
    return found + [f"aslr {before['aslr']} {after['aslr']}"] * (before["aslr"] != after["aslr"])


def group(index):
    return read_state().plan.groups[index]


def container(name, index, *options):
    place = place_of(group(index), "partition")
    made = run(*CONTAINER, "-d", "--name", name, *place.container_options, *options, IMAGE, "/bin/sleep", "10000")
    assert made[0] == 0
    return int(run("docker", "inspect", "-f", "{{.State.Pid}}", name)[1])


def alive(pid):
    return bool(read(f"/proc/{pid}/cmdline"))


def wait_until(true, seconds=120):
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not come to that in time"
        time.sleep(0.05)


def last_line(output):
    """What a program of ours told, as JSON in its last line."""
    lines = output[1].strip().splitlines()
    return json.loads(lines[-1]) if output[0] == 0 and lines else None


os.chdir("/tmp")
