"""The scenario of workflows that measure on partitions: brought up and taken down by the executor, however they end."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from server import CGROUPS, alive, changes, isolate, machine, read, run, say, tell, wait_until

SNAKEMAKE = (
    sys.executable, "-m", "snakemake", "--executor", "core-groups", "--cores", "all", "--scheduler", "greedy",
    "--nolock", "--core-groups-grace", "10", "--quiet", "rules", "progress", "host",
)  # fmt: skip
SNAKEFILE = """
rule all:
    input: expand("done/{i}", i=range(int(config["jobs"])))

rule measured:
    output: "done/{i}"
    resources: core_group=1
    threads: 0
    shell:
        "sh measured.sh $PATCHPERF_LEASE $PATCHPERF_ISOLATION {config[seconds]} >{output}.told"
        " && mv {output}.told {output}"
"""
MEASURED = """
group=/sys/fs/cgroup/patchperf/group-${1%%:*}
echo $2 $(cat $group/cpuset.cpus.partition) $(cat $group/leaf/cpuset.cpus.effective)
mkdir $group/leaf/$$
sh -c "echo 0 >$group/leaf/$$/cgroup.procs; exec grep Cpus_allowed_list /proc/self/status"
rmdir $group/leaf/$$
echo $$ >pid
exec sleep $3
"""
FOLDER = Path("/tmp/workflow")


def workflow(jobs, seconds):
    return [*SNAKEMAKE, "--config", f"jobs={jobs}", f"seconds={seconds}", "isolation=partition"]


def started():
    """A workflow whose job is under way."""
    for left in (FOLDER / "pid", FOLDER / "done/0"):
        left.unlink(missing_ok=True)
    log = (FOLDER / "log").open("w")
    one = subprocess.Popen(workflow(1, 10000), stdout=log, stderr=log, start_new_session=True)
    wait_until((FOLDER / "pid").exists, 400)
    wait_until(lambda: read(FOLDER / "pid"))
    return one, int(read(FOLDER / "pid"))


def main():
    FOLDER.mkdir()
    os.chdir(FOLDER)
    (FOLDER / "Snakefile").write_text(SNAKEFILE)
    (FOLDER / "measured.sh").write_text(MEASURED)
    before = machine()
    code, text = run(*workflow(2, 1))
    told = [read(FOLDER / f"done/{number}") for number in range(2)]
    tell("done", {"code": code, "text": text, "told": told, "changes": changes(before, machine())})

    one, job = started()
    say("interrupted", one.pid)
    one.send_signal(signal.SIGINT)
    one.wait()
    say(read(FOLDER / "log"))
    tell("interrupted", {"changes": changes(before, machine()), "job": alive(job), "log": read(FOLDER / "log")})

    one, job = started()
    one.kill()
    one.wait()
    up = (CGROUPS / "patchperf").exists()
    busy = isolate("down")
    os.kill(job, signal.SIGKILL)  # a job of a shell rule goes on without its Snakemake, and so does its lease
    wait_until(lambda: not alive(job))
    wait_until(lambda: "leased by" not in isolate("status")[1])
    status = isolate("status")
    tell(
        "killed",
        {"up": up, "busy": busy, "status": status, "down": isolate("down"), "changes": changes(before, machine())},
    )
    tell("end", True)


main()
