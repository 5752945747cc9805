"""Polynomials over the integers modulo a prime, as lists of coefficients, the highest first.

The zero polynomial is the empty list.
"""


def trim(f, p):
    """The polynomial with reduced coefficients and without leading zeros."""
    f = [c % p for c in f]
    start = 0
    while start < len(f) and f[start] == 0:
        start += 1
    return f[start:]


def multiply(f, g, p):
    """The product of two polynomials."""
    if not f or not g:
        return []
    product = [0] * (len(f) + len(g) - 1)
    for i, a in enumerate(f):
        for j, b in enumerate(g):
            product[i + j] += a * b
    return trim(product, p)


def divide(f, g, p):
    """Quotient and remainder of f by g; raises ZeroDivisionError if g is zero."""
    g = trim(g, p)
    if not g:
        raise ZeroDivisionError("division by the zero polynomial")
    inverse = pow(g[0], p - 2, p)
    quotient, rest = [], trim(f, p)
    while len(rest) >= len(g):
        factor = rest[0] * inverse % p
        quotient.append(factor)
        padded = g + [0] * (len(rest) - len(g))
        rest = trim([a - factor * b for a, b in zip(rest, padded)], p)
    return quotient, rest


def evaluate(f, x, p):
    """The value of a polynomial at a point."""
    value = 0
    for c in f:
        value = (value * x + c) % p
    return value
