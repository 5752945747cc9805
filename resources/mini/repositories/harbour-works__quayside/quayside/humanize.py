"""Numbers as people write them."""


def intcomma(value):
    """A whole number with a comma after every three digits."""
    digits = str(value)
    groups = []
    while digits:
        groups.insert(0, digits[-3:])
        digits = digits[:-3]
    return ",".join(groups)


def ordinal(value):
    """A number as a rank: 1st, 2nd, 3rd, 4th."""
    if value % 100 in (11, 12, 13):
        return f"{value}th"
    return str(value) + {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")
