"""A study that is killed at one moment after another, and continues each time where it was."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from studies import Run, Study, make_study, mini_settings

DIVISION, DIVISORS = "abacus-lab__minalg-7", "abacus-lab__minalg-15"
TARGET = "results/measurements.parquet"
PATIENCE = 240.0
GRACE = 10.0


@dataclass(frozen=True)
class Ended:
    """How a run was ended, and what was there afterwards: living processes, journals, the graders' verdicts.

    ``grown`` is the number of processes that were still recorded in journals after the end.
    """

    moment: str
    code: int
    grown: int
    alive: dict[int, str]
    journals: dict[str, bytes]
    verdicts: dict[str, int]


@dataclass(frozen=True)
class Story:
    """A study with all that happened to it; ``second`` is a run that was tried while another one was under way."""

    study: Study
    ends: list[Ended]
    second: Run
    last: Run


Killer = Callable[[subprocess.Popen[bytes]], None]


def kill_all(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL to the whole process group of snakemake."""
    os.killpg(process.pid, signal.SIGKILL)


def kill_snakemake(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL to snakemake alone."""
    process.kill()


def press_ctrl_c(process: subprocess.Popen[bytes]) -> None:
    """SIGINT to the group, as a terminal sends it."""
    os.killpg(process.pid, signal.SIGINT)


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[bytes], study: Study, what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        said = f"{what}: not seen; the study printed {study.console.read_text('utf-8')}"
        assert process.poll() is None and time.monotonic() < deadline, said
        time.sleep(0.02)


def running(study: Study, *programs: str) -> bool:
    """Whether each of these programs runs for the study."""
    commands = list(study.processes().values())
    return all(any(program in command for command in commands) for program in programs)


def lines(journals: dict[str, bytes]) -> int:
    return sum(content.count(b"\n") for content in journals.values())


def end(study: Study, process: subprocess.Popen[bytes], kill: Killer, moment: str) -> Ended:
    """End a run and give its processes a moment to be gone."""
    recorded = lines(study.journals())
    kill(process)
    code = process.wait(timeout=PATIENCE)
    deadline = time.monotonic() + GRACE
    while (alive := study.processes()) and time.monotonic() < deadline:
        time.sleep(0.05)
    journals = study.journals()
    return Ended(moment, code, lines(journals) - recorded, alive, journals, study.verdicts())


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory, cache: str) -> Story:
    settings = mini_settings(
        datasets=[{"name": "mini", "path": "resources/mini/instances.jsonl"}],
        instances=[DIVISION, DIVISORS],
        calibration={"min_seconds": 0.02, "max_seconds": 0.04},
        cache=cache,
    )
    study = make_study(tmp_path_factory.mktemp("resume") / "study", settings)
    ends = []

    def interrupt(moment: str, condition: Callable[[], bool], kill: Killer) -> None:
        process = study.start(TARGET)
        try:
            wait_until(condition, process, study, moment)
            ends.append(end(study, process, kill, moment))
        finally:
            if process.poll() is None:
                kill_all(process)
                process.wait()

    interrupt("probing", lambda: running(study, "probe_test.py", "bwrap"), kill_all)
    interrupt("grading", lambda: bool(study.verdicts()), kill_all)

    second: list[Run] = []

    def try_a_second_run_and_kill(process: subprocess.Popen[bytes]) -> None:
        os.killpg(process.pid, signal.SIGSTOP)
        second.append(study.snakemake(TARGET))
        kill_all(process)

    interrupt("measuring", lambda: lines(study.journals()) >= 2, try_a_second_run_and_kill)
    reached = lines(study.journals())
    interrupt("measuring, snakemake alone", lambda: lines(study.journals()) >= reached + 3, kill_snakemake)
    reached = lines(study.journals())
    interrupt("measuring, Ctrl-C", lambda: lines(study.journals()) >= reached + 3, press_ctrl_c)
    return Story(study, ends, second[0], study.snakemake(TARGET))


def entries(journal: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in journal.splitlines()]


def test_a_killed_run_continues_with_the_same_command(story: Story) -> None:
    assert [ended.moment for ended in story.ends] == [
        "probing", "grading", "measuring", "measuring, snakemake alone", "measuring, Ctrl-C",
    ]  # fmt: skip
    assert [ended.code for ended in story.ends[:4]] == [-signal.SIGKILL] * 4
    assert story.ends[4].code == 1
    assert story.last.code == 0, story.last.output
    assert story.study.result("measurements.parquet").exists()


def test_no_process_of_the_study_is_left(story: Story) -> None:
    assert {ended.moment: ended.alive for ended in story.ends if ended.alive} == {}


def test_nothing_goes_on_after_the_end(story: Story) -> None:
    """One process may have been recorded between the last look and the kill."""
    assert {ended.moment: ended.grown for ended in story.ends if ended.grown > 1} == {}


def test_what_was_in_a_journal_stays_byte_for_byte(story: Story) -> None:
    states = [ended.journals for ended in story.ends] + [story.study.journals()]
    for before, after in itertools.pairwise(states):
        for case, journal in before.items():
            whole_lines = journal[: journal.rfind(b"\n") + 1]
            assert after[case].startswith(whole_lines)


def test_every_replicate_is_measured_once_however_often_the_run_was_killed(story: Story) -> None:
    journals = story.study.journals()
    assert len(journals) == 2
    for journal in journals.values():
        told = entries(journal)
        assert not [entry["void"] for entry in told if entry["void"]]
        done = Counter((e["stage"], e["solution"], e["replicate"]) for e in told if e["stage"] != "warming")
        assert set(done.values()) == {1}
        assert Counter(stage for stage, _, _ in done) == {"trial": 4, "calibration": 1, "replicate": 20}


def test_the_number_of_repetitions_survives(story: Story) -> None:
    for journal in story.study.journals().values():
        replicates = [entry for entry in entries(journal) if entry["stage"] == "replicate"]
        (calibrated,) = {e["report"]["repetitions"] for e in entries(journal) if e["stage"] == "calibration"}
        assert {entry["report"]["repetitions"] for entry in replicates} == {calibrated}


def test_a_verdict_is_never_made_twice(story: Story) -> None:
    graded = story.ends[1].verdicts
    assert graded
    assert graded.items() <= story.study.verdicts().items()


def test_nothing_is_left_of_the_scratch(story: Story) -> None:
    assert not story.study.scratch.exists()


def test_a_second_run_in_the_same_folder_ends_with_one_clear_line(story: Story) -> None:
    assert story.second.code == 1
    said = [line for line in story.second.output.splitlines() if "another run is working in" in line]
    assert len(said) == 1
    assert str(story.study.folder) in said[0]
    assert "Traceback" not in story.second.output


def test_ctrl_c_says_how_to_continue_and_no_more(story: Story) -> None:
    said = story.study.console.read_text("utf-8").rpartition("Using workflow specific profile")[2]
    assert "Traceback" not in said
    assert said.splitlines()[-1].endswith("the same command continues")
