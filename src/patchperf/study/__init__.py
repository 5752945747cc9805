"""What the benchmark knows: instances, predictions, test identifiers, commands, probes, solutions."""
