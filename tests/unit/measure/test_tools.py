from __future__ import annotations

import json
import os

import pytest

from patchperf.counters.protocol import INPROCESS
from patchperf.measure.tools import RESULT, RESULT_BYTES, read_results, write_tools


def test_a_tools_folder_holds_the_module_and_what_it_shall_do(tmp_path):
    write_tools(tmp_path / "tools", {"mode": "probe", "warmup": 10})
    assert (tmp_path / "tools" / INPROCESS.name).read_bytes() == INPROCESS.read_bytes()
    assert json.loads((tmp_path / "tools" / "spec.json").read_text()) == {"mode": "probe", "warmup": 10}


def test_there_is_one_result_per_line_and_none_without_a_file(tmp_path):
    assert read_results(tmp_path / RESULT) == []
    (tmp_path / RESULT).write_text('{"pid": 1}\n{"pid": 2}\n')
    assert read_results(tmp_path / RESULT) == [{"pid": 1}, {"pid": 2}]


@pytest.mark.parametrize("line", [b"[1]", b"{", b"\xff\xfe", b"null", b"[" * 100_000])
def test_a_line_that_is_no_record_counts_as_one_that_failed(tmp_path, line):
    (tmp_path / RESULT).write_bytes(b'{"pid": 1}\n' + line + b"\n")
    first, second = read_results(tmp_path / RESULT)
    assert first == {"pid": 1}
    assert second["failed"]["error"].startswith("unreadable result file")


def _link(path):
    path.with_name("secret").write_text('{"pid": 1}\n')
    path.symlink_to("secret")


@pytest.mark.parametrize(
    "make",
    [_link, os.mkfifo, os.mkdir, lambda path: path.write_bytes(b" " * (RESULT_BYTES + 1))],
    ids=["link", "pipe", "folder", "huge"],
)
def test_nothing_but_a_small_regular_file_is_read(tmp_path, make):
    make(tmp_path / RESULT)
    (result,) = read_results(tmp_path / RESULT)
    assert result["failed"]["stage"] == "result"
