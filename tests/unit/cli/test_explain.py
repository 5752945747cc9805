from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from small_results import (
    NAME,
    call,
    io_line,
    io_verdict,
    listed,
    probe,
    reproduction,
    run,
    verdicts,
    write_case,
    write_results,
)
from typer.testing import CliRunner, Result

from patchperf.cli.main import app


def explain(results: Path, *arguments: str, columns: int = 80) -> Result:
    environment = {"COLUMNS": str(columns), "NO_COLOR": None, "FORCE_COLOR": None}
    return CliRunner().invoke(app, ["explain", *(arguments or [NAME]), "--results", str(results)], env=environment)


def test_the_whole_story_of_an_instance_with_io(tmp_path: Path) -> None:
    io = probe(
        "io", "io", evidence="file data: openat(...) at line 17", io=io_verdict(call(17)), io_lines=(io_line(12),)
    )
    done = explain(write_results(tmp_path, reproductions=reproduction(), probes=io, grades=verdicts()))
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == f"{NAME}: excluded, io: io"
    assert done.stdout.partition("\nVerdict\n")[2].splitlines() == [
        "  excluded  stage io, reason io",
        "  detail    file data: openat(...) at line 17",
        "  evidence  results/probes/owner__project-7.json",
        "",
        "System calls of the marked call",
        "  all calls       memory 9, file data 5",
        "  deciding calls  file data 1",
        '  file data       openat(3, "a.txt") = 4; line 17 of the trace',
        "",
        "Lines of tests/test_a.py that lead to I/O",
        '  line 12  file data: openat(3, "a.txt")',
        "",
        "Candidates",
        "  ground_truth  Resolved; F2P 1/1, P2P 3/3; solution ababababab",
        "  model-a       Resolved; F2P 1/1, P2P 3/3; solution ababababab; its authors say",
        "                resolved",
        "  model-b       No-Op; F2P 0/1, P2P 3/3; solution cdcdcdcdcd; its authors say",
        "                not resolved; P2P not compared",
    ]


def test_how_many_deciding_calls_are_shown_can_be_said(tmp_path: Path) -> None:
    io = probe("io", "io", io=io_verdict(*(call(line) for line in range(1, 31))))
    results = write_results(tmp_path, reproductions=reproduction(), probes=io)
    assert explain(results, NAME, "--calls", "30").stdout.count("of the trace") == 30
    assert explain(results, NAME, "--calls", "0").stdout.count("of the trace") == 0
    assert explain(results, NAME, "--calls", "-1").exit_code == 2


def test_piped_text_has_no_escapes_no_trailing_spaces_and_no_cut_command(tmp_path: Path) -> None:
    wide = " ".join(["pytest", *(f"tests/test_{n}.py::test_[{n}-a b]" for n in range(30))])
    steering = run("decorated", 1, tail="\x1b[2J\x1b[31mred\x1b[0m\r\n[/bold] \u202e")
    left = probe("repeatability", "not-repeatable", runs=(run("ground truth", command=wide), steering), io=None)
    results = write_results(tmp_path, reproductions=reproduction(), probes=left)
    done = explain(results)
    assert done.exit_code == 0
    assert "\x1b" not in done.stdout
    assert "\\x1b[2J\\x1b[31mred" in done.stdout
    assert "[/bold] \\u202e" in done.stdout
    assert not [line for line in done.stdout.splitlines() if line != line.rstrip()]
    assert wide in " ".join(done.stdout.split())
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert max(map(len, explain(results, columns=50).stdout.splitlines())) <= 50


def test_a_kept_case_tells_its_numbers(tmp_path: Path) -> None:
    results = write_results(tmp_path, reproductions=reproduction(), probes=probe(), grades=verdicts())
    write_case(results, f"{NAME},wall_ns,perf_counter_ns,2,0.25,9,1,8,0.004,0.05,True,5,0,1513,")
    done = explain(results)
    assert done.stdout.splitlines()[0] == f"{NAME}: kept"
    assert " ".join(done.stdout.partition("\nCase\n")[2].split()) == (
        "ababababab ground_truth, model-a cdcdcdcdcd model-b "
        f"not yet results/measurements/{NAME}.json is missing: snakemake makes it "
        "wall_ns distinguishable at alpha 0.05: N = 1513, k = 2, rsd = 0.25, p = 0.004 (perf_counter_ns)"
    )


def test_a_study_under_way_is_told_as_far_as_it_has_come(tmp_path: Path) -> None:
    done = explain(write_results(tmp_path, reproductions=reproduction()))
    assert done.exit_code == 1
    assert "reproduced: passed in all of 3 runs" in done.stdout
    assert done.stderr == (
        f"error: {NAME}: no verdict yet, results/probes/{NAME}.json is missing (stage: probe): snakemake makes it\n"
    )


@pytest.mark.parametrize(
    ("name", "complaint"),
    [("owner__project-8", f"did you mean {NAME}?"), ("unlike", "it lists every instance of the study")],
)
def test_an_unknown_instance_is_one_clear_line(tmp_path: Path, name: str, complaint: str) -> None:
    results = write_results(tmp_path, listed())
    done = explain(results, name)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == f"error: {name}: no such instance in {results / 'instances.parquet'}: {complaint}\n"


def test_no_such_folder_is_one_clear_line(tmp_path: Path) -> None:
    done = explain(tmp_path / "nowhere")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: {tmp_path}/nowhere: no such folder: ")
    assert done.stderr.count("\n") == 1


def test_the_command_alone_says_what_it_can_do() -> None:
    done = CliRunner().invoke(app, ["--help"])
    assert done.exit_code == 0
    assert "explain" in done.stdout


def patchperf(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("patchperf")), *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **environment}, errors="replace"
    )


def test_the_installed_command_works_where_only_ascii_can_be_printed(tmp_path: Path) -> None:
    results = write_results(tmp_path, reproductions=reproduction(evidence="bestanden – ja"))
    done = patchperf("explain", NAME, "--results", str(results), PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "bestanden \\u2013 ja" in done.stdout


def test_a_reader_that_stops_early_is_no_error(tmp_path: Path) -> None:
    io = probe("io", "io", io=io_verdict(*(call(line, arguments="x" * 390) for line in range(1, 200))))
    results = write_results(tmp_path, reproductions=reproduction(), probes=io)
    command = (
        f"{Path(sys.executable).with_name('patchperf')} explain {NAME} --calls 200 --results {results} | head -n 1"
    )
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout == f"{NAME}: excluded, io: io\n"
    assert done.stderr == ""


def test_starting_it_loads_no_statistics() -> None:
    """Loading pandas alone takes longer than all that the command needs."""
    code = "import sys, patchperf.cli.main; print(*{'pandas', 'scipy', 'matplotlib', 'snakemake'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
