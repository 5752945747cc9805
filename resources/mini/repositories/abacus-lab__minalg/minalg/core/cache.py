"""Remembering what was computed before."""

import os
from functools import lru_cache

USE_CACHE = os.environ.get("MINALG_USE_CACHE", "yes") != "no"


def cached(function):
    """Remember the results of a function, unless caching is off."""
    return lru_cache(maxsize=1000)(function) if USE_CACHE else function
