"""A scheme and a solver of a package that milopt does not know."""
