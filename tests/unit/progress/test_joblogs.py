"""Reading the logs of jobs."""

import os
import time
from pathlib import Path

from patchperf.measure.case import Progress as CaseProgress
from snakemake_logger_plugin_patchperf.joblogs import last_lines, last_step
from snakemake_logger_plugin_patchperf.progress import Step

RUNS = 60.0


def test_the_last_lines_of_a_log_are_found_in_a_big_file(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text("".join(f"line {number}\n" for number in range(100_000)), "utf-8")
    assert last_lines(str(log), 2) == ["line 99998", "line 99999"]


def test_bytes_that_are_no_text_do_not_hide_a_log(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_bytes(b"\xff\xfe broken\nerror: disk full\n")
    assert last_lines(str(log), 5)[1] == "error: disk full"


def test_an_empty_and_a_missing_log_say_so(tmp_path: Path) -> None:
    (tmp_path / "empty.log").touch()
    assert last_lines(str(tmp_path / "empty.log"), 5) == ["(empty)"]
    assert last_lines(str(tmp_path / "none.log"), 5) == ["(cannot be read: No such file or directory)"]


def test_a_log_older_than_its_job_is_that_of_an_earlier_run(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text("done=2, total=16\n")
    an_hour_ago = time.time() - 3600
    os.utime(log, (an_hour_ago, an_hour_ago))
    assert last_step(str(log), 60) is None
    assert last_step(str(log), 2 * 3600) == Step(2, 16)


def test_the_last_step_that_a_job_wrote_counts(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    log.write_text("10:01 Progress(stage='trial', done=1, total=16, void=None)\n10:02 Progress(done=2, total=16)\nx\n")
    assert last_step(str(log), RUNS) == Step(2, 16)


def test_a_job_that_wrote_no_step_has_none(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text("undone=3, total=4\n", "utf-8")
    assert last_step(str(tmp_path / "job.log"), RUNS) is None
    assert last_step(str(tmp_path / "none.log"), RUNS) is None


def test_a_real_measuring_job_s_progress_is_understood(tmp_path: Path) -> None:
    progress = CaseProgress(instance_id="a", stage="replicate", solution="s", done=3, total=9, void=None)
    (tmp_path / "job.log").write_text(f"2030-01-01 10:00:00 {progress}\n", "utf-8")
    assert last_step(str(tmp_path / "job.log"), RUNS) == Step(3, 9)
