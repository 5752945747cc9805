"""On which processors a measurement runs, and what else can run there."""
