"""How good a patch is beside its speed: outcomes, the Quality Index, and how they compare between sources."""
