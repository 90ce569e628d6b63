"""A scheme and a solver of another package, which is found by its entry points."""
