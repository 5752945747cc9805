"""A run's log file on a full disk: the run goes on, and whoever watches is told once."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest

from snakemake_logger_plugin_patchperf import graph
from snakemake_logger_plugin_patchperf.handler import LogHandler


class Display(LogHandler):
    def __init__(self) -> None:
        logging.Handler.__init__(self)
        self.notes: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        self.notes.append(text)


def test_a_log_that_cannot_be_written_is_told_once_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    display, file = Display(), logging.FileHandler("/dev/full")
    logger = logging.getLogger("test_run_log")
    logger.propagate = False
    logger.addHandler(file)
    manager = SimpleNamespace(
        logger=logger, get_log_handlers=lambda: [display], logfile_handlers={file: "/study/run.log"}
    )
    graph.follow(SimpleNamespace(logger_manager=manager, dag=None))
    try:
        for _ in range(3):
            logger.warning("news")
    finally:
        logger.removeHandler(file)
    assert display.notes == ["/study/run.log: this log is not complete: [Errno 28] No space left on device"]
    assert capsys.readouterr().err == ""
