"""A web toolkit for small harbours."""

VERSION = (1, 2)
