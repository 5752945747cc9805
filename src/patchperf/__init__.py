"""Measure and judge the patches that models write for repository-level issues."""

__version__ = "0.1.0"
