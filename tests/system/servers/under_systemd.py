"""The scenario of a server with systemd and two NUMA nodes: its slices are asked, and have all back in the end."""

from pathlib import Path

from server import (
    CONTAINER,
    IMAGE,
    changes,
    container,
    image,
    isolate,
    last_line,
    machine,
    processes,
    read,
    run,
    tell,
    tree,
    wait_for_docker,
)  # fmt: skip

from patchperf.isolation.places import docker_problem
from patchperf.isolation.verification import observe

DROP_INS = Path("/run/systemd/system.control")
LATE = Path("/run/systemd/system/late.service")


def settled(text):
    """Where all runs, and what the kernel says of the groups of ours."""
    groups = {name: files for name, files in tree().items() if name.startswith("patchperf")}
    return {"processes": sorted(set(processes().values())), "groups": groups, "status": text}


def drop_ins():
    return sorted(str(path.relative_to(DROP_INS)) for path in DROP_INS.rglob("*.conf"))


def main():
    wait_for_docker()
    image()
    run(*CONTAINER, "--rm", IMAGE, "/bin/true")
    run("systemctl", "set-property", "--runtime", "system-modprobe.slice", "AllowedCPUs=0-9")
    own = drop_ins()
    before = machine()
    tell("up", isolate("up"))
    tell("settled", settled(isolate("status")))
    LATE.write_text("[Service]\nType=oneshot\nExecStart=/bin/cat /proc/self/status\nStandardOutput=file:/run/late\n")
    run("systemctl", "daemon-reload")
    run("systemctl", "start", "late.service")
    late = [line.split()[1] for line in (read("/run/late") or "").splitlines() if line.startswith("Cpus_allowed_list")]
    tell("late", late)
    tell("reloaded", settled(isolate("status")))
    driver = run("docker", "info", "--format", "{{.CgroupDriver}}")[1].strip()
    tell("driver", [driver, docker_problem(driver)])
    init = container("case", 3)
    inside = last_line(run("docker", "exec", "case", "python3", "/work/load.py", "threads", 4, 2))
    tell("case", {"init": observe(init).model_dump(), "inside": inside})
    run("docker", "rm", "-f", "case")
    down = isolate("down")
    shown = run("systemctl", "show", "--property=Id,AllowedCPUs,EffectiveCPUs", "init.scope", "docker.service")[1]
    tell("down", {"output": down, "shown": shown, "changes": changes(before, machine()), "drop-ins": [own, drop_ins()]})
    tell("failed", run("systemctl", "--failed", "--no-legend", "--plain")[1])
    tell("end", True)


main()
