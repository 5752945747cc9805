"""What becomes of Python's garbage collector around a measured loop."""

from __future__ import annotations

from typing import Literal

Collector = Literal["untouched", "collected", "off"]
"""Left as the warm-up leaves it (as in the first study); collected right before the loop; collected, and off in it."""
