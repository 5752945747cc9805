"""Random choices."""

import random


def shuffled(values):
    """The values in random order, as a new list."""
    values = list(values)
    random.shuffle(values)
    return values


def sample(values, size):
    """``size`` values drawn at random, each of all the values, with repetition."""
    bits = len(values).bit_length() - 1
    return [values[random.getrandbits(bits)] for _ in range(size)]
