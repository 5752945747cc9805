"""Exact algebra in a few pages of Python."""

__version__ = "0.3"
