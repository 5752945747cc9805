"""Divisors and prime factors."""

from math import isqrt


def divisors(n):
    """All positive divisors of a positive number, in increasing order."""
    small, large = [], []
    for d in range(1, isqrt(n) + 1):
        if n % d == 0:
            small.append(d)
            large.append(n // d)
    return small + large[::-1]


def factors(n):
    """The prime factors of a positive number with their exponents."""
    found = {}
    d = 2
    while d * d <= n:
        while n % d == 0:
            found[d] = found.get(d, 0) + 1
            n //= d
        d += 1
    if n > 1:
        found[n] = found.get(n, 0) + 1
    return found


def is_prime(n):
    """Whether a number is prime."""
    return n > 1 and factors(n) == {n: 1}
