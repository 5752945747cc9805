"""How many predictions each source has, what became of every candidate, and how often; what the authors report."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from patchperf.analysis.files import Files
from patchperf.stats import schema
from patchperf.stats.agreement import agreement_table, outcome_table
from patchperf.stats.outcome_flows import outcome_changes, outcome_flows
from patchperf.stats.outcome_rates import outcome_rates
from patchperf.tables import write_table

JUDGED = ("outcomes", "outcome_rates", "outcome_flows", "outcome_changes", "agreement")
"""Tables that are made of candidates' outcomes alone."""

TABLES = ("sources", *JUDGED)

SOURCES_CAPTION = "Predictions of each source: for no dataset, left out by the configuration, and candidates."
OUTCOMES_CAPTION = "Outcome of every candidate, with the fail-to-pass and pass-to-pass tests it passes."
OUTCOMES_SHOWN = [
    "instance_id", "source", "outcome", "f2p", "p2p", "f2p_passed", "f2p_total", "p2p_passed", "p2p_total", "dialect",
]  # fmt: skip
RATES_CAPTION = (
    "How often each source resolves an issue and how often its patch is a Regression, over the same instances for all, "
    "and the shares of No-Op and Regression among tested patches that are not Resolved. Bounds are Wilson's 95\\,\\% "
    "intervals."
)
RATES_SHOWN = [
    "source", "repo", "instances", "resolved", "resolved_rate", "resolved_low", "resolved_high", "regression",
    "regression_rate", "regression_low", "regression_high", "unresolved", "no_op_share", "regression_share",
]  # fmt: skip
FLOWS_CAPTION = "Instances by the outcome of a source's earlier run and of this one."
FLOWS_SHOWN = ["source", "previous", "before", "after", "count"]
CHANGES_CAPTION = "Instances that gained or lost an outcome between two runs, with McNemar's exact test."
AGREEMENT_CAPTION = "Outcomes beside what the authors of the candidates report."


def write_outcomes(given: Files, made: Files, previous: Mapping[str, str]) -> None:
    """All ``TABLES``, from the records ``sources`` and ``outcomes``; ``previous`` is by source (see ``outcome_flows``).

    Raises InputError for records of another version.
    """
    sources = schema.checked(pd.read_parquet(given["sources"]), schema.SOURCES, str(given["sources"]))
    write_table(sources, made["sources"], made["sources_tex"], SOURCES_CAPTION)
    write_judged(pd.read_parquet(given["outcomes"]), made, previous)


def write_judged(outcomes: pd.DataFrame, made: Files, previous: Mapping[str, str]) -> None:
    """The tables ``JUDGED`` of candidates, each with the columns of ``schema.OUTCOMES``."""
    table = outcome_table(outcomes)
    write_table(table, made["outcomes"], made["outcomes_tex"], OUTCOMES_CAPTION, OUTCOMES_SHOWN)
    rates = outcome_rates(table)
    write_table(rates, made["outcome_rates"], made["outcome_rates_tex"], RATES_CAPTION, RATES_SHOWN)
    flows = outcome_flows(table, previous)
    write_table(flows, made["outcome_flows"], made["outcome_flows_tex"], FLOWS_CAPTION, FLOWS_SHOWN)
    changes = outcome_changes(table, previous)
    write_table(changes, made["outcome_changes"], made["outcome_changes_tex"], CHANGES_CAPTION)
    write_table(agreement_table(table), made["agreement"], made["agreement_tex"], AGREEMENT_CAPTION)
