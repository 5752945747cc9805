import numpy as np
import pytest
from scipy import stats

from patchperf.stats.studentized import critical, survival

Q = np.array([0.3, 2.0, 4.0, 12.0])


@pytest.mark.parametrize(("groups", "freedom"), [(2, 1.0), (3, 1.7), (6, 4.3), (8, 8.0), (4, 60.0)])
def test_it_is_scipys(groups: int, freedom: float) -> None:
    expected = stats.studentized_range(groups, freedom)
    assert survival(Q, groups, np.full(4, freedom)) == pytest.approx(expected.sf(Q), abs=1e-9)
    assert critical(0.05, groups, np.array([freedom]))[0] == pytest.approx(expected.ppf(0.95), rel=1e-7)


@pytest.mark.parametrize("freedom", [1.0, 4.0, 8.0])
def test_two_groups_give_students_t_far_into_its_tail(freedom: float) -> None:
    t = np.array([0.0, 0.01, 1.0, 30.0, 1e4])
    expected = 2 * stats.t.sf(t, freedom)
    assert survival(np.sqrt(2) * t, 2, np.full(5, freedom)) == pytest.approx(expected, rel=1e-7)


def test_many_degrees_of_freedom_give_the_range_of_normal_values() -> None:
    assert critical(0.05, 5, np.array([1e9]))[0] == pytest.approx(3.858, abs=5e-4)


def test_what_is_no_number_stays_so() -> None:
    found = survival(np.array([np.nan, 1.0, np.inf, 0.0]), 3, np.array([4.0, np.nan, 4.0, 4.0]))
    assert np.isnan(found[:2]).all()
    assert found[2:].tolist() == [0, 1]
