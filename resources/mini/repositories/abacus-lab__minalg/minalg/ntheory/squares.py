"""Numbers that are squares."""

from math import isqrt


def is_square(n):
    """Whether a number is the square of a whole number."""
    return n >= 0 and isqrt(n) ** 2 == n


def squares(limit):
    """The positive squares up to a limit."""
    return [k * k for k in range(1, isqrt(limit) + 1)]
