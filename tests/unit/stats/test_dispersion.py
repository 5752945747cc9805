import math

import pytest

from patchperf.stats.dispersion import relative_standard_deviation


@pytest.mark.parametrize(
    ("means", "rsd"),
    [((8, 12), math.sqrt(8) / 10), ((1, 2, 3), 1 / 2), ((5, 5, 5), 0), ((90, 100, 110), 0.1)],
)
def test_rsd_is_the_sample_standard_deviation_of_the_means_over_their_mean(
    means: tuple[float, ...], rsd: float
) -> None:
    assert relative_standard_deviation(means) == pytest.approx(rsd, rel=1e-12)


def test_splitting_equal_solutions_in_two_shrinks_rsd() -> None:
    assert relative_standard_deviation((1, 1, 3, 3)) < relative_standard_deviation((1, 3))


@pytest.mark.parametrize("means", [(), (3,), (-1, 1), (math.nan, 1), (math.inf, 1)])
def test_what_cannot_be_compared_has_no_rsd(means: tuple[float, ...]) -> None:
    assert math.isnan(relative_standard_deviation(means))


def test_neither_unit_nor_order_changes_rsd() -> None:
    before = relative_standard_deviation((3.0, 7.0, 4.5))
    assert relative_standard_deviation((7e9, 4.5e9, 3e9)) == pytest.approx(before, rel=1e-12)
