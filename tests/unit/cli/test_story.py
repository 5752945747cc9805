from __future__ import annotations

from typing import Any

import pytest
from small_results import CASE, NAME, call, io_line, io_verdict, listed, probe, reproduction, row, run, verdicts

from patchperf.cli.page import Section
from patchperf.cli.records import Listed, Measured, Records, Solution
from patchperf.cli.story import entry_of, headline, missing_stage, story

SOLUTIONS = (Solution(CASE, "ab" * 5, ("ground_truth", "model-a")), Solution(CASE, "cd" * 5, ("model-b",)))
MEASURED = Measured(CASE, "", "")


def records(*, manifest: dict[str, Any] | None = None, **known: Any) -> Records:
    fields = {key: value for key, value in listed(**manifest or {}).items() if key != "environment"}
    return Records(listed=Listed(**fields), **{"row": row(), "reproduction": reproduction(), "probe": probe()} | known)


def told(sections: list[Section], title: str) -> dict[str, str]:
    """The paragraphs of a section by label; where a label stands several times, its texts on lines of their own."""
    (section,) = [section for section in sections if section.title == title]
    said: dict[str, str] = {}
    for paragraph in section.paragraphs:
        before = said.get(paragraph.label)
        said[paragraph.label] = paragraph.text if before is None else f"{before}\n{paragraph.text}"
    return said


def titles(sections: list[Section]) -> list[str]:
    return [section.title for section in sections]


def test_the_story_begins_with_what_the_benchmark_says() -> None:
    assert told(story(records()), "Instance") == {
        "dataset": "small",
        "repository": "owner/project",
        "base commit": "c0ffee" + "0" * 34,
        "F2P test": "tests/test_a.py::test_x",
        "P2P tests": "1",
        "environment": "Python 3.9, 2 requirements",
    }


def test_each_run_stands_with_its_command_and_its_end() -> None:
    sections = story(records(reproduction=reproduction(unreproduced=("t.py::a", "t.py::b"))))
    assert told(sections, "Ground truth under the native command") == {
        "command": "pytest tests",
        "hash seed 1": "exit code 0 after 1.2 s",
        "hash seed 2": "exit code 0 after 1.2 s",
        "hash seed 3": "exit code 0 after 1.2 s",
        "result": "reproduced: passed in all of 3 runs",
        "P2P not reproduced": "2: t.py::a, t.py::b",
    }
    assert told(sections, "The test as a single point") == {
        "test": "tests/test_a.py::test_x",
        "function": "test_x in tests/test_a.py",
        "selected by": "pytest: tests/test_a.py::test_x",
        "command": "pytest tests/test_a.py::test_x",
        "ground truth": "exit code 0 after 1.2 s",
        "base": "exit code 1 after 1.2 s",
        "decorated, 11 calls, traced": "exit code 0 after 1.2 s",
    }


def test_a_command_is_shown_again_only_where_it_changes() -> None:
    runs = (run("one", command="a"), run("two", command="a", tests_run=1), run("three", command="b", ended="timeout"))
    said = told(story(records(probe=probe(single_point=None, runs=runs))), "The test as a single point")
    assert said == {
        "command": "a\nb",
        "one": "exit code 0 after 1.2 s",
        "two": "exit code 0 after 1.2 s, 1 test",
        "three": "stopped: timeout after 1.2 s",
    }


def test_a_kept_instance_has_candidates_solutions_and_statistics() -> None:
    numbers = {"metric": "wall_ns", "backend": "perf_counter_ns", "k": "2", "rsd": "0.0123456", "p": "0.00321"}
    row = numbers | {"alpha": "0.05", "distinguishable": "True", "repetitions": "1513", "note": ""}
    everything = records(verdicts=verdicts(), solutions=SOLUTIONS, measured=MEASURED, statistics=(row,))
    sections = story(everything)
    assert headline(everything) == f"{NAME}: kept"
    assert told(sections, "Verdict") == {
        "kept": "stage corpus",
        "detail": "what was seen",
        "evidence": f"results/probes/{NAME}.json",
    }
    assert told(sections, "System calls of the marked call") == {"all calls": "memory 2"}
    assert told(sections, "Candidates") == {
        "ground_truth": "Resolved; F2P 1/1, P2P 3/3; solution ababababab",
        "model-a": "Resolved; F2P 1/1, P2P 3/3; solution ababababab; its authors say resolved",
        "model-b": "No-Op; F2P 0/1, P2P 3/3; solution cdcdcdcdcd; its authors say not resolved; P2P not compared",
    }
    assert told(sections, "Case") == {
        "ababababab": "ground_truth, model-a",
        "cdcdcdcdcd": "model-b",
        "wall_ns": "distinguishable at alpha 0.05: N = 1513, k = 2, rsd = 0.01235, p = 0.00321 (perf_counter_ns)",
    }


def test_a_case_of_one_solution_has_a_note_instead_of_numbers() -> None:
    row = {
        "metric": "wall_ns",
        "backend": "b",
        "k": "1",
        "rsd": "",
        "p": "",
        "alpha": "0.05",
        "distinguishable": "False",
    }
    row |= {"repetitions": "9", "note": "single solution"}
    sections = story(records(verdicts=verdicts(), solutions=SOLUTIONS[:1], measured=MEASURED, statistics=(row,)))
    assert told(sections, "Case")["wall_ns"] == "not distinguishable at alpha 0.05: N = 9, k = 1 (b); single solution"


def test_io_is_told_with_the_deciding_calls_and_where_they_stand_in_the_trace() -> None:
    io = io_verdict(
        call(17), call(18, "socket", "network", "AF_INET"), exceptions={"import search": 3}, unknown=("new_call",)
    )
    excluded = records(probe=probe("io", "io", io=io))
    assert headline(excluded) == f"{NAME}: excluded, io: io"
    assert told(story(excluded), "System calls of the marked call") == {
        "all calls": "memory 9, file data 5",
        "deciding calls": "file data 1, network 1",
        "file data": 'openat(3, "a.txt") = 4; line 17 of the trace',
        "network": "socket(AF_INET) = 4; line 18 of the trace",
        "exceptions used": "import search 3",
        "unknown calls": "new_call",
    }


def test_the_lines_of_the_test_that_lead_to_io_are_told_with_their_calls() -> None:
    lines = (io_line(12), io_line(12, "write"), io_line(0, "socket", "network", "AF_INET"))
    excluded = records(probe=probe("io", "io", io=io_verdict(call(17)), io_lines=lines))
    assert told(story(excluded), "Lines of tests/test_a.py that lead to I/O") == {
        "line 12": 'file data: openat(3, "a.txt")\nfile data: write(3, "a.txt")',
        "no line": "network: socket(AF_INET)",
    }
    few = told(story(excluded, calls=1), "Lines of tests/test_a.py that lead to I/O")
    assert few["..."] == f"2 more are in results/probes/{NAME}.json"


def test_where_the_lines_are_not_known_the_reason_is_told() -> None:
    excluded = records(probe=probe("io", "io", io=io_verdict(call(17)), io_lines_note="it fails when marked"))
    assert told(story(excluded), "Lines of tests/test_a.py that lead to I/O") == {"not known": "it fails when marked"}
    kept = records()
    assert not [title for title in titles(story(kept)) if title.startswith("Lines of")]


def test_a_residue_is_told_with_what_was_left_behind() -> None:
    residue = {"where": "outside", "evidence": "it fails afresh too", "files": ("a.csv",), "threads": 2}
    left = records(probe=probe("repeatability", "not-repeatable", residue=residue, io=None))
    said = told(story(left), "Verdict")
    assert said["residue"] == "outside: it fails afresh too"
    assert said["left behind"] == "threads 2"
    assert said["files changed"] == "1: a.csv"


def test_of_many_deciding_calls_the_first_are_shown_and_the_rest_counted() -> None:
    io = io_verdict(*(call(line) for line in range(1, 31)))
    said = told(story(records(probe=probe("io", "io", io=io)), calls=4), "System calls of the marked call")
    assert said["deciding calls"] == "file data 30"
    assert said["file data"].count("of the trace") == 4
    assert said["..."] == f"26 more are in results/probes/{NAME}.json"


@pytest.mark.parametrize(
    ("reason", "its_class"),
    [
        ("not-repeatable", "not repeatable in process"),
        ("depends-on-other-tests", "not a single point"),
        ("ground-truth-flaky", "not reproducible"),
    ],
)
def test_an_instance_that_is_not_repeatable_has_a_class_and_the_output_of_its_decorated_run(
    reason: str, its_class: str
) -> None:
    failing = run("decorated, 11 calls, traced", 1, tail="\n".join(f"line {n}" for n in range(100)) + "\n\n")
    sections = story(
        records(probe=probe("repeatability", reason, runs=(run("a"), failing, run("afterwards")), io=None))
    )
    assert told(sections, "Verdict")["class"] == its_class
    (output,) = [one.verbatim for one in sections if one.title == "Last lines of: decorated, 11 calls, traced"]
    assert output.splitlines() == [f"line {n}" for n in range(80, 100)]
    assert "System calls of the marked call" not in titles(sections)


def test_a_flaky_ground_truth_shows_the_output_of_the_first_run_that_failed() -> None:
    runs = (run("first", tail="fine"), run("second", 1, tail="broken"), run("third", 1, tail="again"))
    flaky = reproduction(reason="ground-truth-flaky", evidence="now and then", runs=runs)
    left = probe("repeatability", "ground-truth-flaky", runs=(), single_point=None, io=None)
    sections = story(records(reproduction=flaky, probe=left))
    assert told(sections, "Ground truth under the native command")["result"] == "ground-truth-flaky: now and then"
    assert [one.verbatim for one in sections if one.verbatim] == ["broken"]
    assert told(sections, "Verdict")["evidence"] == f"results/reproductions/{NAME}.json"
    assert "The test as a single point" not in titles(sections)


def test_an_instance_that_needs_no_probe_has_its_verdict_at_once() -> None:
    many = records(
        manifest={"f2p": 12}, row=row(fail_to_pass=[f"t{n}" for n in range(12)]), reproduction=None, probe=None
    )
    assert headline(many) == f"{NAME}: excluded, single-test: several-f2p-tests"
    assert told(story(many), "Instance")["..."] == "2 more F2P tests"
    assert titles(story(many)) == ["Instance", "Verdict"]
    left = records(manifest={"selected": False, "reproduce": "", "probe": ""}, row=None, reproduction=None, probe=None)
    assert headline(left) == f"{NAME}: excluded, configuration: excluded-by-user"
    assert titles(story(left)) == ["Instance", "Verdict"]
    assert missing_stage(many) is missing_stage(left) is None


def test_a_case_that_could_not_be_measured_left_at_that_stage() -> None:
    failed = Measured(CASE, "trial-timeout", "stopped after 600 s")
    left = records(verdicts=verdicts(), solutions=SOLUTIONS, measured=failed)
    entry = entry_of(left)
    assert entry is not None
    assert (entry.stage, entry.reason, entry.evidence) == (
        "measurement", "trial-timeout", f"results/measurements/{NAME}.json",
    )  # fmt: skip
    assert told(story(left), "Case")["not measured"] == "trial-timeout: stopped after 600 s"


def test_solutions_that_could_not_be_measured_or_counted_are_named_with_the_reason() -> None:
    measured = Measured(CASE, "", "", ("solution 1 (atlas): no-value: it ended early",))
    counted = Measured(CASE, "", "", ("solution 2 (birch): timeout: stopped after 600 s",))
    case = told(story(records(verdicts=verdicts(), solutions=SOLUTIONS, measured=measured, counted=counted)), "Case")
    assert case["not measured"] == "solution 1 (atlas): no-value: it ended early"
    assert case["not counted"] == "solution 2 (birch): timeout: stopped after 600 s"


@pytest.mark.parametrize(
    ("known", "missing"),
    [
        ({"reproduction": None, "probe": None}, f"results/reproductions/{NAME}.json is missing (stage: reproduce)"),
        ({"probe": None}, f"results/probes/{NAME}.json is missing (stage: probe)"),
    ],
)
def test_a_verdict_that_is_not_there_yet_is_said_with_the_stage_that_is_missing(
    known: dict[str, Any], missing: str
) -> None:
    early = records(**known)
    assert headline(early) == f"{NAME}: no verdict yet"
    assert missing_stage(early) == f"{NAME}: no verdict yet, {missing}: snakemake makes it"
    assert "Verdict" not in titles(story(early))


def test_what_a_kept_instance_still_waits_for_is_said_in_its_place() -> None:
    sections = story(records())
    assert told(sections, "Candidates") == {"not yet": f"results/grades/{NAME}.json is missing: snakemake makes it"}
    assert told(sections, "Case") == {"not yet": "results/cases.parquet is missing: snakemake makes it"}
    unmeasured = story(records(verdicts=verdicts(), solutions=SOLUTIONS))
    assert told(unmeasured, "Case")["not yet"].startswith(f"results/measurements/{NAME}.json is missing")
    uncounted = story(records(verdicts=verdicts(), solutions=SOLUTIONS, measured=MEASURED))
    assert told(uncounted, "Case")["not yet"].startswith("results/tables/cases.csv is missing")


def test_a_record_of_another_version_of_the_instance_says_so() -> None:
    old = records(
        reproduction=reproduction(spec="old"),
        probe=probe(spec="old"),
        verdicts=verdicts(spec="old"),
        solutions=SOLUTIONS,
        measured=Measured("old", "", ""),
    )
    for title in ("Ground truth under the native command", "The test as a single point", "Candidates", "Case"):
        assert "another version of the instance" in told(story(old), title)["outdated"]
