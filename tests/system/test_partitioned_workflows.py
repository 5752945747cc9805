"""Workflows at level "partition" on an emulated server: one start of it is for all tests here."""

from __future__ import annotations

from typing import Any

import pytest
from debian_packages import need
from emulated_server import TOOLS, boot


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """What the scenario ``workflows`` told, by name; twelve cores are enough for two groups, and start sooner."""
    need(TOOLS)
    return boot("workflows", "own", cores=12, packages=("snakemake",))


def test_a_workflow_measures_on_partitions_and_leaves_none_behind(told):
    done = told["done"]
    assert done["code"] == 0, done["text"]
    first, second = sorted(one.splitlines() for one in done["told"])
    assert first == ["partition root 14,16,18,20", "Cpus_allowed_list:\t14,16,18,20"]
    assert second == ["partition root 6,8,10,12", "Cpus_allowed_list:\t6,8,10,12"]
    assert done["changes"] == []


def test_an_interrupted_workflow_leaves_none_behind(told):
    interrupted = told["interrupted"]
    assert interrupted["changes"] == [], interrupted["log"]
    assert not interrupted["job"]


def test_a_killed_workflow_leaves_partitions_that_down_undoes(told):
    killed = told["killed"]
    assert killed["up"]
    assert killed["busy"][1].startswith("error: isolation is in use: core group 0 is leased by processes ")
    assert killed["status"][0] == 0
    assert killed["status"][1].startswith("level partition, type root: brought up by a workflow\n")
    assert killed["down"] == [0, "all is as it was before\n"]
    assert killed["changes"] == []
