from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError

from patchperf.errors import InputError
from patchperf.quality.decay import FORMULAS, Decay


@pytest.mark.parametrize("formula", FORMULAS)
def test_a_count_that_is_no_more_than_the_reference_has_the_full_score(formula):
    assert Decay(formula=formula).score([0, 0, 3, 7], [0, 4, 7, 7]).tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("reference", [0, 1, 12])
def test_the_score_never_rises_with_the_count_and_stays_between_0_and_1(formula, reference):
    scores = Decay(formula=formula).score(np.arange(60), np.full(60, reference))
    assert (np.diff(scores) <= 0).all()
    assert scores.min() >= 0
    assert scores[reference] == 1 > scores[reference + 1]


@pytest.mark.parametrize("formula", FORMULAS)
def test_half_is_the_relative_excess_that_halves_the_score(formula):
    assert Decay(formula=formula, half=0.5).score([15, 30], [10, 20]) == pytest.approx([0.5, 0.5])


def test_by_default_the_score_is_the_reference_over_the_count():
    assert Decay().score([8, 20], [6, 5]) == pytest.approx([6 / 8, 5 / 20])


def test_one_more_than_a_reference_of_0_costs_as_much_as_one_more_than_1():
    assert Decay().score([1, 2], [0, 1]).tolist() == [0.5, 0.5]


def test_formulas_differ_in_their_tails():
    tails = [float(Decay(formula=formula).score(30, 10)) for formula in FORMULAS]
    assert tails == pytest.approx([1 / 3, 1 / 4, 0])


def test_an_unknown_count_has_no_score():
    assert np.isnan(Decay().score(np.nan, 3))


def test_negative_counts_are_refused():
    with pytest.raises(InputError, match="below 0"):
        Decay().score(-1, 0)


@pytest.mark.parametrize("half", [0, -1, float("inf"), float("nan")])
def test_a_half_that_is_no_positive_number_is_refused(half):
    with pytest.raises(ValidationError):
        Decay(half=half)
