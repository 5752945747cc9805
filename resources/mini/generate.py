"""Write what the mini-study is run on, from what its authors wrote.

Read: ``repositories/`` (source trees), ``changes/`` (a folder per instance, and what those of a repository share).
Written: datasets, predictions and environments, what is expected of them, and the tables of README.md.

Run ``python resources/mini/generate.py`` after every change of what is read.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from patchperf.config import Repositories
from patchperf.quality.outcomes import Level, Outcome
from patchperf.sandbox.mirrors import mirror
from patchperf.study.instance import GROUND_TRUTH

HERE = Path(__file__).resolve().parent
SOURCES = ("atlas", "birch", "cedar", "dune")
DATASETS = ("instances", "instances-live")
KEPT = "kept"
F2P: Mapping[Outcome, Level] = {
    "Resolved": "all",
    "Breaking Resolved": "all",
    "Partially Resolved": "partial",
    "Work in Progress": "partial",
    "No-Op": "none",
    "Regression": "none",
}
BREAKING = ("Breaking Resolved", "Work in Progress", "Regression")
README_MARKS = ("<!-- tables: written by generate.py -->\n", "<!-- end of tables -->\n")


@dataclass(frozen=True)
class Expectation:
    """What a source's patch is, and what should come of it; ``solution`` is whose code it equals, itself aside.

    ``p2p`` is how many P2P tests hold after a patch that breaks some; ``other`` the outcome in the other dialect, where
    that is another one.
    """

    outcome: Outcome
    what: str
    patch: str
    solution: str
    reported: bool
    p2p: Level
    other: Outcome | None

    @property
    def levels(self) -> tuple[Level, Level] | None:
        """How many F2P and P2P tests hold; None if there is no telling, since they are not run."""
        return (F2P[self.outcome], self.p2p) if self.outcome in F2P else None


@dataclass(frozen=True)
class Entry:
    """One instance as it was written; ``verdict`` is "kept" or why it is excluded."""

    instance_id: str
    why: str
    verdict: str
    dataset: str
    created_at: str
    problem: str
    hints: str
    test_commands: tuple[str, ...]
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]
    ground_truth: str
    tests: str
    candidates: Mapping[str, Expectation]

    @property
    def folder(self) -> str:
        """The repository as ``<owner>__<name>``."""
        return self.instance_id.rpartition("-")[0]

    @property
    def number(self) -> int:
        """The instance's number in its repository."""
        return int(self.instance_id.rpartition("-")[2])

    @property
    def repo(self) -> str:
        """The repository as ``<owner>/<name>``."""
        return self.folder.replace("__", "/")


def read_entries(changes: Path) -> list[Entry]:
    """All instances, by repository and number; raises KeyError or TypeError for a key that is missing or unknown."""
    entries = [read_entry(file.parent) for file in changes.glob("*/instance.toml")]
    return sorted(entries, key=lambda entry: (entry.folder, entry.number))


def read_entry(folder: Path) -> Entry:
    """The instance in one folder."""
    written = tomllib.loads((folder / "instance.toml").read_text("utf-8"))
    candidates = {
        source: read_candidate(folder, source, values) for source, values in sorted(written.pop("candidates").items())
    }
    tests: dict[str, Any] = {key: tuple(written.pop(key)) for key in ("test_commands", "fail_to_pass", "pass_to_pass")}
    return Entry(
        instance_id=folder.name,
        why=one_line(written.pop("why")),
        dataset=written.pop("dataset", DATASETS[0]),
        hints=written.pop("hints", ""),
        problem=(folder / "problem.md").read_text("utf-8"),
        ground_truth=read_patch(folder / f"{GROUND_TRUTH}.diff"),
        tests=read_patch(folder / "tests.diff"),
        candidates=candidates,
        **tests,
        **written,
    )


def read_candidate(folder: Path, source: str, values: Mapping[str, Any]) -> Expectation:
    """One source's patch: a file of its own, another's (``patch``), without final newline, or ``empty``."""
    allowed = {"outcome", "what", "patch", "solution", "reported", "final_newline", "empty", "p2p", "other"}
    if source not in SOURCES or not allowed.issuperset(values):
        raise KeyError(f"{folder.name}: candidate {source}: {', '.join(values)}")
    if ("p2p" in values) != (values["outcome"] in BREAKING):
        raise ValueError(f"{folder.name}: candidate {source}: p2p is for {', '.join(BREAKING)}")
    patch = "" if values.get("empty") else read_patch(folder / values.get("patch", f"{source}.diff"))
    return Expectation(
        outcome=values["outcome"],
        what=one_line(values["what"]),
        patch=patch if values.get("final_newline", True) else patch.removesuffix("\n"),
        solution=values.get("solution", source),
        reported=values.get("reported", values["outcome"] == "Resolved"),
        p2p=values.get("p2p", "all"),
        other=values.get("other"),
    )


def one_line(text: str) -> str:
    """A text that is broken into lines to be read."""
    return " ".join(text.split())


def read_patch(path: Path) -> str:
    """A patch with its line ends as they are."""
    return path.read_bytes().decode("utf-8")


def base_commits(entries: Iterable[Entry], root: Path) -> dict[str, str]:
    """The commit that each repository's source tree becomes in every study."""
    repositories = Repositories(trees="repositories")
    with tempfile.TemporaryDirectory() as cache:
        return {
            repo: head(mirror(repo, repositories, (root,), Path(cache)))
            for repo in sorted({entry.repo for entry in entries})
        }


def head(git_directory: Path) -> str:
    """The commit that a repository stands at."""
    command = ["git", f"--git-dir={git_directory}", "rev-parse", "HEAD"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def eval_script(entry: Entry, commit: str) -> str:
    """The script of a SWE-bench 5 row, without the lines that set up its container."""
    files = [line.removeprefix("+++ b/") for line in entry.tests.splitlines() if line.startswith("+++ b/")]
    known = [file for file in files if f"--- a/{file}\n" in entry.tests]
    restore = [f"git checkout {commit} {shlex.join(known)}"] if known else []
    return "\n".join(
        [
            "#!/usr/bin/env bash",
            "set -uxo pipefail",
            "git status",
            f"git -c core.fileMode=false diff {commit}",
            *restore,
            "git apply -v - <<'EOF_114329324912'",
            entry.tests,
            "EOF_114329324912",
            ": '>>>>> Start Test Output'",
            *entry.test_commands,
            ": '>>>>> End Test Output'",
            *restore,
            "",
        ]
    )


def verified_row(entry: Entry, commit: str, shared: Mapping[str, Any]) -> dict[str, Any]:
    """An instance as a row of SWE-bench 5: lists of tests are JSON in a string."""
    return {
        "repo": entry.repo,
        "instance_id": entry.instance_id,
        "base_commit": commit,
        "patch": entry.ground_truth,
        "test_patch": entry.tests,
        "problem_statement": entry.problem,
        "hints_text": entry.hints,
        "created_at": entry.created_at,
        "version": shared["version"],
        "FAIL_TO_PASS": json.dumps(entry.fail_to_pass, ensure_ascii=False),
        "PASS_TO_PASS": json.dumps(entry.pass_to_pass, ensure_ascii=False),
        "environment_setup_commit": commit,
        "eval_script": eval_script(entry, commit),
        "log_parser": shared["log_parser"],
        "eval_type": "pass_and_fail",
        "image": "",
    }


def live_row(entry: Entry, commit: str, shared: Mapping[str, Any]) -> dict[str, Any]:
    """An instance as a row of SWE-bench-Live."""
    return {
        "repo": entry.repo,
        "pull_number": str(entry.number),
        "instance_id": entry.instance_id,
        "issue_numbers": [str(entry.number - 1)],
        "base_commit": commit,
        "patch": entry.ground_truth,
        "test_patch": entry.tests,
        "problem_statement": entry.problem,
        "hints_text": entry.hints,
        "created_at": entry.created_at,
        "rebuild_cmds": [],
        "test_cmds": entry.test_commands,
        "print_cmds": [],
        "log_parser": shared["log_parser"].removeprefix("parse_log_"),
        "FAIL_TO_PASS": entry.fail_to_pass,
        "PASS_TO_PASS": entry.pass_to_pass,
    }


ROWS: Mapping[str, Callable[[Entry, str, Mapping[str, Any]], dict[str, Any]]] = dict(
    zip(DATASETS, (verified_row, live_row), strict=True)
)


def predictions(entries: Iterable[Entry], source: str) -> list[dict[str, str]]:
    """One source's patches."""
    return [
        {
            "instance_id": entry.instance_id,
            "model_name_or_path": source,
            "model_patch": entry.candidates[source].patch,
        }
        for entry in entries
        if source in entry.candidates
    ]


def reported(entries: Sequence[Entry]) -> dict[str, list[str]]:
    """What each source's authors say they resolved."""
    return {
        source: [
            entry.instance_id for entry in entries if source in entry.candidates and entry.candidates[source].reported
        ]
        for source in SOURCES
    }


def expected(entries: Sequence[Entry]) -> dict[str, Any]:
    """Status and reason of every instance, outcome and levels of every patch, sources that share a solution of a kept one.

    Levels are those of F2P and P2P tests; outcomes in the other dialect are there where they differ.
    """
    return {
        "ledger": {
            entry.instance_id: [KEPT, ""] if entry.verdict == KEPT else ["excluded", entry.verdict] for entry in entries
        },
        "outcomes": {
            entry.instance_id: {source: patch.outcome for source, patch in entry.candidates.items()}
            for entry in entries
        },
        "levels": {
            entry.instance_id: {source: patch.levels for source, patch in entry.candidates.items() if patch.levels}
            for entry in entries
        },
        "other_dialect": {
            entry.instance_id: other
            for entry in entries
            if (other := {source: patch.other for source, patch in entry.candidates.items() if patch.other})
        },
        "solutions": {entry.instance_id: solutions(entry) for entry in entries if entry.verdict == KEPT},
    }


def solutions(entry: Entry) -> list[list[str]]:
    """The distinct solutions of an instance, each as the sources that share it; the ground truth's comes first."""
    groups = {GROUND_TRUTH: [GROUND_TRUTH]}
    for source, patch in entry.candidates.items():
        if patch.outcome == "Resolved":
            groups.setdefault(patch.solution, []).append(source)
    return list(groups.values())


def told(patch: Expectation) -> str:
    """A patch's outcome, with what the outcome alone does not say."""
    more = [f"P2P {patch.p2p}"] if patch.outcome in BREAKING else []
    more += [f"{patch.other} in the other dialect"] if patch.other else []
    return f"{patch.outcome} ({', '.join(more)})" if more else patch.outcome


def tables(entries: Sequence[Entry]) -> str:
    """The tables of README.md: all outcomes at a glance, then each instance with its patches."""
    lines = ["| instance | verdict | " + " | ".join(SOURCES) + " |", "|---" * (2 + len(SOURCES)) + "|"]
    for entry in entries:
        cells = [entry.candidates[source].outcome if source in entry.candidates else "" for source in SOURCES]
        lines.append("| " + " | ".join([entry.instance_id, entry.verdict, *cells]) + " |")
    for entry in entries:
        lines += ["", f"### {entry.instance_id}: {entry.verdict}", "", entry.why, ""]
        lines += [f"- {source}, {told(patch)}: {patch.what}" for source, patch in entry.candidates.items()]
    return "\n".join(lines) + "\n"


def with_tables(readme: str, written: str) -> str:
    """The README with the text between its two marks replaced."""
    before, _, rest = readme.partition(README_MARKS[0])
    _, found, after = rest.partition(README_MARKS[1])
    if not found:
        raise ValueError(f"README.md lacks the lines {' and '.join(map(str.strip, README_MARKS))}")
    return "".join([before, README_MARKS[0], "\n", written, "\n", README_MARKS[1], after])


def json_text(value: Any) -> str:
    """JSON for people: what fits on a line stands on one."""
    return _json_block(value, "") + "\n"


def _json_block(value: Any, indent: str) -> str:
    flat = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (Mapping, list)) or len(indent + flat) <= 150:
        return flat
    inner = indent + " "
    if isinstance(value, Mapping):
        items = [f"{json.dumps(key)}: {_json_block(item, inner)}" for key, item in value.items()]
    else:
        items = [_json_block(item, inner) for item in value]
    opening, closing = "{}" if isinstance(value, Mapping) else "[]"
    return f"{opening}\n{inner}" + f",\n{inner}".join(items) + f"\n{indent}{closing}"


def json_lines(rows: Iterable[Mapping[str, Any]]) -> str:
    """One row a line."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def generate(root: Path = HERE) -> dict[str, str]:
    """The texts of all generated files, by their paths in the mini-study."""
    entries = read_entries(root / "changes")
    shared = tomllib.loads((root / "changes" / "repositories.toml").read_text("utf-8"))
    commits = base_commits(entries, root)
    texts = {
        f"{dataset}.jsonl": json_lines(
            ROWS[dataset](entry, commits[entry.repo], shared[entry.folder])
            for entry in entries
            if entry.dataset == dataset
        )
        for dataset in DATASETS
    }
    texts |= {f"predictions/{source}.jsonl": json_lines(predictions(entries, source)) for source in SOURCES}
    environments = {entry.instance_id: {"python": "3", "pip": shared[entry.folder]["pip"]} for entry in entries}
    return texts | {
        "environments.json": json_text(environments),
        "resolved.json": json_text(reported(entries)),
        "expected.json": json_text(expected(entries)),
        "README.md": with_tables((root / "README.md").read_text("utf-8"), tables(entries)),
    }


def main() -> None:
    """Write the generated files."""
    for path, text in generate().items():
        (HERE / path).parent.mkdir(exist_ok=True)
        (HERE / path).write_bytes(text.encode("utf-8"))


if __name__ == "__main__":
    main()
