"""Runs of neighbouring values."""


def pairs(values):
    """Every value with the one after it."""
    return list(zip(values, values[1:]))


def chunks(values, size):
    """The values cut into runs of ``size``; the last one may be shorter."""
    return [values[i : i + size] for i in range(0, len(values), size)]


def rolling_max(values, width):
    """The greatest value of each run of ``width`` neighbours, from the first run to the last."""
    return [max(values[i : i + width]) for i in range(len(values) - width)]
