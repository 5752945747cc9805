"""The in-process module under every CPython that this machine has from 3.5 on, at least the running one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from patchperf.counters.protocol import INPROCESS

SCRIPT = """
import asyncio, itertools, json, sys
import patchperf_inprocess as p

class Example:
    def method(self, one, two=2):
        return (one, two)

async def coroutine(one):
    await asyncio.sleep(0)
    return one

def fails():
    raise ValueError("no")

def run(mode, function, *args, **kwargs):
    with open(sys.path[0] + "/spec.json", "w") as file:
        json.dump({"mode": mode, "warmup": 2, "out": sys.path[0] + "/out.jsonl", "marker": "m", "trial_seconds": 0.001,
            "min_seconds": 0.002, "max_seconds": 0.01, "repetitions": 9, "counter": "none", "calls": 2}, file)
    p._invocations = itertools.count(1)
    return p.measured(function)(*args, **kwargs)

for mode in ("probe", "lines", "trial", "calibrate", "replicate"):
    assert run(mode, Example.method, Example(), 1, two=3) == (1, 3)
assert run("forked", Example.method, Example(), 1) is None
loop = asyncio.new_event_loop()
assert loop.run_until_complete(run("replicate", coroutine, 7)) == 7
loop.close()
try:
    run("replicate", fails)
except ValueError:
    pass
"""


def interpreters(since: int = 5) -> list[str]:
    roots = [Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions", Path("/usr")]
    found = {sys.version_info[:2]: sys.executable}
    for path in [path for root in roots for path in [*root.glob("3.*/bin/python3.?*"), *root.glob("bin/python3.?*")]]:
        minor = path.name.removeprefix("python3.")
        if minor.isdecimal() and int(minor) >= 5:
            found.setdefault((3, int(minor)), str(path))
    return [found[version] for version in sorted(found) if version[1] >= since]


@pytest.mark.parametrize("python", interpreters())
def test_every_mode_and_kind_of_test_runs(python, tmp_path):
    (tmp_path / INPROCESS.name).write_bytes(INPROCESS.read_bytes())
    (tmp_path / "script.py").write_text(SCRIPT)
    done = subprocess.run(
        [python, "-B", "-W", "error", "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    records = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    modes = [record["mode"] for record in records]
    assert modes == ["probe", "lines", "trial", "calibrate", "replicate", "forked", "replicate", "replicate"]
    assert records.pop(5)["children"] == [0, 0]
    assert [record["repetitions"] for record in records[-3:]] == [9, 9, 0]
    assert records[-1]["failed"]["call"] == 1
    assert all(record["wall_ns"] > 0 for record in records[:-1])
    assert {record["invocation"] for record in records} == {1}


LAZY = """
import json, os
with open("spec.json", "w") as file:
    json.dump({"mode": "replicate", "warmup": 2, "repetitions": 3, "counter": "none", "out": "out.jsonl"}, file)
with open("slow.py", "w") as file:
    file.write("import time; time.sleep(0.02)")
import patchperf_inprocess as harness
def test():
    import slow
harness.measured(test)()
"""


@pytest.mark.parametrize("python", interpreters())
def test_what_a_first_call_imports_is_timed(python, tmp_path):
    (tmp_path / INPROCESS.name).write_bytes(INPROCESS.read_bytes())
    (tmp_path / "script.py").write_text(LAZY)
    subprocess.run([python, "-B", "-W", "error", "script.py"], cwd=tmp_path, check=True)
    record = json.loads((tmp_path / "out.jsonl").read_text())
    assert 20_000_000 <= record["first_call_import_ns"] <= record["first_call_ns"]


MONITORED = """
import json, os, sys
with open("spec.json", "w") as file:
    json.dump({"mode": "probe", "warmup": 1, "marker": "m", "out": os.path.abspath("out.jsonl")}, file)
import patchperf_inprocess as harness
monitoring = sys.monitoring
monitoring.use_tool_id(monitoring.COVERAGE_ID, "coverage")
monitoring.set_events(monitoring.COVERAGE_ID, monitoring.events.PY_START)
try:
    harness.measured(int)()
except TypeError as refusal:
    print(refusal)
"""


@pytest.mark.parametrize("python", interpreters(since=12))
def test_a_test_that_sys_monitoring_watches_is_refused(python, tmp_path):
    (tmp_path / INPROCESS.name).write_bytes(INPROCESS.read_bytes())
    (tmp_path / "script.py").write_text(MONITORED)
    done = subprocess.run([python, "-B", "script.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "the test runs under a tracer or profiler: coverage (sys.monitoring)\n"
