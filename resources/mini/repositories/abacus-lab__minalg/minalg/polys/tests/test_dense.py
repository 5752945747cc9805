from minalg.polys.dense import divide, evaluate, multiply, trim
from minalg.testing import XFAIL


def test_trim():
    assert trim([0, 7, 3, 9], 7) == [3, 2]
    assert trim([0, 7], 7) == []


def test_multiply():
    assert multiply([1, 1], [1, 6], 7) == [1, 0, 6]
    assert multiply([], [1, 2], 7) == []


def test_divide_by_linear():
    assert divide([1, 0, 6], [1, 1], 7) == ([1, 6], [])


def test_divide_with_remainder():
    assert divide([3, 1, 1], [1, 1], 5) == ([3, 3], [3])


def test_divide_by_larger():
    assert divide([2, 1], [1, 0, 0], 5) == ([], [2, 1])


def test_divide_by_zero():
    try:
        divide([1], [5], 5)
    except ZeroDivisionError:
        return
    assert False, "divided by zero"


def test_evaluate():
    assert evaluate([1, 2, 3], 2, 7) == 4


@XFAIL
def test_multiply_over_the_integers():
    assert multiply([1, 1], [1, 6], None) == [1, 7, 6]
