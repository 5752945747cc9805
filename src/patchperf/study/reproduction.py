"""Does the ground truth pass its own tests here, every time, under the benchmark's native command?"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict

from patchperf.sandbox.trees import tree_digest
from patchperf.study.commands import suite_command
from patchperf.study.grading import Grade, grade
from patchperf.study.logs import parse_log
from patchperf.study.runs import Run, record
from patchperf.study.workbench import BrokenInstance, Workbench


class Reproduction(BaseModel):
    """The ground truth's runs under the native command.

    ``reason`` is empty when every fail-to-pass test passed in every run. ``unreproduced`` are pass-to-pass tests that
    the ground truth itself does not pass in every run on this machine: no candidate is charged with them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    instance_id: str
    spec: str
    reason: str
    evidence: str
    unreproduced: tuple[str, ...]
    runs: tuple[Run, ...]
    confinement: str

    @property
    def stable(self) -> bool:
        """Whether the ground truth can be relied on."""
        return not self.reason


def reproduce(bench: Workbench, spec: str) -> Reproduction:
    """Run the native command on base + ground truth + tests, each time with another hash seed and a clean tree."""
    verdict = functools.partial(
        Reproduction, instance_id=bench.instance.instance_id, spec=spec, confinement=bench.sandbox.confinement
    )
    try:
        tree = bench.tree("ground-truth", bench.instance.patch)
    except BrokenInstance as error:
        return verdict(reason=error.reason, evidence=error.detail, unreproduced=(), runs=())
    clean = tree_digest(tree)
    shell = suite_command(bench.instance, tree, bench.executables)
    grades: list[Grade] = []
    runs: list[Run] = []
    for seed in range(1, bench.config.reproductions + 1):
        if tree_digest(tree) != clean:
            tree = bench.tree("ground-truth", bench.instance.patch)
        done = bench.run(shell, tree, timeout=bench.config.timeouts.suite, hash_seed=seed)
        statuses = parse_log(done.output, bench.instance)
        grades.append(grade(bench.instance, statuses, done.exit_code, done.ended))
        runs.append(record(f"ground truth, native command, hash seed {seed}", shell, done))
        if done.ended != "exit":
            break
    reason, evidence = judge(grades, runs)
    return verdict(reason=reason, evidence=evidence, unreproduced=unreproduced(grades), runs=tuple(runs))


def judge(grades: Sequence[Grade], runs: Sequence[Run]) -> tuple[str, str]:
    """Reason code ("" for reproduced) and one line of evidence, from the runs in their order."""
    for run, result in zip(runs, grades, strict=True):
        if run.ended != "exit":
            return f"ground-truth-{run.ended}", run.summary
        if result.invalid:
            return "no-test-report", f"{run.what}: {result.invalid}"
    passed = [result.f2p_passed for result in grades]
    total = grades[0].f2p_total
    counts = f"{total} F2P tests, passed in {len(grades)} runs: {', '.join(map(str, passed))}"
    if all(count == total for count in passed):
        return "", counts
    return ("ground-truth-fails" if max(passed) < total else "ground-truth-flaky"), counts


def unreproduced(grades: Sequence[Grade]) -> tuple[str, ...]:
    """P2P tests that did not hold in at least one of the ground truth's runs."""
    return tuple(sorted({test for result in grades for test, held in result.p2p_held.items() if not held}))
