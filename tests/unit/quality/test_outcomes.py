from __future__ import annotations

import pytest

from patchperf.errors import InputError
from patchperf.quality.outcomes import outcome


@pytest.mark.parametrize(
    ("f2p_passed", "p2p_passed", "expected"),
    [
        (4, 9, "Resolved"),
        (4, 5, "Breaking Resolved"),
        (4, 0, "Breaking Resolved"),
        (1, 9, "Partially Resolved"),
        (3, 1, "Work in Progress"),
        (2, 0, "Work in Progress"),
        (0, 9, "No-Op"),
        (0, 8, "Regression"),
        (0, 0, "Regression"),
    ],
)
def test_each_cell_of_the_taxonomy_has_its_name(f2p_passed, p2p_passed, expected):
    assert outcome(f2p_passed, 4, p2p_passed, 9) == expected


@pytest.mark.parametrize(("f2p_passed", "expected"), [(2, "Resolved"), (1, "Partially Resolved"), (0, "No-Op")])
def test_without_pass_to_pass_tests_nothing_can_break(f2p_passed, expected):
    assert outcome(f2p_passed, 2, 0, 0) == expected


@pytest.mark.parametrize("counts", [(0, 0, 1, 1), (3, 2, 0, 0), (1, 1, 2, 1), (-1, 1, 0, 0), (1, 1, -1, 1)])
def test_counts_that_cannot_be_are_refused(counts):
    with pytest.raises(InputError, match="no outcome for"):
        outcome(*counts)
