"""What a study says and writes where a machine lacks what counts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from studies import Study, mini_settings

HOST = "results/host.json"
LOUD = "NO INSTRUCTION COUNTS, WALL TIME ONLY: "


@pytest.fixture
def with_hardware() -> bool:
    """Whether this machine has a counter of its own, which comes before any emulator."""
    return any(Path("/sys/bus/event_source/devices").glob("cpu*"))


@pytest.mark.parametrize(
    ("missing", "backend"),
    [
        ((), "qemu"),
        (("qemu-x86_64",), "callgrind"),
        (("cc", "valgrind"), "none"),
        (("qemu-x86_64", "valgrind"), "none"),
    ],
)
def test_the_counter_is_the_best_that_is_left_and_the_record_says_what_is_missing(
    new_study: Callable[..., Study],
    tool_missing: Callable[..., dict[str, str]],
    with_hardware: bool,
    missing: tuple[str, ...],
    backend: str,
) -> None:
    study = new_study(mini_settings(counter="auto"))
    run = study.snakemake(HOST, environment=tool_missing(*missing))
    assert run.code == 0, run.output
    record: dict[str, Any] = json.loads((study.folder / HOST).read_bytes())
    counter = record["counter"]
    if with_hardware:
        assert counter["backend"] in {"cirron", "perf"}
        return
    assert counter["backend"] == backend
    assert (record["emulation"] is None) == (backend == "none")
    assert "perf" in counter["tried"]
    assert counter["reason"].startswith(LOUD) == (backend == "none")
    assert (LOUD in run.output) == (backend == "none")
    for tool, package in (("cc", "gcc"), ("qemu-x86_64", "qemu-user")):
        assert (f"install {package}" in counter["reason"]) == (tool in missing)


def test_a_counter_that_was_asked_for_by_name_is_not_replaced(
    new_study: Callable[..., Study], tool_missing: Callable[..., dict[str, str]]
) -> None:
    run = new_study(mini_settings(counter="qemu")).snakemake(HOST, environment=tool_missing("qemu-x86_64"))
    assert run.code != 0
    assert "counter qemu does not count here: qemu-x86_64 is not installed: install qemu-user" in run.output
