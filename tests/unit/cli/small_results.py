"""A results folder as a study leaves it, written with the study's own records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import BaseModel

from patchperf.sandbox.environments import EnvironmentSpec
from patchperf.study import manifest
from patchperf.study.instance import Instance
from patchperf.study.io_lines import IoLine
from patchperf.study.probe import Probe
from patchperf.study.reproduction import Reproduction
from patchperf.study.rows import Row, write_row
from patchperf.study.runs import Run
from patchperf.study.syscalls import DecidingCall, IoVerdict
from patchperf.study.verdicts import Verdict, Verdicts

NAME = "owner__project-7"
TEST = "tests/test_a.py::test_x"
DIGESTS = {"reproduce": "r" * 64, "probe": "p" * 64, "grade": "g" * 64}


def listed(name: str = NAME, **changes: Any) -> dict[str, Any]:
    row = {"instance_id": name, "dataset": "small", "repo": "owner/project", "f2p": 1, "selected": True}
    return row | {"environment": "e" * 64} | DIGESTS | changes


def row(**changes: Any) -> Row:
    instance = {
        "instance_id": NAME,
        "dataset": "small",
        "dialect": "swe-bench",
        "repo": "owner/project",
        "base_commit": "c0ffee" + "0" * 34,
        "patch": "",
        "test_patch": "",
        "fail_to_pass": (TEST,),
        "pass_to_pass": ("tests/test_a.py::test_y",),
    }
    environment = EnvironmentSpec(python="3.9", pip=("one==1", "two==2"))
    return Row(instance=Instance(**instance | changes), candidates=(), environment=environment)


def run(what: str, exit_code: int = 0, **changes: Any) -> Run:
    plain = {"what": what, "command": f"pytest {TEST}", "ended": "exit", "exit_code": exit_code, "seconds": 1.25}
    return Run(**plain | changes)


def reproduction(**changes: Any) -> Reproduction:
    runs = tuple(run(f"ground truth, native command, hash seed {n}", command="pytest tests") for n in (1, 2, 3))
    plain = {
        "instance_id": NAME,
        "spec": DIGESTS["reproduce"],
        "reason": "",
        "evidence": "passed in all of 3 runs",
        "unreproduced": (),
        "runs": runs,
        "confinement": "namespaces",
    }
    return Reproduction(**plain | changes)


POINT = {
    "test": TEST,
    "target": {"runner": "pytest", "file": "tests/test_a.py", "qualname": "test_x", "selector": TEST},
    "shell": {"argv": ("pytest", TEST)},
}
RUNS = (run("ground truth, single point"), run("base, single point", 1), run("decorated, 11 calls, traced"))


def probe(stage: str = "corpus", reason: str = "", **changes: Any) -> Probe:
    plain = {
        "instance_id": NAME,
        "spec": DIGESTS["probe"],
        "stage": stage,
        "reason": reason,
        "evidence": "what was seen",
        "single_point": POINT,
        "runs": RUNS,
        "io": IoVerdict(io=False, classes={"memory": 2}, kinds={}, deciding=(), exceptions={}, unknown=()),
        "confinement": "namespaces",
    }
    return Probe.model_validate(plain | changes)


def call(line: int, name: str = "openat", kind: str = "file data", arguments: str = '3, "a.txt"') -> DecidingCall:
    return DecidingCall.model_validate(
        {"name": name, "kind": kind, "arguments": arguments, "result": "4", "pid": 1, "line": line}
    )


def io_verdict(*calls: DecidingCall, **changes: Any) -> IoVerdict:
    plain = {
        "io": True,
        "classes": {"file data": 5, "memory": 9},
        "kinds": Counter(call.kind for call in calls),
        "deciding": calls,
        "exceptions": {},
        "unknown": (),
    }
    return IoVerdict.model_validate(plain | changes)


def io_line(line: int, name: str = "openat", kind: str = "file data", arguments: str = '3, "a.txt"') -> IoLine:
    return IoLine.model_validate({"line": line, "name": name, "kind": kind, "arguments": arguments})


def verdicts(**changes: Any) -> Verdicts:
    counts = {"f2p_total": 1, "p2p_passed": 3, "p2p_total": 3, "dialect": "swe-bench", "patch": "0" * 64}
    good = {"outcome": "Resolved", "f2p_passed": 1, "solution": "ab" * 32, "link": "git apply", **counts}
    bad = {"outcome": "No-Op", "f2p_passed": 0, "solution": "cd" * 32, "note": "P2P not compared", **counts}
    plain = {
        "instance_id": NAME,
        "spec": DIGESTS["grade"],
        "verdicts": {"ground_truth": Verdict(**good), "model-a": Verdict(**good), "model-b": Verdict(**bad)},
        "reported": {"model-a": True, "model-b": False},
        "confinement": "namespaces",
    }
    return Verdicts(**plain | changes)


CASE = "k" * 64
CASES_HEADER = "instance_id,metric,backend,k,rsd,f,df1,df2,p,alpha,distinguishable,replicates,voids,repetitions,note"


def write_results(results: Path, *everyone: Mapping[str, Any], **records: Any) -> Path:
    """A results folder with these instances in its manifest (default: the one) and its records by their folder."""
    results.mkdir(parents=True, exist_ok=True)
    table = pd.DataFrame([dict(one) for one in everyone or (listed(),)], columns=list(manifest.COLUMNS))
    table.to_parquet(results / "instances.parquet")
    (results / "instances").mkdir(exist_ok=True)
    write_row(records.pop("row", row()), results / "instances")
    for folder, record in records.items():
        write_record(results, folder, record.model_dump_json() if isinstance(record, BaseModel) else record)
    return results


def write_record(results: Path, folder: str, text: str) -> None:
    path = results / folder / f"{NAME}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8")


def write_case(results: Path, *rows: str) -> None:
    """A case of two solutions, and its rows of tables/cases.csv."""
    solutions = [("ab" * 5, ["ground_truth", "model-a"]), ("cd" * 5, ["model-b"])]
    cases = [{"instance_id": NAME, "case": CASE, "solution": one, "sources": sources} for one, sources in solutions]
    pd.DataFrame(cases).to_parquet(results / "cases.parquet")
    if rows:
        (results / "tables").mkdir()
        (results / "tables" / "cases.csv").write_text("\n".join([CASES_HEADER, *rows, ""]), "utf-8")
