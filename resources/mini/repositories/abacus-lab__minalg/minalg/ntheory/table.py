"""Small primes, from a table in a file beside this module."""

import os

TABLE = os.path.join(os.path.dirname(__file__), "data", "primes.txt")


def primes():
    """The primes of the table, in increasing order."""
    with open(TABLE) as stream:
        return [int(word) for word in stream.read().split()]


def nth_prime(n):
    """The n-th prime, counted from 1; raises IndexError outside the table."""
    return primes()[n]


def count_primes(limit):
    """How many primes of the table are at most the limit."""
    return sum(p <= limit for p in primes())
