"""Small tools for data that has a shape."""

__version__ = "0.6"
