"""Names for unknowns that nobody else uses."""

MAX_PRIMES = 5

_primes = {}


def fresh(letter):
    """A name made of the letter and as many primes as make it new: x', x'', …

    Raises OverflowError after MAX_PRIMES names of one letter, which nobody could tell apart.
    """
    count = _primes.get(letter, 0) + 1
    if count > MAX_PRIMES:
        raise OverflowError(f"too many names like {letter}")
    _primes[letter] = count
    return letter + "'" * count


def base(name):
    """The letter of a name, without its primes."""
    return name[0]


def latex(name):
    """A name as LaTeX."""
    letter = base(name)
    return letter if name == letter else f"{letter}^{{{len(name) - 1}}}"
