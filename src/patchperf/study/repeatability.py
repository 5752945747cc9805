"""The three classes of instances that fail the repeatability filter, by the reason in the ledger."""

from __future__ import annotations

from typing import Literal

RepeatabilityClass = Literal["not reproducible", "not a single point", "not repeatable in process"]

CLASSES: dict[str, RepeatabilityClass] = {
    **dict.fromkeys(
        (
            "ground-truth-not-applied",
            "tests-not-applied",
            "install-failed",
            "ground-truth-fails",
            "ground-truth-flaky",
            "ground-truth-timeout",
            "no-test-report",
            "infrastructure",
        ),
        "not reproducible",
    ),
    **dict.fromkeys(
        ("cannot-derive", "not-single-point", "depends-on-other-tests", "base-passes", "not-wrapped"),
        "not a single point",
    ),
    **dict.fromkeys(("not-repeatable", "called-several-times", "no-window"), "not repeatable in process"),
}
"""Class of each reason code of the stage "repeatability"."""
