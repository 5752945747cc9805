"""Durations written by people, such as ``2h 30m``, in seconds."""

import re

UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}


def parse(text):
    """The seconds of a duration; raises ValueError if the text is none."""
    match = re.fullmatch(r"(\d+)([dhms])", text.strip())
    if not match:
        raise ValueError(f"not a duration: {text!r}")
    return int(match[1]) * UNITS[match[2]]


def show(seconds):
    """Seconds as a duration, largest units first."""
    parts = []
    for unit, size in UNITS.items():
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count}{unit}")
    return " ".join(parts) or "0s"
