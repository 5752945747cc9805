"""How good a patch is beside its speed: outcomes."""
