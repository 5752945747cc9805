"""Which format a text is in, told by its first character."""

_names = {}


def register(name, opener):
    """Texts that begin with this character are of this format; raises ValueError if it is taken."""
    if opener in _names:
        raise ValueError(f"{opener!r} already opens {_names[opener]}")
    _names[opener] = name


def registered():
    """The names of all formats, sorted."""
    return sorted(_names.values())


def guess(text):
    """The name of the format that a text is in, or None."""
    return _names.get(text[:1])
