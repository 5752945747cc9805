from __future__ import annotations

from pathlib import Path

from patchperf.sandbox.environments import EnvironmentSpec
from patchperf.study.instance import Candidate, Instance
from patchperf.study.rows import Row, read_row, write_row


def test_a_patch_that_is_not_utf_8_survives_byte_for_byte(tmp_path: Path) -> None:
    garbage = b"\xff\xfe\x00 diff".decode("utf-8", "surrogateescape")
    instance = Instance(
        instance_id="o__r-1",
        dataset="d",
        dialect="swe-bench",
        repo="o/r",
        base_commit="0" * 40,
        patch="",
        test_patch="",
        fail_to_pass=("t",),
    )
    candidate = Candidate(instance_id="o__r-1", source="s", patch=garbage)
    row = Row(instance=instance, candidates=(candidate,), environment=EnvironmentSpec(python="3", pip=()))
    write_row(row, tmp_path)
    again = read_row("o__r-1", tmp_path)
    assert again == row
    assert again.candidates[0].patch.encode("utf-8", "surrogateescape") == b"\xff\xfe\x00 diff"
