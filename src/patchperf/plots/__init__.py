"""Figures: one function each, a table in and a matplotlib Figure out."""
