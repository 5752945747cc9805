"""The stages of a study, in its own words, by the rule that does the work."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Stage:
    """A stage as people see it: its name, and what is counted in it (empty if its jobs have no better name)."""

    name: str
    unit: str = ""


TABLES = Stage("tables")
FIGURES = Stage("figures")
STATISTICS = Stage("statistics")

STAGES = {
    "environment": Stage("environments"),
    "reproduce": Stage("reproductions", "instances"),
    "probe": Stage("probes", "instances"),
    "grade": Stage("grades", "instances"),
    "measure": Stage("measurements", "cases"),
    "measurements": Stage("records"),
    "case_statistics": STATISTICS,
    "comparisons": STATISTICS,
}
"""Rules whose stage is not simply called like them."""

FAMILIES = {"table": TABLES, "tables": TABLES, "figure": FIGURES, "figures": FIGURES}
"""Rules that share a stage, by the last word of their names."""


def stage_of(rule: str) -> Stage:
    """The stage of a rule; a rule that is in no list is a stage of its own name."""
    return STAGES.get(rule) or FAMILIES.get(rule.rpartition("_")[2]) or Stage(rule.replace("_", " "))
