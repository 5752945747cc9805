"""Errors that a person can act on: one line that says what is wrong, where, and what to do."""


class PatchperfError(Exception):
    """Base of every error this package raises on purpose; its text is one line for the user."""


class InputError(PatchperfError):
    """A file, row or setting that the user gave cannot be used."""


class MachineError(PatchperfError):
    """The machine lacks something: an interpreter, a tool, a permission, disk space."""
