"""Real runs of a small workflow, watched through the plug-in: in a log, on a terminal, failing, interrupted."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SNAKEFILE = """
import json
from pathlib import Path
from snakemake_logger_plugin_patchperf import follow

rule all:
    input: "records.txt"

onstart:
    follow(workflow)

checkpoint cases:
    output: "cases.json"
    shell: "sleep 1; echo '[\\"ada\\", \\"bob\\", \\"eve\\"]' > {output}"

def measured(wildcards):
    return expand("measured/{case}.txt", case=json.loads(Path(checkpoints.cases.get().output[0]).read_text()))

rule measure:
    input: ancient("cases.json")
    output: "measured/{case}.txt"
    log: "logs/{case}.log"
    params:
        fails=config.get("fails", "nobody"), naps=config.get("naps", 5),
        says="error: disk full" if config.get("fails") == "all" else "oh no"
    shell:
        "for n in $(seq {params.naps}); do echo \\"at done=$n, total={params.naps}\\" >> {log}; sleep 0.2; done; "
        "if [ {wildcards.case} = {params.fails} -o {params.fails} = all ]; "
        "then echo '{params.says}' >> {log}; exit 1; fi; touch {output}"

rule measurements:
    input: measured
    output: "records.txt"
    shell: "ls {input} > {output}"
"""

PROFILE = """
cores: 2
executor: local
scheduler: greedy
keep-going: true
show-failed-logs: true
rerun-incomplete: true
nolock: true
logger: patchperf
logger-patchperf-interval: 0.5
"""


@pytest.fixture
def workflow(tmp_path: Path) -> Path:
    (tmp_path / "Snakefile").write_text(SNAKEFILE, "utf-8")
    profile = tmp_path / "profiles" / "default" / "profile.yaml"
    profile.parent.mkdir(parents=True)
    profile.write_text(PROFILE, "utf-8")
    return tmp_path


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "snakemake", *arguments]


def run(folder: Path, *arguments: str) -> tuple[int, str]:
    done = subprocess.run(command(*arguments), cwd=folder, capture_output=True, text=True, check=False)
    assert done.stdout == ""
    return done.returncode, done.stderr


def without_clock(output: str) -> list[str]:
    return [re.sub(r"^\d+:\d\d:\d\d  ", "", line) for line in output.splitlines()]


def test_a_run_tells_its_stages_in_plain_lines_and_a_second_run_that_there_is_nothing_to_do(workflow: Path) -> None:
    code, output = run(workflow)
    assert code == 0, output
    lines = without_clock(output)
    assert "0/2 jobs known so far; more follow from cases" in lines
    assert any(re.fullmatch(r"measurements +0/3 cases · [12] running.*", line) for line in lines), output
    assert any(re.fullmatch(r"measurements +[12]/3 cases · \d running · less than 10 s left.*", line) for line in lines)
    assert any(re.fullmatch(r"measurements +3/3 cases · in \d+ s", line) for line in lines), output
    assert re.fullmatch(r"all 5 jobs done in \d+ s", lines[-1])
    assert "localrule" not in output
    (log,) = (workflow / ".snakemake" / "log").glob("*.log")
    assert f"Complete log(s): {log}" in lines
    assert log.read_text("utf-8").count("localrule measure:") == 3

    code, output = run(workflow)
    assert code == 0
    assert output.splitlines() == [
        "Using workflow specific profile profiles/default for setting default command line arguments.",
        "Nothing to be done (all requested files are present and up to date).",
    ]


def test_a_failed_job_is_shown_with_its_log_while_the_others_go_on(workflow: Path) -> None:
    code, output = run(workflow, "--config", "fails=bob")
    assert code == 1
    assert re.search(
        rf"error: measure failed for case=bob\n  command: for n in [^\n]*\n  log: {workflow}/logs/bob\.log\n"
        r"(    \| at done=\d, total=5\n){5}    \| oh no\n",
        output,
    ), output
    assert "CalledProcessError" not in output
    assert "WorkflowError" not in output
    assert re.search(r"measurements +2/3 cases · 1 failed · in \d+ s", output), output
    last = output.splitlines()[-1]
    assert re.fullmatch(r"1 failed: measure bob; 3 jobs of 5 done in \d+ s; the same command continues", last), last


def test_a_reason_that_several_jobs_have_is_told_once(workflow: Path) -> None:
    code, output = run(workflow, "--config", "fails=all")
    assert code == 1
    assert len(re.findall(r"^error: measure (?:ada|bob|eve): disk full\n  log: .*/logs/...\.log$", output, re.M)) == 1
    assert output.count("disk full") == 1
    assert re.search(r"measurements +0/3 cases · 3 failed · in \d+ s", output), output
    last = output.splitlines()[-1]
    assert re.match(r"3 failed: measure (ada|bob|eve), measure (ada|bob|eve), measure (ada|bob|eve); 1 job of 5", last)


def test_a_dry_run_is_shown_as_snakemake_shows_it(workflow: Path) -> None:
    done = subprocess.run(command("-n"), cwd=workflow, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "checkpoint cases:" in done.stdout
    assert "This was a dry-run" in done.stdout


def test_a_terminal_shows_a_live_display_and_is_left_as_it_was_when_interrupted(workflow: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command("--config", "naps=200"),
        cwd=workflow,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": "120"},
    )
    os.close(theirs)
    try:
        shown = read_until(ours, r"2 running · about \d+ (s|min) left · \w+ \d+ of 200 · \w+ \d+ of 200")
        os.killpg(process.pid, signal.SIGINT)
        shown += read_until(ours, r"the same command continues")
        assert process.wait(timeout=120) == 1
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        os.close(ours)
    assert "interrupted; 1 job of 5 done" in shown
    assert "error: measure failed" not in shown
    assert shown.rfind("\x1b[?25h") > shown.rfind("\x1b[?25l"), "the cursor is visible at the end"


def read_until(terminal: int, pattern: str, seconds: float = 180.0) -> str:
    """What a terminal shows until the pattern is seen; control sequences stay in it, the pattern is without them."""
    shown, deadline = "", time.monotonic() + seconds
    while not re.search(pattern, re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)):
        assert time.monotonic() < deadline, f"{pattern} not seen in {shown}"
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                shown += os.read(terminal, 65536).decode("utf-8", "replace")
            except OSError as error:
                raise AssertionError(f"{pattern} not seen in {shown}") from error
    return shown
