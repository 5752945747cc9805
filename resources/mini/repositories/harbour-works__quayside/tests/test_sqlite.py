"""Settings of the test run."""

DATABASE = ":memory:"
DEBUG = False
