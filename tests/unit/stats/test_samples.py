import math

import pandas as pd
import pytest

from patchperf.errors import InputError
from patchperf.stats.samples import (
    NOT_MEASURED,
    NOT_POSITIVE,
    members_of,
    of_corpus,
    solution_statistics,
    usable_values,
)
from patchperf.stats.schema import SOLUTIONS


def test_a_solution_has_the_mean_sd_and_cv_of_its_replicates(tables) -> None:
    cases, measurements = tables({"one": {"s": ("m1 ground_truth", [8, 10, 12])}})
    row = solution_statistics(measurements, members_of(cases)).iloc[0]
    assert (row["mean"], row["sd"], row["cv"], row["replicates"]) == (10, 2, 0.2, 3)
    assert (row["backend"], row["sources"], row["note"]) == ("cirron", ["m1", "ground_truth"], "")


def test_void_rows_and_rows_without_a_value_are_left_out_and_void_ones_counted(tables) -> None:
    cases, measurements = tables({"one": {"s": ("m1", [8, 10, 12, 1000, None])}})
    measurements.loc[3, ["void", "replicate"]] = [True, 2]
    row = solution_statistics(measurements, members_of(cases)).iloc[0]
    assert (row["mean"], row["replicates"], row["voids"]) == (10, 3, 1)


def test_a_void_replicate_may_have_other_backends_and_repetitions(tables) -> None:
    cases, measurements = tables({"one": {"s": ("m1", [8, 10, 12])}})
    measurements.loc[2, ["void", "backend", "repetitions"]] = [True, "perf", 7]
    assert len(usable_values(measurements, members_of(cases))) == 2


def test_a_solution_without_values_is_said_to_be_not_measured(tables) -> None:
    cases, measurements = tables({"one": {"s": ("m1", [8, 10]), "t": ("m2", [None, None])}})
    table = solution_statistics(measurements, members_of(cases)).set_index("solution")
    assert (table.loc["t", "note"], table.loc["t", "replicates"]) == (NOT_MEASURED, 0)
    assert math.isnan(table.loc["t", "mean"])


@pytest.mark.parametrize("broken", [0, -5, math.inf])
def test_a_value_that_no_counter_gives_takes_its_solution_out_of_every_ratio(tables, broken: float) -> None:
    cases, measurements = tables({"one": {"s": ("m1", [8, broken, 10])}})
    row = solution_statistics(measurements, members_of(cases)).iloc[0]
    assert row["note"] == NOT_POSITIVE
    assert math.isnan(row["mean"])


def test_one_replicate_has_a_mean_and_no_spread(tables) -> None:
    cases, measurements = tables({"one": {"s": ("m1", [8])}})
    row = solution_statistics(measurements, members_of(cases)).iloc[0]
    assert row["mean"] == 8
    assert math.isnan(row["sd"])


@pytest.mark.parametrize(("column", "other"), [("backend", "perf"), ("repetitions", 200)])
def test_mixed_backends_or_repetitions_in_a_case_are_an_error(tables, column: str, other: object) -> None:
    cases, measurements = tables({"one": {"s": ("m1", [8, 9]), "t": ("m2", [8, 9])}})
    measurements.loc[3, column] = other
    with pytest.raises(InputError, match=f"one has several {column} for instructions"):
        usable_values(measurements, members_of(cases))


def test_two_valid_values_of_one_replicate_are_an_error(tables) -> None:
    cases, measurements = tables({"one": {"s": ("m1", [8, 9])}})
    with pytest.raises(InputError, match="two valid instructions values for replicate 0"):
        usable_values(pd.concat([measurements, measurements]), members_of(cases))


def test_values_of_a_solution_that_no_case_lists_are_an_error(tables) -> None:
    cases, measurements = tables({"one": {"s": ("m1", [8, 9])}})
    measurements["solution"] = "gone"
    with pytest.raises(InputError, match="one has values of solution gone"):
        usable_values(measurements, members_of(cases))


def test_a_source_at_two_solutions_of_a_case_is_an_error(tables) -> None:
    cases, _ = tables({"one": {"s": ("m1", []), "t": ("m2 m1", [])}})
    with pytest.raises(InputError, match="one lists source m1 twice"):
        members_of(cases)


def test_a_solution_listed_twice_or_without_a_source_is_an_error(tables) -> None:
    cases, _ = tables({"one": {"s": ("m1", [])}})
    with pytest.raises(InputError, match="solution s twice"):
        members_of(pd.concat([cases, cases]))
    cases["sources"] = [[]]
    with pytest.raises(InputError, match="no source"):
        members_of(cases)


def test_a_missing_column_is_named(tables) -> None:
    cases, measurements = tables({"one": {"s": ("m1", [8, 9])}})
    with pytest.raises(InputError, match="measurements: no column backend, void"):
        usable_values(measurements.drop(columns=["void", "backend"]), members_of(cases))


def test_a_case_that_left_the_corpus_leaves_with_all_its_rows(tables) -> None:
    cases, measurements = tables({"one": {"s": ("m1", [8, 9])}, "two": {"s": ("m1", [8])}})
    ledger = pd.DataFrame({"instance_id": ["one", "two"], "status": ["kept", "excluded"]})
    assert of_corpus(measurements, ledger)["instance_id"].tolist() == ["one", "one"]
    assert of_corpus(cases, ledger)["instance_id"].tolist() == ["one"]


def test_no_measurements_at_all_give_a_table_with_headers_only() -> None:
    table = solution_statistics(pd.DataFrame(), members_of(pd.DataFrame()))
    assert (len(table), list(table.columns)) == (0, list(SOLUTIONS))
