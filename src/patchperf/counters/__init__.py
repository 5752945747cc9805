"""Instruction counters: one protocol, its backends, and the preflight that picks one that really counts."""
